// The current row of a statement → an order key, or JSON bytes, without intermediate objects.

import FetchModel
import LiveFetchCSQLite

/// Reads rows of one layout from a statement.
struct RowReader {
  let statement: OpaquePointer
  let layout: RowLayout
  /// The connection that runs the statement.
  let connection: Connection

  /// Returns the order key of the current row.
  func key() -> OrderKey {
    var encoder = OrderKeyEncoder()
    for component in layout.components.prefix(layout.sectionComponents) {
      append(component, to: &encoder)
    }
    let sectionLength = encoder.bytes.count
    for component in layout.components.dropFirst(layout.sectionComponents) {
      append(component, to: &encoder)
    }
    let idOffset = encoder.bytes.count
    append(
      RowLayout.Component(column: layout.id, direction: .ascending, nils: .first), to: &encoder)
    return OrderKey(
      bytes: encoder.bytes, sectionLength: UInt32(sectionLength), idOffset: UInt32(idOffset))
  }

  /// Returns the value of a component of the current row's order.
  func value(of component: RowLayout.Component) -> SQLValue {
    Statement(pointer: statement).value(component.column)
  }

  /// Returns the encoded components of only the section, to detect the end of a section.
  func sectionBytes() -> [UInt8] {
    var encoder = OrderKeyEncoder()
    for component in layout.components.prefix(layout.sectionComponents) {
      append(component, to: &encoder)
    }
    return encoder.bytes
  }

  private func append(_ component: RowLayout.Component, to encoder: inout OrderKeyEncoder) {
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

  /// Returns the id of the current row.
  func id() -> ObjectID {
    if sqlite3_column_type(statement, layout.id) == SQLITE_INTEGER {
      return .integer(sqlite3_column_int64(statement, layout.id))
    }
    return .text(String(decoding: text(layout.id), as: UTF8.self))
  }

  /// The id of the current row, for integer ids.
  var integerID: Int64 { sqlite3_column_int64(statement, layout.id) }

  /// Appends the current row's id as JSON.
  func appendID(to bytes: inout [UInt8]) { append(layout.id, layout.idFormat, to: &bytes) }

  /// Appends the current row's item: `{"id":1,"name":"Shanghai"}`.
  @inline(__always)
  func appendItem(to bytes: inout [UInt8]) {
    appendItem(to: &bytes) { _ in }
  }

  /// Returns the current row with the ranges of its values.
  func row() -> Row {
    var json: [UInt8] = []
    json.reserveCapacity(32 * (layout.values.count + 1))
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(layout.values.count)
    appendItem(to: &json) { ranges.append($0) }
    return Row(key: key(), json: json, values: ranges)
  }

  @inline(__always)
  private func appendItem(to bytes: inout [UInt8], _ value: (Range<Int>) -> Void) {
    bytes.append(json: "{\"id\":")
    append(layout.id, layout.idFormat, to: &bytes)
    layout.keys.withUnsafeBufferPointer { keys in
      layout.values.withUnsafeBufferPointer { values in
        for part in values {
          bytes.append(contentsOf: UnsafeBufferPointer(rebasing: keys[part.key]))
          let start = bytes.count
          append(part.column, part.format, to: &bytes)
          value(start..<bytes.count)
        }
      }
    }
    bytes.append(0x7D)
  }

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

  /// The bytes beyond which a value is written in pieces. The limits of the response are checked
  /// before each piece.
  static let longValue = 4 << 10

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
