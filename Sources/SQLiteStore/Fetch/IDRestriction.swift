// A set of ids → a condition that the key's index serves.
//
//     one id      "t0"."id" = ?
//     many        "t0"."id" IN (SELECT value FROM json_each(?))

import FetchModel

struct IDRestriction {
  let key: Key
  let ids: Set<ObjectID>

  /// The ranges of the number of ids that have different statements.
  enum Extent: Hashable {
    case one
    case few
    /// So many ids that, without another index, an automatic index for the statement saves time.
    case many

    init(_ ids: Set<ObjectID>) {
      self = ids.count == 1 ? .one : ids.count < Self.fewestOfMany ? .few : .many
    }

    /// The smallest number of ids.
    var fewest: Int {
      switch self {
      case .one: 1
      case .few: 2
      case .many: Self.fewestOfMany
      }
    }

    private static let fewestOfMany = 16
  }

  func condition(_ alias: String?) -> String {
    guard parses else { return condition(ofID: key.idExpression(alias)) }
    guard ids.count != 1 else { return key.lookupCondition(alias) }
    if key.kind == .column, key.parts[0].form == .uuid {
      let encoding = ColumnEncoding.uuid(.bytes)
      return """
        \(qualified(key.columns[0], alias)) IN \
        (SELECT livefetch_value(value, \(encoding.code)) FROM json_each(?))
        """
    }
    if key.kind == .composite {
      let row = key.columns.map { qualified($0, alias) }.joined(separator: ", ")
      let parts = key.columns.indices.map { "json_extract(value, '$[\($0)]')" }
      return "(\(row)) IN (SELECT \(parts.joined(separator: ", ")) FROM json_each(?))"
    }
    return condition(ofID: key.idExpression(alias))
  }

  var bindings: [SQLValue] {
    guard parses, ids.count == 1 || key.kind == .composite else { return idBindings }
    if ids.count == 1, let id = ids.first { return key.bindings(of: id) ?? [] }
    var json: [UInt8] = [0x5B]
    for id in ids {
      guard let parts = key.bindings(of: id) else { continue }
      if json.count > 1 { json.append(0x2C) }
      append(parts, to: &json)
    }
    json.append(0x5D)
    return [.text(String(decoding: json, as: UTF8.self))]
  }

  /// Returns the condition over SQL for whole ids: a foreign key, or a composite key's expression.
  func condition(ofID sql: String) -> String {
    let collation = key.idType == .string ? " COLLATE BINARY" : ""
    return "\(sql)\(collation) IN (SELECT value FROM json_each(?))"
  }

  /// The bindings of ``condition(ofID:)``.
  var idBindings: [SQLValue] {
    var json: [UInt8] = [0x5B]
    for id in ids {
      if json.count > 1 { json.append(0x2C) }
      json.append(id)
    }
    json.append(0x5D)
    return [.text(String(decoding: json, as: UTF8.self))]
  }

  /// True if every id can be split into values of the key's columns, which are passed as JSON.
  private var parses: Bool {
    ids.count == 1
      ? ids.allSatisfy { key.bindings(of: $0) != nil }
      : key.parts.allSatisfy { $0.form == .integer || $0.form == .text }
        || key.kind == .column && key.parts[0].form == .uuid
  }

  private func append(_ parts: [SQLValue], to json: inout [UInt8]) {
    json.append(0x5B)
    for (index, part) in parts.enumerated() {
      if index > 0 { json.append(0x2C) }
      switch part {
      case .integer(let value): json.append(json: value)
      case .text(let value): json.append(jsonString: value)
      case .null, .double, .blob: json.append(json: "null")
      }
    }
    json.append(0x5D)
  }
}

extension [UInt8] {
  /// Appends an id as JSON.
  mutating func append(_ id: ObjectID) {
    switch id {
    case .integer(let id): append(json: id)
    case .text(let id): append(jsonString: id)
    }
  }
}
