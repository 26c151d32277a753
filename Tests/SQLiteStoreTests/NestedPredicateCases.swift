// A seed → predicates with nested collections and calculations.

import FetchModel
import TestSupport

/// Generated predicates with SUBQUERY, TERNARY, quantifiers and aggregates in every position that
/// allows a value: both sides of each comparison, IN, BETWEEN, CONTAINS, arithmetic, arguments.
struct NestedPredicateCases: SeededCaseGenerator {
  /// An object that key paths can start from, and how they begin.
  private struct Origin {
    let entity: String
    let prefix: String
  }

  /// The key path of a to-many relationship.
  private struct Collection {
    let text: String
    let entity: String
    /// True if it follows two to-many steps.
    let isChain: Bool
  }

  enum Kind { case number, text, date }

  private struct Shape {
    let attributes: [Kind: [String]]
    let toOne: [(name: String, entity: String)]
    let toMany: [(name: String, entity: String)]
  }

  private static let shapes: [String: Shape] = [
    "o": Shape(
      attributes: [.number: ["n", "r", "b", "id"], .text: ["s", "u"], .date: ["d"]], toOne: [],
      toMany: [("c", "c"), ("p", "p"), ("tag", "tag")]),
    "p": Shape(
      attributes: [.number: ["n", "id"], .text: ["s"], .date: ["d"]], toOne: [("o", "o")],
      toMany: [("c", "c")]),
    "c": Shape(
      attributes: [.number: ["n", "id"], .text: ["s"], .date: ["d"]],
      toOne: [("o", "o"), ("p", "p")], toMany: [("t", "t")]),
    "t": Shape(
      attributes: [.number: ["n", "id"], .text: ["s"], .date: ["d"]], toOne: [("c", "c")],
      toMany: []),
    "tag": Shape(
      attributes: [.number: ["n"], .text: ["s", "id"], .date: ["d"]], toOne: [],
      toMany: [("o", "o")]),
  ]

  static let entities = ["o", "o", "c", "t", "p", "tag"]

  var random: SeededRandom
  /// False to leave UUIDs out: the generated predicates compare them with other texts.
  var hasUUIDs = true
  private var origins: [Origin] = []
  private var variableCount = 0
  /// The number of parts that may still be added to the predicate.
  private var budget = 0

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func predicate(about entity: String) -> String {
    origins = [Origin(entity: entity, prefix: "")]
    variableCount = 0
    budget = number(4...40)
    return condition(4)
  }

  // MARK: Conditions

  private mutating func condition(_ depth: Int) -> String {
    budget -= 1
    switch pick(depth > 0 && budget > 0 ? Form.all : Form.simple) {
    case .membership: return membership(depth)
    case .quantified: return quantified(depth)
    case .containment: return containment(depth)
    case .comparison: return comparison(depth)
    case .interval: return interval(depth)
    case .and: return "(\(condition(depth - 1)) AND \(condition(depth - 1)))"
    case .or: return "(\(condition(depth - 1)) OR \(condition(depth - 1)))"
    case .not: return "NOT (\(condition(depth - 1)))"
    case .search: return search(depth)
    case .objects: return objects(depth)
    }
  }

  /// The forms of conditions. In the lists, a form is as likely as often it occurs.
  private enum Form {
    case membership, quantified, containment, comparison, interval, and, or, not, search, objects

    static let simple = [membership, quantified, containment, comparison, comparison]
    static let all =
      simple + [interval, and, or, not, search, objects, comparison, comparison]
      + [quantified, quantified, quantified]
  }

  private mutating func relation() -> String { pick(["==", "!=", "<", "<=", ">", ">="]) }
  private mutating func kind() -> Kind { pick([.number, .number, .text, .date]) }
  private mutating func options(_ kind: Kind) -> String {
    kind == .text ? pick(["", "", "[c]", "[cd]"]) : ""
  }

  private mutating func comparison(_ depth: Int) -> String {
    let kind = kind()
    return "\(value(kind, depth - 1)) \(relation())\(options(kind)) \(value(kind, depth - 1))"
  }

  private mutating func interval(_ depth: Int) -> String {
    let kind = kind()
    let value = value(kind, depth - 1)
    return "\(value) BETWEEN {\(self.value(kind, depth - 1)), \(self.value(kind, depth - 1))}"
  }

  private mutating func membership(_ depth: Int) -> String {
    let kind = kind()
    let value = value(kind, depth - 1)
    if !oneIn(3), let values = values(kind, depth) {
      return "\(value) IN\(options(kind)) \(values)"
    }
    return "\(value) IN\(options(kind)) \(list(kind, depth))"
  }

  private mutating func list(_ kind: Kind, _ depth: Int) -> String {
    let values = (0..<number(1...3)).map { _ in value(kind, depth - 1) }
    return "{\(values.joined(separator: ", "))}"
  }

  private mutating func containment(_ depth: Int) -> String {
    let kind = kind()
    guard let values = values(kind, depth) else { return search(depth) }
    return "\(values) CONTAINS\(options(kind)) \(value(kind, depth - 1))"
  }

  private mutating func search(_ depth: Int) -> String {
    let operation = pick(["BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "IN"])
    return "\(value(.text, depth - 1)) \(operation)\(options(.text)) \(value(.text, depth - 1))"
  }

  private mutating func quantified(_ depth: Int) -> String {
    let quantifier = pick(["ANY", "ALL", "NONE", "SOME"])
    if oneIn(4), let collection = collection(), collection.isChain {
      return "\(quantifier) \(collection.text).@count \(rest(.number, depth))"
    }
    let kind = kind()
    guard let values = values(kind, depth) else { return comparison(depth) }
    if kind == .text, oneIn(4) { return "\(quantifier) \(values).length \(rest(.number, depth))" }
    return "\(quantifier) \(values) \(rest(kind, depth))"
  }

  /// An operator and its right side.
  private mutating func rest(_ kind: Kind, _ depth: Int) -> String {
    switch number(0...4) {
    case 0:
      if let values = values(kind, depth) { return "IN \(values)" }
      return "IN \(list(kind, depth))"
    case 1: return "IN \(list(kind, depth))"
    case 2: return "BETWEEN {\(value(kind, depth - 1)), \(value(kind, depth - 1))}"
    default: return "\(relation()) \(value(kind, depth - 1))"
    }
  }

  /// Objects compared as such.
  private mutating func objects(_ depth: Int) -> String {
    let (text, entity) = object()
    guard !text.isEmpty else { return comparison(depth) }
    let literal = entity == "tag" ? "'a'" : "\(number(1...6))"
    switch number(0...3) {
    case 0: return "\(text) == \(literal)"
    case 1: return "\(text) IN {\(literal), \(oneIn(2) ? "nil" : literal)}"
    case 2:
      guard let collection = collection(of: entity) else { return "\(text) != nil" }
      return oneIn(2) ? "\(text) IN \(collection)" : "\(collection) CONTAINS \(text)"
    default: return "\(text) != nil"
    }
  }

  // MARK: Key paths

  /// A key path over to-one steps; empty for the object itself.
  private mutating func object() -> (text: String, entity: String) {
    let origin = pick(origins)
    var (text, entity) = (origin.prefix, origin.entity)
    for _ in 0..<number(0...2) {
      guard let steps = Self.shapes[entity]?.toOne, !steps.isEmpty else { break }
      let step = pick(steps)
      (text, entity) = (Self.joined(text, step.name), step.entity)
    }
    return (text, entity)
  }

  private static func joined(_ path: String, _ name: String) -> String {
    path.isEmpty ? name : "\(path).\(name)"
  }

  private mutating func attribute(_ kind: Kind, of entity: String) -> String {
    pick((Self.shapes[entity]?.attributes[kind] ?? []).filter { hasUUIDs || $0 != "u" })
  }

  private mutating func collection() -> Collection? {
    for _ in 0..<8 {
      let (path, entity) = object()
      guard let steps = Self.shapes[entity]?.toMany, !steps.isEmpty else { continue }
      let step = pick(steps)
      let text = Self.joined(path, step.name)
      guard oneIn(3), let next = Self.shapes[step.entity]?.toMany, !next.isEmpty else {
        return Collection(text: text, entity: step.entity, isChain: false)
      }
      let second = pick(next)
      return Collection(text: "\(text).\(second.name)", entity: second.entity, isChain: true)
    }
    return nil
  }

  private mutating func collection(of entity: String) -> String? {
    for _ in 0..<4 {
      if let collection = collection(), collection.entity == entity { return collection.text }
    }
    return nil
  }

  /// A key path to several values, perhaps over a SUBQUERY and a to-one step after the elements.
  private mutating func values(_ kind: Kind, _ depth: Int) -> String? {
    guard let collection = collection() else { return nil }
    var (text, entity) = (collection.text, collection.entity)
    if depth > 1, budget > 0, oneIn(3) { text = subquery(collection, depth) }
    if oneIn(3), let steps = Self.shapes[entity]?.toOne, !steps.isEmpty {
      let step = pick(steps)
      (text, entity) = ("\(text).\(step.name)", step.entity)
    }
    return "\(text).\(attribute(kind, of: entity))"
  }

  private mutating func subquery(_ collection: Collection, _ depth: Int) -> String {
    variableCount += 1
    let name = "$v\(variableCount)"
    origins.append(Origin(entity: collection.entity, prefix: name))
    defer { origins.removeLast() }
    return "SUBQUERY(\(collection.text), \(name), \(condition(depth - 1)))"
  }

  // MARK: Values

  private mutating func value(_ kind: Kind, _ depth: Int) -> String {
    budget -= 1
    guard depth > 0, budget > 0, !oneIn(3) else { return leaf(kind) }
    if oneIn(4) {
      return
        "TERNARY(\(condition(depth - 1)), \(value(kind, depth - 1)), \(value(kind, depth - 1)))"
    }
    if oneIn(4), let collection = collection() {
      let text = oneIn(2) ? subquery(collection, depth) : collection.text
      return "\(text).@\(pick(["min", "max"])).\(attribute(kind, of: collection.entity))"
    }
    switch kind {
    case .number: return calculation(depth)
    case .text: return oneIn(3) ? "uppercase(\(value(.text, depth - 1)))" : leaf(.text)
    case .date: return "\(pick(["min", "max"]))(\(list(.date, depth)))"
    }
  }

  private mutating func leaf(_ kind: Kind) -> String {
    if oneIn(3) {
      switch kind {
      case .number: return pick(["0", "1", "2", "-1", "2.5", "7", "nil"])
      case .text: return pick(["'a'", "'A'", "'ab'", "''", "'é'", "nil"])
      case .date: return pick(["'2024-02-29T10:00:00Z'", "'2001-01-01T00:00:00Z'", "nil"])
      }
    }
    let (text, entity) = object()
    return Self.joined(text, attribute(kind, of: entity))
  }

  private mutating func calculation(_ depth: Int) -> String {
    let inner = { (cases: inout Self) in cases.value(.number, depth - 1) }
    switch number(0...9) {
    case 0: return "(\(inner(&self)) \(pick(["+", "-", "*", "/"])) \(inner(&self)))"
    case 1: return "abs(\(inner(&self)))"
    case 2: return "FUNCTION('bitwiseAnd:with:', \(inner(&self)), \(inner(&self)))"
    case 3: return "\(pick(["sum", "max", "min"]))(\(list(.number, depth)))"
    case 4: return "length(\(value(.text, depth - 1)))"
    case 5:
      guard let collection = collection() else { return leaf(.number) }
      return
        "\(pick(["sum", "max", "min"]))(\(collection.text).\(attribute(.number, of: collection.entity)))"
    case 6:
      guard let values = values(.number, depth) else { return leaf(.number) }
      return counted(values)
    default:
      guard let collection = collection() else { return leaf(.number) }
      return total(depth > 1 ? subquery(collection, depth) : collection.text, collection.entity)
    }
  }

  /// An aggregate, perhaps with a to-one step before or after its operator.
  private mutating func total(_ path: String, _ entity: String) -> String {
    let step = oneIn(2) ? Self.shapes[entity]?.toOne.randomElement(using: &random) : nil
    let end = step?.entity ?? entity
    let value = attribute(.number, of: end)
    guard let step else {
      return oneIn(2) ? "\(path).@count" : "\(path).@sum.\(value)"
    }
    switch number(0...2) {
    case 0: return "\(path).\(step.name).@count"
    case 1: return "\(path).\(step.name).@sum.\(value)"
    default: return "\(path).@sum.\(step.name).\(value)"
    }
  }

  /// The number of different values of a key path.
  private func counted(_ values: String) -> String {
    guard let dot = values.lastIndex(of: ".") else { return "0" }
    let (path, name) = (values[..<dot], values[values.index(after: dot)...])
    return "\(path).@distinctUnionOfObjects.\(name).@count"
  }

  // MARK: Changes

  /// Statements that change some rows and links.
  mutating func changes() -> String {
    (0..<8).map { _ in change() }.joined(separator: ";\n")
  }

  private mutating func change() -> String {
    let table = pick(["o", "p", "c", "t"])
    let id = number(1...9)
    switch number(0...7) {
    case 0: return "DELETE FROM \(table) WHERE id = \(id)"
    case 1: return "UPDATE \(table) SET n = \(integer()), s = \(text()) WHERE id = \(id)"
    case 2: return "UPDATE \(table) SET d = \(date()) WHERE id = \(id)"
    case 3: return "UPDATE \(pick(["c", "p"])) SET o_id = \(link()) WHERE id = \(id)"
    case 4: return "UPDATE t SET c_id = \(link()) WHERE id = \(id)"
    case 5: return "UPDATE c SET p_id = \(link()) WHERE id = \(id)"
    case 6: return "DELETE FROM o_tag WHERE o_id = \(number(1...6))"
    default: return "UPDATE tag SET n = \(integer()) WHERE id = \(pick(["'a'", "'A'", "'1'"]))"
    }
  }

  // MARK: Rows

  /// The rows as SQL: every kind of nil, links that lead nowhere, dates written in several ways.
  mutating func fixture() -> String {
    var sql = NestedFixture.schema
    for id in 2...6 {
      sql += insert("o", ["\(id)", integer(), real(), text(), uuid(), date(), boolean()])
      sql += insert("p", ["\(id)", integer(), text(), date(), link()])
    }
    for id in 2...9 {
      sql += insert("c", ["\(id)", integer(), text(), date(), link(), link()])
      sql += insert("t", ["\(id)", integer(), text(), date(), link()])
    }
    for id in ["'b'", "'A'", "'1'"] { sql += insert("tag", [id, integer(), text(), date()]) }
    for _ in 0..<8 {
      let values = [link(), pick(["'a'", "'b'", "'A'", "'1'"])]
      sql += "INSERT OR IGNORE INTO o_tag VALUES (\(values.joined(separator: ", ")));\n"
    }
    return sql
  }

  private func insert(_ table: String, _ values: [String]) -> String {
    "INSERT INTO \(table) VALUES (\(values.joined(separator: ", ")));\n"
  }

  private mutating func integer() -> String { pick(["NULL", "0", "1", "1", "2", "3", "7", "-1"]) }
  private mutating func real() -> String { pick(["NULL", "0.5", "2.5", "1.0", "-1.5"]) }
  private mutating func text() -> String {
    pick(["NULL", "''", "'a'", "'A'", "'ab'", "'é'", "'7'"])
  }
  private mutating func boolean() -> String { pick(["NULL", "0", "1"]) }
  private mutating func link() -> String { pick(["NULL", "1", "2", "3", "4", "5", "6", "99"]) }

  private mutating func uuid() -> String {
    pick([
      "NULL", "'6F9619FF-8B86-D011-B42D-00C04FC964FF'", "'6f9619ff-8b86-d011-b42d-00c04fc964ff'",
    ])
  }

  private mutating func date() -> String {
    pick([
      "NULL", "'2024-02-29T10:00:00Z'", "'2024-02-29T11:00:00+01:00'", "'2001-01-01T00:00:00Z'",
      "'1969-12-31T23:59:59Z'", "'none'",
    ])
  }
}
