// The current row of a statement → its values, without intermediate objects.

import FetchModel
import LiveFetchCSQLite
import SQLComposer
import SQLResults

/// Reads rows of one layout from a statement.
struct RowReader: ResultRow {
  let statement: OpaquePointer
  let layout: RowLayout
  /// The connection that runs the statement.
  let connection: Connection

  /// Returns the value of a component of the current row's order.
  func value(of component: RowLayout.Component) -> SQLValue {
    Statement(pointer: statement).value(component.column)
  }

  func append(_ component: RowLayout.Component, to encoder: inout OrderKeyEncoder) {
    let column = component.column
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER:
      encoder.append(sqlite3_column_int64(statement, column), component.direction)
    case SQLITE_FLOAT:
      encoder.append(sqlite3_column_double(statement, column), component.direction)
    case SQLITE_TEXT: encoder.append(text: text(column), component.direction)
    case SQLITE_BLOB: encoder.append(binary: blob(column), component.direction)
    default: encoder.appendNil(component.nils)
    }
  }

  /// The id of the current row, for integer ids.
  var integerID: Int64 { sqlite3_column_int64(statement, layout.id) }

  func id(at column: Int32) -> ObjectID? { Statement(pointer: statement).id(column) }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

  func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> { text(column) }

  /// Returns nil for text that is not UTF-8, which a String cannot represent.
  func exactValue(_ column: Int32) -> StoredValue? {
    let value = Statement(pointer: statement).value(column)
    guard case .text(let string) = value else { return value }
    let stored = text(column)
    return string.utf8.count == stored.count && string.utf8.elementsEqual(stored) ? value : nil
  }

  func storedValue(_ column: Int32) -> StoredValue { Statement(pointer: statement).value(column) }

  func rawBytes(_ column: Int32) -> [UInt8]? {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_NULL: nil
    case SQLITE_BLOB: Array(blob(column))
    case SQLITE_FLOAT where sqlite3_column_double(statement, column).isFinite:
      // SQLite's own text has 15 digits.
      Array(sqlite3_column_double(statement, column).description.utf8)
    default: Array(text(column))
    }
  }

  func isBinary(_ column: Int32) -> Bool {
    sqlite3_column_type(statement, column) == SQLITE_BLOB
  }

  var columnCount: Int32 { sqlite3_column_count(statement) }

  var byteCount: Int {
    let statement = Statement(pointer: statement)
    return statement.byteCount(0..<statement.columnCount)
  }

  var hasToEnd: Bool { connection.hasToEnd }

  func admits(_ count: Int, after size: Int) -> Bool { connection.admits(count, after: size) }

  /// Appends a column as JSON. A value that its format cannot represent is written as stored.
  func append(_ column: Int32, _ format: ValueFormat, to bytes: inout [UInt8]) {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER:
      append(integer: sqlite3_column_int64(statement, column), format, to: &bytes)
    case SQLITE_FLOAT: append(double: sqlite3_column_double(statement, column), format, to: &bytes)
    case SQLITE_TEXT:
      let text = text(column)
      if text.count <= Self.longValue {
        append(text: text, format, to: &bytes)
      } else {
        append(longText: text, format, to: &bytes)
      }
    case SQLITE_BLOB:
      let blob = blob(column)
      if blob.count <= Self.longValue {
        append(blob: blob, format, to: &bytes)
      } else {
        append(longBlob: blob, format, to: &bytes)
      }
    default: bytes.append(json: "null")
    }
  }

  private func text(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
    // SQLite requires sqlite3_column_text before sqlite3_column_bytes.
    let start = sqlite3_column_text(statement, column)
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
  }

  private func blob(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
    let start = sqlite3_column_blob(statement, column)?.assumingMemoryBound(to: UInt8.self)
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
  }
}
