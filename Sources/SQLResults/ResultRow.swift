// The current row of a composed statement → an order key, or JSON bytes.

import FetchModel
import SQLComposer

/// A row of a composed statement. Its values are valid until the statement's next row.
public protocol ResultRow {
  var layout: RowLayout { get }
  /// True if the query must end.
  var hasToEnd: Bool { get }
  /// True if a value of `count` bytes may be written after `size` others. If not, the response is
  /// incomplete, and the next ``ResultTransaction/checkResponse(_:)`` throws the reason.
  func admits(_ count: Int, after size: Int) -> Bool
  /// Returns the id in a column that contains a key's id expression; nil for NULL.
  func id(at column: Int32) -> ObjectID?
  /// Returns the value of an integer column; 0 for other values.
  func integer(_ column: Int32) -> Int64
  /// The UTF-8 of a text column; empty for NULL.
  func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8>
  /// Returns the value of a column as the evaluator compares it; nil if it cannot be represented
  /// exactly.
  func exactValue(_ column: Int32) -> StoredValue?
  /// Returns the value of a column. Two values of a column are equal exactly if these are.
  func storedValue(_ column: Int32) -> StoredValue
  /// Returns the bytes of a value as a client downloads them; nil for NULL.
  func rawBytes(_ column: Int32) -> [UInt8]?
  /// True if a column's value is binary.
  func isBinary(_ column: Int32) -> Bool
  var columnCount: Int32 { get }
  /// The approximate memory size of the row in bytes.
  var byteCount: Int { get }
  /// Appends a component of the row's order.
  func append(_ component: RowLayout.Component, to encoder: inout OrderKeyEncoder)
  /// Appends a column as JSON. A value that its format cannot represent is written as stored.
  func append(_ column: Int32, _ format: ValueFormat, to bytes: inout [UInt8])
  /// Appends a column of a grouped query as JSON.
  func append(_ column: GroupedColumn, to bytes: inout [UInt8])
}

extension ResultRow {
  /// Returns the order key of the row.
  @inlinable
  public func key() -> OrderKey {
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

  /// Returns the encoded components of only the section, to detect the end of a section.
  @inlinable
  public func sectionBytes() -> [UInt8] {
    var encoder = OrderKeyEncoder()
    for component in layout.components.prefix(layout.sectionComponents) {
      append(component, to: &encoder)
    }
    return encoder.bytes
  }

  /// Returns the id of the row.
  @inlinable
  public func id() -> ObjectID { id(at: layout.id) ?? .text("") }

  /// Appends the row's id as JSON.
  @inlinable
  public func appendID(to bytes: inout [UInt8]) { append(layout.id, layout.idFormat, to: &bytes) }

  /// Appends the row's item: `{"id":1,"name":"Shanghai"}`.
  @inlinable
  public func appendItem(to bytes: inout [UInt8]) {
    appendItem(to: &bytes) { _ in }
  }

  /// Returns the row with the ranges of its values.
  @inlinable
  public func row() -> Row {
    var json: [UInt8] = []
    json.reserveCapacity(32 * (layout.values.count + 1))
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(layout.values.count)
    appendItem(to: &json) { ranges.append($0) }
    return Row(key: key(), json: json, values: ranges)
  }

  @inlinable
  public func appendItem(to bytes: inout [UInt8], _ value: (Range<Int>) -> Void) {
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

  /// The bytes beyond which a value is written in pieces. The limits of the response are checked
  /// before each piece.
  @inlinable
  public static var longValue: Int { 4 << 10 }
}
