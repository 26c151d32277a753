// Random stores: tables that are served as they are, or a model, with rows.

import FetchModel
import Foundation
import TestSupport

/// Values of a type of attributes. Each type has ten, numbered from 0.
enum GeneratedType: String, CaseIterable {
  case integer, string, double, decimal, boolean, date, uuid, binary, json

  private static let texts = ["a", "b", "c", "B", "é", "x y", "", "n", "zZ", "q"]

  var column: String {
    switch self {
    case .integer: "INTEGER"
    case .string: "TEXT"
    case .double: "REAL"
    case .decimal: "DECIMAL(10,2)"
    case .boolean: "BOOLEAN"
    case .date: "DATETIME"
    case .uuid: "UUID"
    case .binary: "BLOB"
    case .json: "JSON"
    }
  }

  /// The type's name in a model file.
  var declared: String {
    switch self {
    case .integer: "Integer 64"
    case .string: "String"
    case .double: "Double"
    case .decimal: "Decimal"
    case .boolean: "Boolean"
    case .date: "Date"
    case .uuid: "UUID"
    case .binary: "Binary"
    case .json: "Transformable"
    }
  }

  func json(_ number: Int) -> String {
    switch self {
    case .integer, .double, .decimal: literal(number)
    case .string: "\"\(Self.texts[number])\""
    case .boolean: number % 2 == 0 ? "true" : "false"
    case .date: "\"2024-0\(1 + number % 9)-1\(number)T0\(number):00:00Z\""
    case .uuid: "\"0000000\(number)-0000-4000-8000-00000000000\(number)\""
    case .binary: "\"\(Data([UInt8(number), 7]).base64EncodedString())\""
    case .json: "{\"n\":\(number)}"
    }
  }

  /// The value in a predicate.
  func literal(_ number: Int) -> String {
    switch self {
    case .integer: "\(number)"
    case .double: "\(Double(number) / 4)"
    case .decimal: "\(number).25"
    case .boolean: number % 2 == 0 ? "TRUE" : "FALSE"
    case .string, .date, .uuid: "'\(json(number).dropFirst().dropLast())'"
    case .binary, .json: "nil"
    }
  }

  /// The value in a column of a file.
  func sql(_ number: Int) -> String {
    switch self {
    case .boolean: "\(1 - number % 2)"
    case .binary: "x'0\(number)07'"
    case .json: "'\(json(number))'"
    default: literal(number)
    }
  }

  var isNumber: Bool { self == .integer || self == .double || self == .decimal }
}

/// Two to five entities with random keys, attributes and relationships.
struct GeneratedStore: SeededCaseGenerator {
  enum Key { case integer, text, composite }

  struct Attribute {
    let name: String
    let type: GeneratedType
    let isOptional: Bool
    /// The first attribute of an entity is never hidden.
    let mayBeHidden: Bool
  }

  /// A to-one relationship.
  struct Reference {
    let name: String
    let target: Int
    let isOptional: Bool
    /// True if the inverse is to-one; of a model only.
    let isOneToOne: Bool
    /// True for a column of another type than the key; of tables only.
    let isLoose: Bool
    let isOrdered: Bool
    let deleteRule: String
  }

  struct Entity {
    let name: String
    var parent: Int?
    var key = Key.integer
    var keyColumn = "id"
    var attributes: [Attribute] = []
    var references: [Reference] = []
    var sort: [String] = []
    /// How many objects there are at first.
    var count = 0
  }

  /// A many-to-many relationship.
  struct Link {
    let owner: Int
    let other: Int
    let name: String
    let isOrdered: Bool
  }

  struct Template {
    let name: String
    let entity: Int
    let attribute: Attribute
    let predicate: String
  }

  var random: SeededRandom
  let isModel: Bool
  private(set) var entities: [Entity] = []
  private(set) var links: [Link] = []
  private(set) var templates: [Template] = []

  /// - Parameter isExact: True if every reference's column has the type of the key.
  init(seed: UInt64, isModel: Bool, isExact: Bool) {
    random = SeededRandom(seed: seed)
    self.isModel = isModel
    let words = [
      "code", "size", "title", "rank", "price", "kind", "state", "note", "level", "mark",
    ]
    var names = words.flatMap { [$0, $0 + "s"] }.shuffled(using: &random)
    let pool = ["user", "order", "Team", "item", "Group", "tag", "Memo"].shuffled(using: &random)
    for index in 0..<number(2...5) {
      var entity = Entity(name: pool[index])
      if !isModel {
        entity.key = pick([.integer, .integer, .integer, .text, .composite])
        entity.keyColumn = pick(["id", "id", "nr"])
      } else if index > 0, oneIn(3) {
        entity.parent = pick((0..<index).filter { entities[$0].parent == nil })
      }
      for place in 0..<number(1...4) {
        let type: GeneratedType = place == 0 ? pick([.integer, .string]) : pick(Self.types)
        entity.attributes.append(
          Attribute(
            name: names.removeLast(), type: type, isOptional: !oneIn(4), mayBeHidden: place > 0))
      }
      if isModel, entity.parent == nil, oneIn(3) {
        entity.sort = [pick(["", "-"]) + pick(entity.attributes.filter(\.isOrderable)).name]
      }
      entity.count = number(3...7)
      entities.append(entity)
    }
    addRelationships(isExact: isExact)
    addTemplates()
  }

  private static let types: [GeneratedType] =
    GeneratedType.allCases + [.integer, .integer, .string, .string, .double]

  private mutating func addRelationships(isExact: Bool) {
    let words = ["owner", "author", "parent", "lead", "place", "source", "friend", "home"]
    var names = words.flatMap { [$0, $0 + "2"] }.shuffled(using: &random)
    for index in entities.indices {
      for _ in 0..<pick([0, 1, 1, 2, 3]) {
        let target = number(0...entities.count - 1)
        let isOptional = target >= index || !oneIn(4)
        let isOneToOne = isModel && isOptional && oneIn(4)
        let isLoose = entities[target].key == .integer && oneIn(6) && !isExact
        let rule = isOptional ? pick(["Nullify", "Nullify", "Cascade", "Deny"]) : "Cascade"
        entities[index].references.append(
          Reference(
            name: names.removeLast(), target: target, isOptional: isOptional,
            isOneToOne: isOneToOne, isLoose: isLoose && !isModel,
            isOrdered: isModel && !isOneToOne && oneIn(4), deleteRule: rule))
      }
    }
    for number in 0..<pick([0, 1, 1, 2]) {
      let owner = self.number(0...entities.count - 1)
      links.append(
        Link(
          owner: owner, other: self.number(owner...entities.count - 1), name: "link\(number)",
          isOrdered: oneIn(3)))
    }
  }

  private mutating func addTemplates() {
    guard isModel else { return }
    for number in 1...2 {
      let entity = self.number(0...entities.count - 1)
      let attribute = pick(entities[entity].attributes.filter(\.isOrderable))
      templates.append(
        Template(
          name: "template\(number)", entity: entity, attribute: attribute,
          predicate: "\(attribute.name) != \(attribute.type.literal(self.number(0...9)))"))
    }
  }

  func root(of entity: Int) -> Int { entities[entity].parent ?? entity }

  /// True for a table with references to itself. SQLite checks all of them if one of them changes, and
  /// those of a copy's rows may refer to deleted ones.
  func refersToItself(_ root: Int) -> Bool {
    kinds(of: root).contains { kind in
      entities[kind].references.contains { self.root(of: $0.target) == root }
    }
  }

  /// True if another object may refer to an object of this entity.
  func isReferredTo(_ entity: Int) -> Bool {
    let root = root(of: entity)
    let targets =
      entities.flatMap(\.references).map(\.target) + links.flatMap { [$0.owner, $0.other] }
    return targets.contains { self.root(of: $0) == root }
  }

  /// The entity and its subentities.
  func kinds(of entity: Int) -> [Int] {
    [entity] + entities.indices.filter { entities[$0].parent == entity }
  }
}

extension GeneratedStore.Attribute {
  var isOrderable: Bool { type != .binary && type != .json }
}
