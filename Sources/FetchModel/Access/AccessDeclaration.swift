// Access rules as their author wrote them, in a model file or in a file of their own.

import Bytes

/// A change or a fetch that a rule allows.
public enum AccessAction: String, Sendable, Hashable, CaseIterable {
  case read, insert, update, delete
}

/// `true`, `false` or a predicate about an object and `$user`.
public enum AccessRule: Sendable, Hashable {
  case constant(Bool)
  /// The predicate's text.
  case predicate(String)

  /// Returns nil for JSON that is neither a boolean nor a string.
  init?(_ json: JSON) {
    switch json {
    case .boolean(let allows): self = .constant(allows)
    case .string(let text): self = .predicate(text)
    default: return nil
    }
  }

  var json: JSON {
    switch self {
    case .constant(let allows): .boolean(allows)
    case .predicate(let text): .string(text)
    }
  }
}

/// The rules of a model, by the names of entities and attributes.
public struct AccessDeclaration: Sendable, Hashable {
  /// The rules of one entity.
  public struct Entity: Sendable, Hashable {
    /// The rules of actions; an action without one follows the default.
    public var rules: [AccessAction: AccessRule] = [:]
    /// The attributes that a caller does not see, if the rule holds.
    public var hidden: [String: AccessRule] = [:]
    /// The attributes that a caller may not write, if the rule holds.
    public var readOnly: [String: AccessRule] = [:]

    /// Makes an entity.
    public init() {}
  }

  /// The rule of entities without one; nil without `"access":{"default":…}`.
  public var allowsByDefault: Bool?
  /// The entities for which the author wrote something.
  public var entities: [String: Entity] = [:]

  /// Makes an access declaration.
  public init() {}

  /// The rules in a model file; nil if it has none.
  public init?(_ file: ModelFile) {
    allowsByDefault = file.allowsByDefault
    for declared in file.entities {
      var entity = Entity()
      entity.rules = declared.access
      for attribute in declared.attributes {
        entity.hidden[attribute.name] = attribute.hidden
        entity.readOnly[attribute.name] = attribute.readOnly
      }
      if entity != Entity() { entities[declared.name] = entity }
    }
    if allowsByDefault == nil, entities.isEmpty { return nil }
  }
}

// MARK: - Comparing declarations

extension AccessDeclaration {
  /// The hash of every rule, the same in each process.
  var hash: FNV1a64 {
    var lines: [[UInt8]] = []
    for (name, entity) in entities {
      for (action, rule) in entity.rules {
        lines.append(Self.line([name, action.rawValue], rule))
      }
      for (attribute, rule) in entity.hidden {
        lines.append(Self.line([name, attribute, "hidden"], rule))
      }
      for (attribute, rule) in entity.readOnly {
        lines.append(Self.line([name, attribute, "readOnly"], rule))
      }
    }
    var hash = FNV1a64()
    hash.combine("\(String(describing: allowsByDefault))".utf8)
    for line in lines.sorted(by: { $0.lexicographicallyPrecedes($1) }) { hash.combine(line) }
    return hash
  }

  private static func line(_ names: [String], _ rule: AccessRule) -> [UInt8] {
    var text: [UInt8] = []
    text.append(json: .array(names.map { .string($0) } + [rule.json]))
    return text
  }
}

// MARK: - A file of its own

extension AccessDeclaration {
  /// Reads a rule file: `{"access":{"default":…},"entities":{"Note":{"access":{…},"attributes":{…}}}}`.
  ///
  /// - Throws: Every problem of form, with its location.
  public init(parsing text: [UInt8]) throws(ModelFileError) {
    let problems = ProblemList()
    let reader = MemberReader(try JSON(modelText: text), at: "", problems)
    allowsByDefault = reader.accessDefault()
    for (name, reader) in reader.members(of: "entities") {
      entities[name] = Entity(reader)
    }
    reader.finish()
    if allowsByDefault == nil, entities.isEmpty, problems.all.isEmpty {
      reader.report(
        "entities", "contains no rule; `{\"access\": {\"default\": true}}` allows everything")
    }
    guard problems.all.isEmpty else { throw ModelFileError(problems.all) }
  }
}

extension AccessDeclaration.Entity {
  fileprivate init(_ reader: MemberReader) {
    rules = reader.accessRules()
    for (name, reader) in reader.members(of: "attributes") {
      hidden[name] = reader.accessRule("hidden")
      readOnly[name] = reader.accessRule("readOnly")
      reader.finish()
    }
    reader.finish()
  }
}

extension MemberReader {
  /// The rules under `access` of an entity.
  func accessRules() -> [AccessAction: AccessRule] {
    guard let reader = object("access") else { return [:] }
    if case .object(let members)? = value("access"), members.isEmpty {
      report("access", "contains no rule; `\"read\": false` denies")
    }
    var rules: [AccessAction: AccessRule] = [:]
    for action in AccessAction.allCases { rules[action] = reader.accessRule(action.rawValue) }
    reader.finish()
    return rules
  }

  func accessRule(_ name: String) -> AccessRule? {
    converted(name, "true, false or a predicate") { AccessRule($0) }
  }

  /// The default under `access` of a file.
  func accessDefault() -> Bool? {
    guard let reader = object("access") else { return nil }
    defer { reader.finish() }
    return reader.flag("default")
  }
}
