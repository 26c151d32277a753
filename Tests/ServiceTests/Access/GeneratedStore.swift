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
        let isLoose = !isExact && entities[target].key == .integer && oneIn(6)
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

  /// The entity and its subentities.
  func kinds(of entity: Int) -> [Int] {
    [entity] + entities.indices.filter { entities[$0].parent == entity }
  }
}

extension GeneratedStore.Attribute {
  var isOrderable: Bool { type != .binary && type != .json }
}

// MARK: - Tables

extension GeneratedStore {
  static func quoted(_ name: String) -> String { "\"\(name)\"" }

  static func list(_ names: [String]) -> String {
    names.map(quoted).joined(separator: ",")
  }

  func keyColumns(of entity: Int) -> [String] {
    entities[entity].key == .composite ? ["x", "y"] : [entities[entity].keyColumn]
  }

  private func keyTypes(of entity: Int) -> [String] {
    switch entities[entity].key {
    case .integer: ["INTEGER"]
    case .text: ["TEXT"]
    case .composite: ["INTEGER", "TEXT"]
    }
  }

  private static let texts = ["1", "b", "2", "d%", "3,x", "é f", "g"]

  /// The values of the key columns of an object.
  func keyValues(_ entity: Int, _ number: Int) -> [String] {
    let text = number <= 7 ? Self.texts[number - 1] : "new\(number)"
    return switch entities[entity].key {
    case .integer: ["\(number)"]
    case .text: ["'\(text)'"]
    case .composite: ["\(1 + number % 3)", "'\(text)'"]
    }
  }

  /// The object's id.
  func id(_ entity: Int, _ number: Int) -> JSON {
    let values = keyValues(entity, number).map { $0.replacing("'", with: "") }
    switch entities[entity].key {
    case .integer: return .number(values[0])
    case .text: return .string(values[0])
    case .composite:
      let parts = values.map { $0.replacing("%", with: "%25").replacing(",", with: "%2C") }
      return .string(parts.joined(separator: ","))
    }
  }

  /// SQL that is true for the rows with these ids.
  func condition(_ entity: Int, ids: [JSON]) -> String {
    let keys = ids.map { id in
      let text = id.string ?? ""
      switch entities[entity].key {
      case .integer: return "\(id.integer ?? 0)"
      case .text: return "'\(text)'"
      case .composite:
        let parts = text.split(separator: ",", maxSplits: 1).map(String.init)
        let last = parts[1].replacing("%2C", with: ",").replacing("%25", with: "%")
        return "\(parts[0]),'\(last)'"
      }
    }
    guard !keys.isEmpty else { return "FALSE" }
    let list = keys.map { "(\($0))" }.joined(separator: ",")
    return "(\(Self.list(keyColumns(of: entity)))) IN (VALUES \(list))"
  }

  private func columns(of name: String, to target: Int) -> [String] {
    keyColumns(of: target).count == 1 ? ["\(name)_id"] : ["\(name)_x", "\(name)_y"]
  }

  private func reference(_ columns: [String], to target: Int) -> String {
    let (own, keys) = (Self.list(columns), Self.list(keyColumns(of: target)))
    return "FOREIGN KEY(\(own)) REFERENCES \(Self.quoted(entities[target].name))(\(keys)) "
      + "DEFERRABLE INITIALLY DEFERRED"
  }

  /// The SQL that creates the tables. References are deferred, so that rows may come in any order.
  func tables() -> String {
    var sql = ""
    for (index, entity) in entities.enumerated() {
      var parts = zip(keyColumns(of: index), keyTypes(of: index)).map {
        "\(Self.quoted($0)) \($1) NOT NULL"
      }
      parts += entity.attributes.map {
        "\(Self.quoted($0.name)) \($0.type.column)\($0.isOptional ? "" : " NOT NULL")"
      }
      var constraints = ["PRIMARY KEY(\(Self.list(keyColumns(of: index))))"]
      for link in entity.references {
        let columns = columns(of: link.name, to: link.target)
        for (column, type) in zip(columns, keyTypes(of: link.target)) {
          let declared = link.isLoose ? "TEXT" : type
          parts.append("\(Self.quoted(column)) \(declared)\(link.isOptional ? "" : " NOT NULL")")
        }
        constraints.append(reference(columns, to: link.target))
      }
      sql += "CREATE TABLE \(Self.quoted(entity.name))("
      sql += (parts + constraints).joined(separator: ",") + ");"
    }
    for link in links {
      let ends = [columns(of: "a", to: link.owner), columns(of: "b", to: link.other)]
      let parts = zip(ends, [link.owner, link.other]).flatMap { columns, target in
        zip(columns, keyTypes(of: target)).map { "\(Self.quoted($0)) \($1) NOT NULL" }
      }
      sql += "CREATE TABLE \(Self.quoted(link.name))(\(parts.joined(separator: ",")),"
      sql += "\(reference(ends[0], to: link.owner)),\(reference(ends[1], to: link.other)),"
      sql += "PRIMARY KEY(\(Self.list(ends[0] + ends[1]))));"
    }
    return sql
  }

  /// The SQL that fills the tables.
  mutating func rows() -> String {
    var sql = ""
    for (index, entity) in entities.enumerated() {
      for object in 1...entity.count {
        var columns = keyColumns(of: index)
        var values = keyValues(index, object)
        for attribute in entity.attributes {
          columns.append(attribute.name)
          let isNil = attribute.isOptional && oneIn(4)
          values.append(isNil ? "NULL" : attribute.type.sql(number(0...9)))
        }
        for link in entity.references {
          columns += self.columns(of: link.name, to: link.target)
          let count = keyColumns(of: link.target).count
          if link.isOptional, oneIn(5) {
            values += Array(repeating: "NULL", count: count)
          } else {
            let target = number(1...entities[link.target].count)
            values += link.isLoose ? ["'0\(target)'"] : keyValues(link.target, target)
          }
        }
        sql += "INSERT INTO \(Self.quoted(entity.name))(\(Self.list(columns))) "
        sql += "VALUES (\(values.joined(separator: ",")));"
      }
    }
    for link in links {
      for (first, second) in pairs(of: link) {
        let values = keyValues(link.owner, first) + keyValues(link.other, second)
        sql += "INSERT INTO \(Self.quoted(link.name)) VALUES (\(values.joined(separator: ",")));"
      }
    }
    return sql
  }

  private mutating func pairs(of link: Link) -> [(Int, Int)] {
    var pairs: [(Int, Int)] = []
    for first in 1...entities[link.owner].count {
      for second in 1...entities[link.other].count where oneIn(3) { pairs.append((first, second)) }
    }
    return pairs
  }

  /// The tables between objects: two columns, or lists of them, and the entities that they refer to.
  func joins() -> [(table: String, ends: [(columns: [String], target: Int)])] {
    links.map { link in
      guard isModel else {
        let (first, second) = (
          columns(of: "a", to: link.owner), columns(of: "b", to: link.other)
        )
        return (link.name, [(first, link.owner), (second, link.other)])
      }
      let owner = entities[link.owner].name
      let other = link.owner == link.other ? link.name : entities[link.other].name
      return ("\(owner)_\(link.name)", [([owner], link.owner), ([other], link.other)])
    }
  }
}

// MARK: - Models

extension GeneratedStore {
  /// The rules of a model's or an access file's entities and attributes as members of JSON objects.
  struct Rules {
    /// The member `access` of an entity; nil for none.
    var access: [Int: String] = [:]
    /// The members of an attribute after its type.
    var attributes: [String: String] = [:]
    /// The value of `access` of the whole; nil for none.
    var whole: String?

    func without(_ hidden: Set<String>) -> Rules {
      var rules = self
      for name in hidden { rules.attributes[name] = nil }
      return rules
    }
  }

  /// The text of a file of access rules.
  func accessFile(_ rules: Rules) -> String {
    let entities = self.entities.indices.map { index in
      var members = rules.access[index].map { ["\"access\":\($0)"] } ?? []
      let attributes = self.entities[index].attributes.compactMap { attribute in
        rules.attributes[attribute.name].map { "\"\(attribute.name)\":{\($0)}" }
      }
      members.append("\"attributes\":{\(attributes.joined(separator: ","))}")
      return "\"\(self.entities[index].name)\":{\(members.joined(separator: ","))}"
    }
    let whole = rules.whole.map { ",\"access\":\($0)" } ?? ""
    return "{\"entities\":{\(entities.joined(separator: ","))}\(whole)}"
  }

  /// The text of the model file.
  ///
  /// - Parameter hidden: The attributes that the file does not have.
  func model(_ rules: Rules = Rules(), without hidden: Set<String> = []) -> String {
    let entities = self.entities.indices.map { index in
      let entity = self.entities[index]
      let attributes = entity.attributes.filter { !hidden.contains($0.name) }.map {
        let rule = rules.attributes[$0.name].map { ",\($0)" } ?? ""
        return #"{"name":"\#($0.name)","type":"\#($0.type.declared)","optional":\#($0.isOptional)"#
          + rule + "}"
      }
      var members = [#""name":"\#(entity.name)""#]
      if let parent = entity.parent {
        members.append(#""parent":"\#(self.entities[parent].name)""#)
      }
      if let access = rules.access[index] { members.append(#""access":\#(access)"#) }
      let sort = entity.sort.filter { !hidden.contains($0.replacing("-", with: "")) }
      if !sort.isEmpty { members.append(#""sort":["\#(sort.joined(separator: "\",\""))"]"#) }
      members.append(#""attributes":[\#(attributes.joined(separator: ","))]"#)
      members.append(#""relationships":[\#(relationships(of: index).joined(separator: ","))]"#)
      return "{\(members.joined(separator: ","))}"
    }
    let templates = self.templates.filter { !hidden.contains($0.attribute.name) }.map {
      #"{"name":"\#($0.name)","entity":"\#(self.entities[$0.entity].name)","#
        + #""predicate":"\#($0.predicate)","sort":["\#($0.attribute.name)"]}"#
    }
    let whole = rules.whole.map { #","access":\#($0)"# } ?? ""
    return #"{"entities":[\#(entities.joined(separator: ","))],"#
      + #""fetchTemplates":[\#(templates.joined(separator: ","))]\#(whole)}"#
  }

  private func relationships(of index: Int) -> [String] {
    func text(
      _ name: String, _ destination: Int, _ inverse: String, toMany: Bool = false, _ more: String
    ) -> String {
      #"{"name":"\#(name)","destination":"\#(entities[destination].name)","inverse":"\#(inverse)","#
        + #""toMany":\#(toMany)\#(more)}"#
    }
    var list = entities[index].references.map {
      text($0.name, $0.target, "\($0.name)_of", #","optional":\#($0.isOptional)"#)
    }
    for (source, entity) in entities.enumerated() {
      for link in entity.references where link.target == index {
        let ordered = link.isOneToOne ? "" : #","ordered":\#(link.isOrdered)"#
        let more = #"\#(ordered),"deleteRule":"\#(link.deleteRule)""#
        list.append(
          text("\(link.name)_of", source, link.name, toMany: !link.isOneToOne, more))
      }
    }
    for link in links {
      if link.owner == index {
        let more = #","ordered":\#(link.isOrdered)"#
        list.append(text(link.name, link.other, "\(link.name)_of", toMany: true, more))
      }
      if link.other == index {
        list.append(text("\(link.name)_of", link.owner, link.name, toMany: true, ""))
      }
    }
    return list
  }

  /// The numbers of the first objects of an entity without its subentities, which share a table.
  func numbers(of entity: Int) -> ClosedRange<Int> {
    let before = entities[..<entity].indices.filter { root(of: $0) == root(of: entity) }
    let start = before.map { entities[$0].count }.reduce(0, +)
    return (start + 1)...(start + entities[entity].count)
  }

  /// The numbers of the first objects of an entity and its subentities.
  func allNumbers(of entity: Int) -> [Int] { kinds(of: entity).flatMap { Array(numbers(of: $0)) } }

  /// The saves that fill the store of a model.
  mutating func firstSaves() -> [String] {
    var inserts: [String] = []
    var updates: [String] = []
    for (index, entity) in entities.enumerated() {
      let attributes = entity.parent.map { entities[$0].attributes } ?? []
      let inherited = entity.parent.map { entities[$0].references } ?? []
      for object in numbers(of: index) {
        var values = ["\"id\":\(object)"]
        for attribute in attributes + entity.attributes where !attribute.isOptional || !oneIn(4) {
          values.append("\"\(attribute.name)\":\(attribute.type.json(number(0...9)))")
        }
        for link in inherited + entity.references where !link.isOptional || !oneIn(5) {
          let value = "\"\(link.name)\":\(pick(allNumbers(of: link.target)))"
          // Targets of required references may be of an entity after this one.
          if link.isOptional {
            updates.append(update(entity, object, value))
          } else {
            let target = pick(Array(numbers(of: link.target)))
            values.append("\"\(link.name)\":\(target)")
          }
        }
        inserts.append(
          #"{"insert":"\#(entity.name)","values":{\#(values.joined(separator: ","))}}"#)
      }
    }
    for link in links {
      for first in allNumbers(of: link.owner) {
        var members: [Int] = []
        for second in allNumbers(of: link.other) where oneIn(3) { members.append(second) }
        let list = "[\(members.map(String.init).joined(separator: ","))]"
        updates.append(update(entities[link.owner], first, "\"\(link.name)\":\(list)"))
      }
    }
    return [inserts, updates].map { #"{"changes":[\#($0.joined(separator: ","))]}"# }
  }

  private func update(_ entity: Entity, _ object: Int, _ value: String) -> String {
    #"{"update":"\#(entity.name)","id":\#(object),"values":{\#(value)}}"#
  }
}
