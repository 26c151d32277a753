// A set of ids → a condition that the key's index serves.
//
//     one id      "t0"."id" = ?
//     many        "t0"."id" IN (SELECT value FROM json_each(?))

import FetchModel

struct IDRestriction {
  let key: Key
  let ids: Set<ObjectID>

  func condition(_ alias: String?) -> String {
    guard ids.count != 1 || !parses else { return key.lookupCondition(alias) }
    let id = key.idExpression(alias)
    let collation = key.idType == .string ? " COLLATE BINARY" : ""
    if key.kind == .composite, parses {
      let row = key.columns.map { qualified($0, alias) }.joined(separator: ", ")
      let parts = key.columns.indices.map { "json_extract(value, '$[\($0)]')" }
      return "(\(row)) IN (SELECT \(parts.joined(separator: ", ")) FROM json_each(?))"
    }
    return "\(id)\(collation) IN (SELECT value FROM json_each(?))"
  }

  var bindings: [SQLValue] {
    if ids.count == 1, parses, let id = ids.first { return key.bindings(of: id) ?? [] }
    var json: [UInt8] = [0x5B]
    for id in ids {
      guard append(id, to: &json) else { continue }
      json.append(0x2C)
    }
    if json.last == 0x2C { json.removeLast() }
    json.append(0x5D)
    return [.text(String(decoding: json, as: UTF8.self))]
  }

  /// Whether every id can be taken apart into values of the key's columns as JSON.
  private var parses: Bool {
    ids.count == 1
      ? ids.allSatisfy { key.bindings(of: $0) != nil }
      : key.parts.allSatisfy { $0.form == .integer || $0.form == .text }
  }

  private func append(_ id: ObjectID, to json: inout [UInt8]) -> Bool {
    guard key.kind == .composite, parses else {
      switch id {
      case .integer(let id): json.append(json: id)
      case .text(let id): json.append(jsonString: id)
      }
      return true
    }
    guard let parts = key.bindings(of: id) else { return false }
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
    return true
  }
}
