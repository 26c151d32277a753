// Transformable values: JSON → valid values of a declared class, or the reason why they are
// invalid.
//
//     {"$class":"HeroSkill","name":"英雄怒视","justicePower":109,"color":"#FFC0CB"}
//
// Only declared classes are allowed; a value of any other class is refused. Each field is checked,
// including those of nested values.

import Bytes

/// The declared classes of a model, by name.
public struct ClassHierarchy: Sendable, Hashable {
  private let classes: [String: ModelFile.Class]
  /// The maximum nesting depth of values.
  static let depth = 32

  /// Makes a class hierarchy.
  public init(_ classes: [ModelFile.Class]) {
    self.classes = Dictionary(
      classes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The class with this name; nil without one.
  public subscript(name: String) -> ModelFile.Class? { classes[name] }

  /// Returns the class and its ancestors, nearest first.
  func lineage(of name: String) -> [ModelFile.Class] {
    var lineage: [ModelFile.Class] = []
    var next: String? = name
    while let name = next, let found = classes[name], !lineage.contains(found) {
      lineage.append(found)
      next = found.parent
    }
    return lineage
  }

  /// Returns the fields of a class, inherited ones first.
  public func fields(of name: String) -> [ModelFile.Class.Field] {
    lineage(of: name).reversed().flatMap(\.fields)
  }

  /// Returns the names of a class and of all its subclasses.
  public func kinds(of name: String) -> [String] {
    classes.keys.filter { lineage(of: $0).contains { $0.name == name } }.sorted()
  }

  /// Returns the names of the classes that values of the given classes and their fields may have, and of
  /// their parents.
  public func reached(from bases: some Sequence<String>) -> Set<String> {
    var reached: Set<String> = []
    var next = Array(bases)
    while let base = next.popLast() {
      for found in kinds(of: base).flatMap(lineage) where reached.insert(found.name).inserted {
        for case .object(let name) in found.fields.map(\.type) { next.append(name) }
      }
    }
    return reached
  }

  // MARK: Values

  /// Returns the reason why `json` is not a value of class `base` or a subclass; nil for a valid
  /// value.
  public func problem(in json: JSON, base: String) -> String? {
    problem(in: json, base: base, depth: 0)
  }

  private func problem(in json: JSON, base: String, depth: Int) -> String? {
    guard depth < Self.depth else { return "nests too deep" }
    guard case .object(let members) = json else {
      return "takes an object with `$class`, not \(json.kind)"
    }
    guard let name = json["$class"]?.string else { return "needs a `$class` that is a string" }
    guard let found = classes[name] else { return "`\(name)` is not a declared class" }
    guard lineage(of: name).contains(where: { $0.name == base }) else {
      return "`\(name)` is not a class of \(base)"
    }
    guard !found.isAbstract else { return "`\(name)` is abstract" }
    let fields = fields(of: name)
    for member in members where member.name != "$class" {
      guard let field = fields.first(where: { $0.name == member.name }) else {
        return "`\(name)` has no field `\(member.name)`"
      }
      if let problem = problem(in: member.value, field: field, depth: depth) { return problem }
    }
    let missing = fields.first { field in
      !field.isOptional && !members.contains { $0.name == field.name }
    }
    return missing.map { "`\(name)` needs the field `\($0.name)`" }
  }

  private func problem(
    in json: JSON, field: ModelFile.Class.Field, depth: Int
  ) -> String? {
    if json == .null {
      return field.isOptional ? nil : "the field `\(field.name)` may not be nil"
    }
    guard field.isList else {
      return problem(in: json, type: field.type, name: field.name, depth: depth)
    }
    guard case .array(let elements) = json else {
      return "the field `\(field.name)` takes an array, not \(json.kind)"
    }
    for (index, element) in elements.enumerated() {
      let name = "\(field.name)[\(index)]"
      if let problem = problem(in: element, type: field.type, name: name, depth: depth) {
        return problem
      }
    }
    return nil
  }

  private func problem(
    in json: JSON, type: ModelFile.FieldType, name: String, depth: Int
  ) -> String? {
    switch type {
    case .object(let base):
      return problem(in: json, base: base, depth: depth + 1).map { "the field `\(name)`: \($0)" }
    case .color:
      return Self.isColor(json)
        ? nil : "the field `\(name)` takes a colour as `#RRGGBB` or `#RRGGBBAA`"
    case .dictionary:
      guard case .object = json else { return "the field `\(name)` takes an object" }
      return problem(inPlain: json, depth: depth + 1).map { "the field `\(name)`: \($0)" }
    case .value(let type):
      let attribute = ModelFile.Attribute(name: name, type: type)
      guard let value = Value(json, as: attribute.storedType) else {
        return "the field `\(name)` takes \(attribute.storedType.expectation), not \(json.kind)"
      }
      return attribute.violations(of: value).first.map { "the field `\(name)` \($0.predicate)" }
    }
  }

  static func isColor(_ json: JSON) -> Bool {
    guard let text = json.string, text.utf8.first == 0x23 else { return false }
    let digits = text.utf8.dropFirst()
    return (digits.count == 6 || digits.count == 8) && Hexadecimal.bytes(of: digits) != nil
  }

  /// Returns the reason why JSON without a class is refused: an object in it names an undeclared
  /// class, or is not a valid value of its class. nil for a valid value.
  func problem(inPlain json: JSON, depth: Int = 0) -> String? {
    guard depth < Self.depth else { return "nests too deep" }
    switch json {
    case .array(let elements):
      return Self.firstProblem(in: elements) { problem(inPlain: $0, depth: depth + 1) }
    case .object(let members):
      if let name = json["$class"] {
        guard let name = name.string else { return "needs a `$class` that is a string" }
        guard classes[name] != nil else { return "`\(name)` is not a declared class" }
        return problem(in: json, base: name, depth: depth)
      }
      return Self.firstProblem(in: members) { problem(inPlain: $0, depth: depth + 1) }
    case .null, .boolean, .number, .string: return nil
    }
  }
}

// Loops: `lazy.compactMap` evaluates its closure twice for the first result, at each level of nesting.
extension ClassHierarchy {
  private static func firstProblem(
    in elements: [JSON], _ problem: (JSON) -> String?
  ) -> String? {
    for (index, element) in elements.enumerated() {
      if let problem = problem(element) { return "[\(index)]: \(problem)" }
    }
    return nil
  }

  private static func firstProblem(
    in members: [JSON.Member], _ problem: (JSON) -> String?
  ) -> String? {
    for member in members {
      if let problem = problem(member.value) { return "`\(member.name)`: \(problem)" }
    }
    return nil
  }
}

// MARK: - Attributes

extension ModelFile {
  /// The transformers of every store.
  public static let builtInTransformers = ["JSON", "Array", "Dictionary", "Color", "UUID"]
}

extension ClassHierarchy {
  /// Returns the reason why `json` is not a value of a transformable attribute; nil for a valid
  /// value.
  public func problem(in json: JSON, of attribute: ModelFile.Attribute) -> String? {
    switch attribute.transformer ?? "JSON" {
    case "Color": return Self.isColor(json) ? nil : "takes a colour as `#RRGGBB` or `#RRGGBBAA`"
    case "UUID": return Value(json, as: .uuid) == nil ? "takes a UUID as a string" : nil
    case "Array":
      guard case .array(let elements) = json else { return "takes an array, not \(json.kind)" }
      guard let base = attribute.className else { return problem(inPlain: json) }
      return Self.firstProblem(in: elements) { problem(in: $0, base: base) }
    case "Dictionary":
      guard case .object(let members) = json else { return "takes an object, not \(json.kind)" }
      guard let base = attribute.className else {
        return problem(inPlain: json)
      }
      return Self.firstProblem(in: members) { problem(in: $0, base: base) }
    default:
      guard let base = attribute.className else { return problem(inPlain: json) }
      return problem(in: json, base: base)
    }
  }
}

// MARK: - Key paths

extension ClassHierarchy {
  /// A field that key paths can read in every value that has it.
  public struct Reachable: Sendable, Hashable {
    /// The names below the attribute: `["justicePower"]`.
    public let names: [String]
    /// The type of the field's values.
    public let type: AttributeType
  }

  /// Returns the fields of an attribute of class `base`, including those of subclasses, and nested
  /// ones to a depth of four. Omits a name with different types in different classes.
  public func reachableFields(of base: String) -> [Reachable] {
    var found: [[String]: AttributeType?] = [:]
    var order: [[String]] = []
    var visited: Set<[String]> = []
    collect(base, [], &found, &order, &visited)
    return order.compactMap { names in
      (found[names] ?? nil).map { Reachable(names: names, type: $0) }
    }
  }

  private func collect(
    _ base: String, _ prefix: [String], _ found: inout [[String]: AttributeType?],
    _ order: inout [[String]], _ visited: inout Set<[String]>
  ) {
    guard prefix.count < 4 else { return }
    for kind in kinds(of: base) {
      for field in fields(of: kind) where !field.isList {
        let names = prefix + [field.name]
        let type: AttributeType
        switch field.type {
        case .object: type = .json
        case .dictionary: continue
        case .color: type = .string
        case .value(let declared):
          type = ModelFile.Attribute(name: "", type: declared).storedType
        }
        if let known = found[names] {
          if known != type { found[names] = .some(nil) }
        } else {
          found[names] = .some(type)
          order.append(names)
        }
        // Many classes may inherit the same field.
        if case .object(let nested) = field.type, visited.insert(names + [nested]).inserted {
          collect(nested, names, &found, &order, &visited)
        }
      }
    }
  }
}
