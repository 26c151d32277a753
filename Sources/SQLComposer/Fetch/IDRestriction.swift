// A set of ids → a condition that the key's index serves.
//
//     one id      "t0"."id" = ?
//     many        "t0"."id" IN (SELECT value FROM json_each(?))

import FetchModel

package struct IDRestriction {
  package let key: Key
  package let ids: Set<ObjectID>

  package init(key: Key, ids: Set<ObjectID>) {
    self.key = key
    self.ids = ids
  }

  /// The smallest number of ids for which an automatic index for the statement saves time where there
  /// is no other index.
  package static let fewestForIndex = 16

  package func condition(_ alias: String?) -> String {
    guard parses else { return condition(ofID: key.idExpression(alias)) }
    guard !isLookup else { return key.lookupCondition(alias) }
    if key.kind == .column, key.parts[0].form == .uuid {
      return "\(qualified(key.columns[0], alias)) IN (\(key.dialect.keyColumns(key, isEscaped)))"
    }
    if key.kind == .composite {
      let row = key.columns.map { qualified($0, alias) }.joined(separator: ", ")
      return "(\(row)) IN (\(key.dialect.keyColumns(key, isEscaped)))"
    }
    return condition(ofID: key.idExpression(alias))
  }

  package var bindings: [SQLValue] {
    guard parses, isLookup || key.kind == .composite else { return idBindings }
    if isLookup, let id = ids.first { return key.bindings(of: id) ?? [] }
    let isEscaped = isEscaped
    var json: [UInt8] = [0x5B]
    for id in ids {
      guard let parts = key.bindings(of: id) else { continue }
      if json.count > 1 { json.append(0x2C) }
      append(parts, isEscaped: isEscaped, to: &json)
    }
    json.append(0x5D)
    return [.text(String(decoding: json, as: UTF8.self))]
  }

  /// The bindings, which ``FetchStatement/binding(_:of:)`` replaces if there is one id.
  var replaceableBindings: [SQLBinding] {
    guard ids.count == 1 else { return bindings.map(SQLBinding.value) }
    return bindings.enumerated().map { SQLBinding.id($1, index: $0) }
  }

  /// Returns the condition over SQL for whole ids: a foreign key, or a composite key's expression.
  package func condition(ofID sql: String) -> String {
    let collation = key.idType == .string ? key.dialect.collation(key.idType) : ""
    return "\(sql)\(collation) IN (\(key.dialect.ids(key.idType, isEscaped)))"
  }

  /// The bindings of ``condition(ofID:)``.
  var idBindings: [SQLValue] {
    let isEscaped = isEscaped
    var json: [UInt8] = [0x5B]
    for id in ids {
      if json.count > 1 { json.append(0x2C) }
      switch id {
      case .integer(let id): json.append(json: id)
      case .text(let id): json.append(jsonString: isEscaped ? escaped(id) : id)
      }
    }
    json.append(0x5D)
    return [.text(String(decoding: json, as: UTF8.self))]
  }

  /// True if a text contains U+0000, with which SQLite 3.40 ends a text of JSON. The JSON then has U+0001
  /// and `0` in its place, and U+0001 and `1` in place of U+0001.
  private var isEscaped: Bool {
    ids.contains { if case .text(let id) = $0 { id.utf8.contains(0) } else { false } }
  }

  private func escaped(_ text: String) -> String {
    text.replacing("\u{1}", with: "\u{1}1").replacing("\0", with: "\u{1}0")
  }

  /// True if every id can be split into values of the key's columns, which are passed as JSON.
  private var parses: Bool {
    isLookup
      ? ids.allSatisfy { key.bindings(of: $0) != nil }
      : key.parts.allSatisfy {
        $0.isBinaryCollated && ($0.form.isInteger || $0.form == .text || $0.form == .untypedText)
      }
        || key.kind == .column && key.parts[0].form == .uuid
  }

  /// True if the parameters are the values of the only id.
  private var isLookup: Bool {
    ids.count == 1 && !(key.dialect.hasTypedColumns && key.parts.contains { $0.form == .uuid })
  }

  private func append(_ parts: [SQLValue], isEscaped: Bool, to json: inout [UInt8]) {
    json.append(0x5B)
    for (index, part) in parts.enumerated() {
      if index > 0 { json.append(0x2C) }
      switch part {
      case .integer(let value): json.append(json: value)
      case .text(let value): json.append(jsonString: isEscaped ? escaped(value) : value)
      case .double(let value): json.append(json: value)
      case .null, .blob: json.append(json: "null")
      }
    }
    json.append(0x5D)
  }
}

extension [UInt8] {
  /// Appends an id as JSON.
  package mutating func append(_ id: ObjectID) {
    switch id {
    case .integer(let id): append(json: id)
    case .text(let id): append(jsonString: id)
    }
  }
}
