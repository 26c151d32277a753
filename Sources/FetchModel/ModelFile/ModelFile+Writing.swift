// `ModelFile` → canonical JSON: members in a fixed order, without default values, so that equal
// models have equal bytes. Objects and lists without nested parts are on one line.

extension ModelFile {
  /// The model as JSON.
  public var json: JSON {
    .object { members in
      members.add("version", version)
      members.add(
        "access", allowsByDefault.map { .object([.init(name: "default", value: .boolean($0))]) })
      members.add("entities", entities.map(\.json))
      members.add("classes", classes.map(\.json))
      members.add("fetchTemplates", fetchTemplates.map(\.json))
    }
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
  fileprivate static func object(building addMembers: (inout [JSON.Member]) -> Void) -> JSON {
    var members: [JSON.Member] = []
    addMembers(&members)
    return .object(members)
  }
}

extension [JSON.Member] {
  fileprivate mutating func add(_ name: String, _ value: JSON?) {
    if let value { append(JSON.Member(name: name, value: value)) }
  }

  fileprivate mutating func add(_ name: String, _ text: String?) {
    add(name, text.map { JSON.string($0) })
  }

  fileprivate mutating func add(_ name: String, _ count: Int?) {
    add(name, count.map { JSON.number($0.description) })
  }

  fileprivate mutating func add(_ name: String, _ elements: [JSON]) {
    if !elements.isEmpty { add(name, JSON.array(elements)) }
  }

  fileprivate mutating func add(_ name: String, _ texts: [String]) {
    add(name, texts.map { JSON.string($0) })
  }

  /// Adds a flag that differs from its default.
  fileprivate mutating func add(_ name: String, _ flag: Bool, unlessDefault defaultFlag: Bool) {
    if flag != defaultFlag { add(name, JSON.boolean(flag)) }
  }
}

extension ModelFile.Entity {
  /// The entity's own part of a model file.
  public var json: JSON {
    .object { members in
      members.add("name", name)
      members.add("parent", parent)
      members.add("abstract", isAbstract, unlessDefault: false)
      members.add("renamingIdentifier", renamingIdentifier)
      members.add("attributes", attributes.map(\.json))
      members.add("relationships", relationships.map(\.json))
      members.add("fetchIndexes", fetchIndexes.map(\.json))
      members.add(
        "uniquenessConstraints",
        uniquenessConstraints.map { .array($0.map { JSON.string($0) }) })
      members.add("sort", sort)
      members.add("access", access.isEmpty ? nil : accessJSON)
    }
  }

  private var accessJSON: JSON {
    .object { members in
      for action in AccessAction.allCases { members.add(action.rawValue, access[action]?.json) }
    }
  }
}

extension ModelFile.Attribute {
  /// The attribute as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object { members in
      members.add("name", name)
      members.add("type", type.rawValue)
      members.add("optional", isOptional, unlessDefault: true)
      members.add("default", defaultValue)
      members.add("minimum", minimum)
      members.add("maximum", maximum)
      members.add("minimumLength", minimumLength)
      members.add("maximumLength", maximumLength)
      members.add("regex", pattern)
      members.add("transient", isTransient, unlessDefault: false)
      members.add("derivation", derivation?.text)
      members.add("transformer", transformer)
      members.add("class", className)
      members.add("renamingIdentifier", renamingIdentifier)
      members.add("hidden", hidden?.json)
      members.add("readOnly", readOnly?.json)
    }
  }
}

extension ModelFile.Relationship {
  /// The relationship as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object { members in
      members.add("name", name)
      members.add("destination", destination)
      members.add("toMany", isToMany, unlessDefault: false)
      members.add("ordered", isOrdered, unlessDefault: false)
      members.add("optional", isOptional, unlessDefault: true)
      members.add("inverse", inverse)
      members.add("deleteRule", deleteRule == .nullify ? nil : deleteRule.rawValue)
      members.add("minimumCount", minimumCount)
      members.add("maximumCount", maximumCount)
      members.add("renamingIdentifier", renamingIdentifier)
    }
  }
}

extension ModelFile.FetchIndex {
  /// The index as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object { members in
      members.add("name", name)
      members.add(
        "elements",
        elements.map { element in
          .object { members in
            members.add("property", element.property)
            members.add("descending", element.isDescending, unlessDefault: false)
          }
        })
    }
  }
}

extension ModelFile.Class {
  /// The class as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object { members in
      members.add("name", name)
      members.add("parent", parent)
      members.add("abstract", isAbstract, unlessDefault: false)
      members.add(
        "fields",
        fields.map { field in
          .object { members in
            members.add("name", field.name)
            members.add("type", field.type.text)
            members.add("optional", field.isOptional, unlessDefault: true)
            members.add("list", field.isList, unlessDefault: false)
          }
        })
    }
  }
}

extension ModelFile.FetchTemplate {
  /// The template as a model file contains it; defaults are omitted.
  public var json: JSON {
    .object { members in
      members.add("name", name)
      members.add("entity", entity)
      members.add("predicate", predicate)
      members.add("sort", sort)
      members.add("limit", limit)
      members.add("subentities", includesSubentities, unlessDefault: true)
    }
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
