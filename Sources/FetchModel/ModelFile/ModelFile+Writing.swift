// `ModelFile` → canonical JSON: members in a fixed order, without default values, so that equal
// models have equal bytes. Objects and lists without nested parts are on one line.

extension ModelFile {
  /// The model as JSON.
  public var json: JSON {
    .object(
      .init([
        "version": .text(version),
        "access": allowsByDefault.map { .object(.init(["default": .boolean($0)])) },
        "entities": .list(entities.map(\.json)), "classes": .list(classes.map(\.json)),
        "fetchTemplates": .list(fetchTemplates.map(\.json)),
      ]))
  }

  /// The model file's text, indented, with a final newline.
  public var text: [UInt8] {
    var text: [UInt8] = []
    text.append(indented: json, depth: 0)
    text.append(0x0A)
    return text
  }
}

extension JSON {
  fileprivate static func text(_ text: String?) -> JSON? { text.map { .string($0) } }

  fileprivate static func count(_ count: Int?) -> JSON? { count.map { .number($0.description) } }

  /// nil for the default.
  fileprivate static func flag(_ flag: Bool, default defaultFlag: Bool = false) -> JSON? {
    flag == defaultFlag ? nil : .boolean(flag)
  }

  /// nil for an empty list.
  fileprivate static func list(_ elements: [JSON]) -> JSON? {
    elements.isEmpty ? nil : .array(elements)
  }

  fileprivate static func texts(_ texts: [String]) -> JSON? { list(texts.map { .string($0) }) }
}

extension ModelFile.Entity {
  /// The entity's own part of a model file.
  public var json: JSON {
    let rules = AccessAction.allCases.compactMap { action in
      access[action].map { JSON.Member(name: action.rawValue, value: $0.json) }
    }
    return .object(
      .init([
        "name": .string(name), "parent": .text(parent), "abstract": .flag(isAbstract),
        "renamingIdentifier": .text(renamingIdentifier),
        "attributes": .list(attributes.map(\.json)),
        "relationships": .list(relationships.map(\.json)),
        "fetchIndexes": .list(fetchIndexes.map(\.json)),
        "uniquenessConstraints": .list(
          uniquenessConstraints.map { .array($0.map { JSON.string($0) }) }),
        "sort": .texts(sort), "access": rules.isEmpty ? nil : .object(rules),
      ]))
  }
}

extension ModelFile.Attribute {
  /// The attribute as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object(
      .init([
        "name": .string(name), "type": .string(type.rawValue),
        "optional": .flag(isOptional, default: true), "default": defaultValue,
        "minimum": minimum, "maximum": maximum, "minimumLength": .count(minimumLength),
        "maximumLength": .count(maximumLength), "regex": .text(pattern),
        "transient": .flag(isTransient), "derivation": .text(derivation?.text),
        "transformer": .text(transformer), "class": .text(className),
        "renamingIdentifier": .text(renamingIdentifier), "hidden": hidden?.json,
        "readOnly": readOnly?.json,
      ]))
  }
}

extension ModelFile.Relationship {
  /// The relationship as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object(
      .init([
        "name": .string(name), "destination": .string(destination), "toMany": .flag(isToMany),
        "ordered": .flag(isOrdered), "optional": .flag(isOptional, default: true),
        "inverse": .text(inverse),
        "deleteRule": deleteRule == .nullify ? nil : .string(deleteRule.rawValue),
        "minimumCount": .count(minimumCount), "maximumCount": .count(maximumCount),
        "renamingIdentifier": .text(renamingIdentifier),
      ]))
  }
}

extension ModelFile.FetchIndex {
  /// The index as a model file contains it; defaults are omitted.
  public var json: JSON {
    let elements = elements.map { element in
      JSON.object(
        .init(["property": .string(element.property), "descending": .flag(element.isDescending)]))
    }
    return .object(.init(["name": .string(name), "elements": .list(elements)]))
  }
}

extension ModelFile.Class {
  /// The class as a model file contains it; defaults are omitted.
  public var json: JSON {
    let fields = fields.map { field in
      JSON.object(
        .init([
          "name": .string(field.name), "type": .string(field.type.text),
          "optional": .flag(field.isOptional, default: true), "list": .flag(field.isList),
        ]))
    }
    return .object(
      .init([
        "name": .string(name), "parent": .text(parent), "abstract": .flag(isAbstract),
        "fields": .list(fields),
      ]))
  }
}

extension ModelFile.FetchTemplate {
  /// The template as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object(
      .init([
        "name": .string(name), "entity": .string(entity), "predicate": .text(predicate),
        "sort": .texts(sort), "limit": .count(limit),
        "subentities": .flag(includesSubentities, default: true),
      ]))
  }
}

// MARK: - Layout

extension JSON {
  /// True for an array with an object in it, and for an object with such an array.
  fileprivate var isMultiline: Bool {
    switch self {
    case .array(let elements):
      elements.contains { if case .object = $0 { true } else { $0.isMultiline } }
    case .object(let members): members.contains { $0.value.isMultiline }
    default: false
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(indented value: JSON, depth: Int) {
    guard value.isMultiline else { return append(json: value) }
    switch value {
    case .array(let elements):
      appendLines(elements, "[", "]", depth: depth) { $0.append(indented: $1, depth: depth + 1) }
    case .object(let members):
      appendLines(members, "{", "}", depth: depth) { bytes, member in
        bytes.append(jsonString: member.name)
        bytes.append(json: ": ")
        bytes.append(indented: member.value, depth: depth + 1)
      }
    default: append(json: value)
    }
  }

  private mutating func appendLines<Part>(
    _ elements: [Part], _ opening: String, _ closing: String, depth: Int,
    _ appendPart: (inout [UInt8], Part) -> Void
  ) {
    append(contentsOf: opening.utf8)
    for (index, element) in elements.enumerated() {
      append(contentsOf: (index == 0 ? "\n" : ",\n").utf8)
      append(contentsOf: String(repeating: "  ", count: depth + 1).utf8)
      appendPart(&self, element)
    }
    append(contentsOf: ("\n" + String(repeating: "  ", count: depth) + closing).utf8)
  }
}
