// A generated store as tables: the SQL that creates and fills them.

import FetchModel
import Foundation

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
