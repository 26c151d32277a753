// Random access rules of a generated store, and random predicates of requests.

import FetchModel
import TestSupport

/// The entities of a store as `/v1/model` has them.
struct ServedModel {
  struct Attribute {
    let name: String
    let type: GeneratedType
    let isOptional: Bool
    let isKeyPart: Bool
  }

  struct Relationship {
    let name: String
    let destination: Int
    let isToMany: Bool
    let isOneToOne: Bool
    let isOptional: Bool
  }

  struct Entity {
    let name: String
    let hasNumbers: Bool
    let attributes: [Attribute]
    let relationships: [Relationship]
    let subentities: [String]

    var toOne: [Relationship] { relationships.filter { !$0.isToMany } }
    var toMany: [Relationship] { relationships.filter(\.isToMany) }
  }

  let entities: [Entity]

  /// - Parameter names: The entities' names, in the order of the result.
  init(_ json: JSON, names: [String]) {
    let entities = json["entities"]?.elements ?? []
    let list = names.compactMap { name in entities.first { $0["name"]?.string == name } }
    func isTrue(_ json: JSON, _ name: String) -> Bool { json[name] == .boolean(true) }
    let toOne = list.flatMap { $0["relationships"]?.elements ?? [] }
      .filter { !isTrue($0, "toMany") }.map {
        "\($0["name"]?.string ?? "") \($0["inverse"]?.string ?? "")"
      }
    self.entities = list.map { entity in
      let attributes = (entity["attributes"]?.elements ?? []).map { json in
        Attribute(
          name: json["name"]?.string ?? "",
          type: GeneratedType(rawValue: json["type"]?.string ?? "") ?? .string,
          isOptional: isTrue(json, "optional"), isKeyPart: isTrue(json, "keyPart"))
      }
      let relationships = (entity["relationships"]?.elements ?? []).map { json in
        let (name, inverse) = (json["name"]?.string ?? "", json["inverse"]?.string ?? "")
        return Relationship(
          name: name,
          destination: names.firstIndex(of: json["destination"]?.string ?? "") ?? 0,
          isToMany: isTrue(json, "toMany"),
          isOneToOne: !isTrue(json, "toMany") && toOne.contains("\(inverse) \(name)"),
          isOptional: isTrue(json, "optional"))
      }
      return Entity(
        name: entity["name"]?.string ?? "", hasNumbers: entity["idType"]?.string == "integer",
        attributes: attributes, relationships: relationships,
        subentities: (entity["subentities"]?.elements ?? []).compactMap(\.string))
    }
  }
}

/// A rule as a predicate in which marks stand for the caller's values.
struct GeneratedRule {
  /// The marks and what a rule has in their place.
  private static let names = [
    (mark: "USER_NUMBER", name: "$user.id"), ("USER_TEXT", "$user.id"),
    ("HAS_ROLE", "'hr' IN $user.roles"), ("IS_NAMED", "$user.name == 'key1'"),
    ("HAS_ID", "$user.id != nil"), ("HAS_CLAIM", "$user.claims.team == 'x'"),
  ]

  /// The predicate with marks.
  let template: String

  /// The rule's text.
  var text: String {
    var text = template
    for (mark, name) in Self.names { text = text.replacing(mark, with: name) }
    return text
  }

  /// The same for one caller, without variables.
  func predicate(for caller: AccessFixture.User) -> String {
    if template.contains("USER_NUMBER"), let id = caller.id, Int(id) == nil {
      // The user's id cannot be converted to the key's type.
      return "FALSEPREDICATE"
    }
    func constant(_ isTrue: Bool) -> String { isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE" }
    return
      template
      .replacing("USER_NUMBER", with: caller.id ?? "nil")
      .replacing("USER_TEXT", with: caller.id.map { "'\($0)'" } ?? "nil")
      .replacing("HAS_ROLE", with: constant(caller.roles.contains("hr")))
      .replacing("IS_NAMED", with: constant(caller.name == "1"))
      .replacing("HAS_ID", with: constant(caller.id != nil))
      .replacing("HAS_CLAIM", with: constant(false))
  }
}

/// The access rules of a generated store.
struct GeneratedAccess: SeededCaseGenerator {
  /// A rule for `hidden`, and the callers for whom it is true.
  private static let hidings: [(rule: String, hides: @Sendable (AccessFixture.User) -> Bool)] = [
    ("true", { _ in true }), ("false", { _ in false }),
    (#""$user.id == '1'""#, { $0.id == "1" }), (#""$user.id == nil""#, { $0.id == nil }),
    (#""NOT 'hr' IN $user.roles""#, { !$0.roles.contains("hr") }),
    (#""$user.name == 'key1'""#, { $0.name == "1" }),
  ]

  var random: SeededRandom
  private let roots: [Int]
  /// The rules for `read` of root entities; none for those without `access`.
  private var read: [Int: GeneratedRule] = [:]
  /// True if a missing rule allows.
  private var allowsMissing = false
  /// The rule for `hidden` of each attribute that has one.
  private var hidings: [String: Int] = [:]
  private(set) var readOnly: Set<String> = []

  /// - Parameter isPartial: Tells whether a rule is true for some objects of an entity, but not for all.
  init(
    seed: UInt64, store: GeneratedStore, model: ServedModel,
    isPartial: (Int, GeneratedRule) throws -> Bool
  ) rethrows {
    random = SeededRandom(seed: seed)
    roots = store.entities.indices.filter { store.root(of: $0) == $0 }
    var predicates = GeneratedPredicates(seed: ~seed, model: model, namesCaller: true)
    allowsMissing = oneIn(4)
    for index in roots {
      if index > 0, oneIn(8) { continue }
      var rule = GeneratedRule(template: predicates.predicate(of: index))
      for _ in 1...6 where try !isPartial(index, rule) {
        rule = GeneratedRule(template: predicates.predicate(of: index))
      }
      read[index] = rule
    }
    for attribute in store.entities.flatMap(\.attributes) where attribute.mayBeHidden {
      if oneIn(3) {
        hidings[attribute.name] = number(0...Self.hidings.count - 1)
      } else if oneIn(8) {
        readOnly.insert(attribute.name)
      }
    }
  }

  func rule(of root: Int) -> GeneratedRule {
    read[root] ?? GeneratedRule(template: allowsMissing ? "TRUEPREDICATE" : "FALSEPREDICATE")
  }

  /// Every change of a readable object is allowed, or none.
  func allowsChanges(of root: Int) -> Bool { read[root] != nil || allowsMissing }

  func hidden(from user: AccessFixture.User) -> Set<String> {
    Set(hidings.filter { Self.hidings[$0.value].hides(user) }.keys)
  }

  /// The rules of the store.
  var rules: GeneratedStore.Rules {
    var rules = rulesOfCopy
    for index in rules.access.keys {
      let rule = read[index].map {
        #"{"read":"\#($0.text)","insert":true,"update":true,"delete":true}"#
      }
      rules.access[index] = rule
    }
    for (name, hiding) in hidings {
      rules.attributes[name] = #""hidden":\#(Self.hidings[hiding].rule)"#
    }
    rules.whole = allowsMissing ? #"{"default":true}"# : nil
    return rules
  }

  /// The rules of a copy, in which everything is readable. They are not left out, because a server
  /// with rules has other responses: 404 for a change of a missing object, 403 for the history.
  var rulesOfCopy: GeneratedStore.Rules {
    var rules = GeneratedStore.Rules()
    for root in roots {
      rules.access[root] = #"{"read":true,"insert":true,"update":true,"delete":true}"#
    }
    for name in readOnly { rules.attributes[name] = #""readOnly":true"# }
    return rules
  }
}

/// Makes predicates over the entities of a store.
struct GeneratedPredicates: SeededCaseGenerator {
  var random: SeededRandom
  let model: ServedModel
  /// True for rules: they name the caller.
  let namesCaller: Bool
  private var variables = 0

  init(seed: UInt64, model: ServedModel, namesCaller: Bool) {
    random = SeededRandom(seed: seed)
    self.model = model
    self.namesCaller = namesCaller
  }

  /// - Parameter prefix: The path of the object: empty, or `$v1.`.
  mutating func predicate(of entity: Int, prefix: String = "", depth: Int = 2) -> String {
    switch depth == 0 ? 0 : number(0...9) {
    case 1:
      let (first, second) = (
        predicate(of: entity, prefix: prefix, depth: depth - 1),
        predicate(of: entity, prefix: prefix, depth: depth - 1)
      )
      return "(\(first) \(pick(["AND", "OR"])) \(second))"
    case 2: return "NOT (\(predicate(of: entity, prefix: prefix, depth: depth - 1)))"
    case 3, 4:
      guard let link = toMany(of: entity) else { break }
      variables += 1
      let name = "$v\(variables)"
      let inner = predicate(of: link.destination, prefix: "\(name).", depth: depth - 1)
      return "SUBQUERY(\(prefix)\(link.name), \(name), \(inner)).@count "
        + pick(["> 0", "== 0", "> 1", "<= 1"])
    case 5, 6: return members(of: entity, prefix)
    case 7 where namesCaller, 8 where namesCaller, 9 where namesCaller:
      return caller(entity, prefix)
    default: break
    }
    return comparison(of: entity, prefix)
  }

  private mutating func toMany(of entity: Int) -> ServedModel.Relationship? {
    let list = model.entities[entity].toMany
    return list.isEmpty ? nil : pick(list)
  }

  /// A path of up to two to-one relationships, with a dot at its end, and the entity that it leads to.
  mutating func path(from entity: Int, _ prefix: String = "") -> (path: String, entity: Int) {
    var (path, entity) = (prefix, entity)
    for _ in 0..<pick([0, 0, 1, 1, 2]) {
      let list = model.entities[entity].toOne
      guard !list.isEmpty else { break }
      let step = pick(list)
      path += "\(step.name)."
      entity = step.destination
    }
    return (path, entity)
  }

  /// A condition of an attribute or a to-one relationship.
  private mutating func comparison(of entity: Int, _ prefix: String) -> String {
    let (path, end) = path(from: entity, prefix)
    let toOne = model.entities[end].toOne
    if !toOne.isEmpty, oneIn(6) { return "\(path)\(pick(toOne).name) \(pick(["==", "!="])) nil" }
    let subentities = model.entities[end].subentities
    if !subentities.isEmpty, oneIn(4) { return "\(path)entity == '\(pick(subentities))'" }
    let attribute = pick(model.entities[end].attributes)
    let name = path + attribute.name
    let type = attribute.type
    func literal(_ random: inout SeededRandom) -> String {
      type.literal(.random(in: 0...9, using: &random))
    }
    if type == .binary || type == .json || oneIn(8) { return "\(name) \(pick(["==", "!="])) nil" }
    if type == .string, oneIn(2) {
      return pick([
        "\(name) CONTAINS[cd] 'e'", "\(name) BEGINSWITH 'x'", "\(name) LIKE '?'",
        "\(name) MATCHES '[a-c]|.*y'", "length(\(name)) > 1", "uppercase(\(name)) == 'B'",
        "\(name) ==[c] 'b'", "\(name) IN 'abc'",
      ])
    }
    if type == .integer, oneIn(4) {
      return pick([
        "\(name) % 3 == 1", "(\(name) + 1) * 2 > 9", "TERNARY(\(name) > 4, \(name), 7) > 6",
        "\(name) BETWEEN {2, 6}", "abs(\(name) - 5) < 2",
      ])
    }
    if oneIn(6) {
      return "\(name) IN {\(literal(&random)), \(literal(&random)), \(literal(&random))}"
    }
    let operators = type == .boolean || type == .uuid ? ["==", "!="] : ["==", "!=", ">", "<="]
    return "\(name) \(pick(operators)) \(literal(&random))"
  }

  /// A condition of the objects of a to-many relationship.
  private mutating func members(of entity: Int, _ prefix: String) -> String {
    guard let link = toMany(of: entity) else { return comparison(of: entity, prefix) }
    let path = "\(prefix)\(link.name)"
    let attribute = pick(model.entities[link.destination].attributes)
    switch number(0...3) {
    case 0: return "\(path).@count \(pick(["> 1", "== 0", "!= 2"]))"
    case 1 where attribute.type.isNumber:
      let aggregate = pick(["@sum", "@max", "@min", "@avg"])
      return "\(path).\(aggregate).\(attribute.name) \(pick([">", "<="])) \(number(1...9))"
    case 2 where attribute.type == .string || attribute.type.isNumber:
      let literal = attribute.type.literal(number(0...9))
      return "\(pick(["ANY", "ALL", "NONE"])) \(path).\(attribute.name) > \(literal)"
    default:
      let toOne = model.entities[link.destination].toOne
      guard !toOne.isEmpty else { return "\(path).@count > 1" }
      return "\(pick(["ANY", "ALL", "NONE"])) \(path).\(pick(toOne).name) == nil"
    }
  }

  private func mark(_ entity: Int) -> String {
    model.entities[entity].hasNumbers ? "USER_NUMBER" : "USER_TEXT"
  }

  /// A condition that depends on the caller.
  private mutating func caller(_ entity: Int, _ prefix: String) -> String {
    let (path, end) = path(from: entity, prefix)
    let toOne = model.entities[end].toOne
    let texts = model.entities[end].attributes.filter { $0.type == .string }
    switch number(0...7) {
    case 0: return pick(["HAS_ROLE", "IS_NAMED", "HAS_ID", "HAS_CLAIM"])
    case 1: return "\(path)id == \(mark(end))"
    case 2, 3:
      guard let link = toMany(of: entity) else { break }
      return "ANY \(prefix)\(link.name) == \(mark(link.destination))"
    case 4 where !texts.isEmpty: return "\(path)\(pick(texts).name) == USER_TEXT"
    case 5 where !toOne.isEmpty:
      let link = pick(toOne)
      return "(HAS_ID AND \(path)\(link.name) == \(mark(link.destination)))"
    default:
      guard !toOne.isEmpty else { break }
      let link = pick(toOne)
      return "\(path)\(link.name) == \(mark(link.destination))"
    }
    return "\(path)id \(pick(["==", "!="])) \(mark(end))"
  }
}
