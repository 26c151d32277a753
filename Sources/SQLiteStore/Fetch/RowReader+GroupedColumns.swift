// A column of a grouped query → its JSON. The SQL returns sums of decimals as text, and lists of values
// as components of an order key.

import FetchModel
import LiveFetchCSQLite
import SQLComposer
import SQLResults

extension RowReader {
  func append(_ column: GroupedColumn, to json: inout [UInt8]) {
    let index = column.index
    if column.isCollection {
      appendValues(of: column, to: &json)
    } else if column.isDecimal, sqlite3_column_type(statement, index) == SQLITE_TEXT {
      let count = Int(sqlite3_column_bytes(statement, index))
      guard count <= Self.longValue || connection.admits(count, after: json.count) else {
        return json.append(json: "null")
      }
      appendDecimal(Array(utf8(index)), column, to: &json)
    } else if let encoding = column.encoding, sqlite3_column_type(statement, index) == SQLITE_BLOB,
      let mistyped = encoding.mistypedValue(of: bytes(index))
    {
      append(mistyped, column, to: &json)
    } else {
      append(index, column.format, to: &json)
    }
  }

  private func bytes(_ index: Int32) -> [UInt8] {
    let start = sqlite3_column_blob(statement, index)
    let count = Int(sqlite3_column_bytes(statement, index))
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Appends decimal digits as a number, even if neither an integer nor a double represents them
  /// exactly.
  private func appendDecimal(_ text: [UInt8], _ column: GroupedColumn, to json: inout [UInt8]) {
    if case .number? = try? JSON(parsing: text) {
      json.append(contentsOf: text)
    } else {
      text.withUnsafeBufferPointer { append(text: $0, column.format, to: &json) }
    }
  }

  private func appendValues(of column: GroupedColumn, to json: inout [UInt8]) {
    let count = Int(sqlite3_column_bytes(statement, column.index))
    guard connection.admits(count, after: json.count) else { return json.append(json: "null") }
    var decoder = OrderKeyDecoder(bytes: bytes(column.index))
    json.append(0x5B)
    while !decoder.isAtEnd, connection.admits(0, after: json.count),
      let value = decoder.decode()
    {
      if json.last != 0x5B { json.append(0x2C) }
      if let encoding = column.encoding, case .binary(let comparisonKey) = value,
        let mistyped = encoding.mistypedValue(of: comparisonKey)
      {
        append(mistyped, column, to: &json)
      } else {
        append(value, column, to: &json)
      }
    }
    json.append(0x5D)
  }

  private func append(
    _ value: OrderKeyDecoder.Component, _ column: GroupedColumn, to json: inout [UInt8]
  ) {
    switch value {
    case .null: json.append(json: "null")
    // An order key holds a double without a fraction as an integer.
    case .integer(let integer) where column.isDouble && Double(exactly: integer) != nil:
      append(double: Double(integer), column.format, to: &json)
    case .integer(let integer): append(integer: integer, column.format, to: &json)
    case .double(let double): append(double: double, column.format, to: &json)
    case .text(let utf8):
      if column.isDecimal {
        appendDecimal(utf8, column, to: &json)
      } else {
        utf8.withUnsafeBufferPointer { append(text: $0, column.format, to: &json) }
      }
    case .binary(let bytes):
      bytes.withUnsafeBufferPointer { append(blob: $0, column.format, to: &json) }
    }
  }
}
