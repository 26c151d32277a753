// A row of a result → its values in the forms that both stores share: JSON, components of an order key,
// and values for the evaluator. Dates compare as text, as in a file whose dates are ISO 8601.

import FetchModel
import SQLComposer
import SQLResults

/// Data shared by the rows of a statement, by reference.
final class RowContext {
  let layout: RowLayout
  let limit: ResponseLimit

  init(layout: RowLayout, limit: ResponseLimit) {
    self.layout = layout
    self.limit = limit
  }
}

/// A row of a result of libpq.
struct PostgresRow: ResultRow {
  let result: QueryResult
  let number: Int
  let context: RowContext

  var layout: RowLayout { context.layout }

  var hasToEnd: Bool { context.limit.hasToEnd }

  func admits(_ count: Int, after size: Int) -> Bool { context.limit.admits(count, after: size) }

  var columnCount: Int32 { Int32(result.columnCount) }

  var byteCount: Int {
    (0..<result.columnCount).reduce(0) { $0 + result.bytes(number, $1).count + 16 }
  }

  func id(at column: Int32) -> ObjectID? {
    switch value(column) {
    case .integer(let id): .integer(id)
    case .text(let id), .uuid(let id), .json(let id), .numeric(let id): .text(id)
    default: nil
    }
  }

  func integer(_ column: Int32) -> Int64 {
    if case .integer(let integer) = value(column) { integer } else { 0 }
  }

  func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
    result.bytes(number, Int(column)).bindMemory(to: UInt8.self)
  }

  /// Returns NULL for bytes that are not of the column's type, which no server sends.
  func value(_ column: Int32) -> PostgresValue {
    (try? result.value(number, Int(column))) ?? .null
  }

  /// Returns nil for a decimal that is no integer, for NaN, an infinite date, text that is padded, and
  /// for values of types that the evaluator does not know.
  func exactValue(_ column: Int32) -> StoredValue? {
    let value = value(column)
    switch value {
    case .numeric(let text): return Int64(NumericText.canonical(text)).map { .integer($0) }
    case .double(let double) where double.isNaN: return nil
    case .date, .timestamp: return Instant(value) == nil ? nil : StoredValue(value)
    case .text: return result.type(Int(column)) == TypeID.bpchar ? nil : StoredValue(value)
    case .json, .other: return nil
    default: return StoredValue(value)
    }
  }

  func storedValue(_ column: Int32) -> StoredValue {
    // A decimal may have more digits than a double; NaN is a value.
    switch value(column) {
    case .numeric(let text):
      Int64(text).map { .integer($0) } ?? .text(NumericText.canonical(text))
    case .double(let double) where double.isNaN: .text("NaN")
    case let value: StoredValue(value)
    }
  }

  func isBinary(_ column: Int32) -> Bool {
    if case .bytes = value(column) { true } else { false }
  }

  func rawBytes(_ column: Int32) -> [UInt8]? {
    switch value(column) {
    case .null: return nil
    case .bytes(let bytes): return bytes
    case .json(let text):
      return result.type(Int(column)) == TypeID.jsonb
        ? CompactJSON.bytes(of: text) : Array(text.utf8)
    case .date, .timestamp:
      var json: [UInt8] = []
      append(column, .date(.iso8601), to: &json)
      return Array(json.dropFirst().dropLast())
    case .text(let text), .uuid(let text): return Array(text.utf8)
    default:
      var json: [UInt8] = []
      append(column, .number, to: &json)
      return json
    }
  }
}

// MARK: - JSON

extension PostgresRow {
  func append(_ column: Int32, _ format: ValueFormat, to bytes: inout [UInt8]) {
    let index = Int(column)
    guard !result.isNull(number, index) else { return bytes.append(json: "null") }
    let stored = result.bytes(number, index)
    // The commonest types are decoded here, without a value between.
    switch (result.type(index), stored.count) {
    case (TypeID.text, _), (TypeID.varchar, _), (TypeID.json, _):
      append(utf8: stored.bindMemory(to: UInt8.self), format, to: &bytes)
    case (TypeID.int8, 8):
      let integer = Int64(bigEndian: stored.loadUnaligned(as: Int64.self))
      append(integer: integer, format, to: &bytes)
    case (TypeID.int4, 4):
      let integer = Int32(bigEndian: stored.loadUnaligned(as: Int32.self))
      append(integer: Int64(integer), format, to: &bytes)
    case (TypeID.float8, 8):
      let pattern = UInt64(bigEndian: stored.loadUnaligned(as: UInt64.self))
      append(double: Double(bitPattern: pattern), format, to: &bytes)
    case (TypeID.float4, 4):
      // A column that is read as it is has the digits that were stored; as a double it has more of them.
      let real = Float(bitPattern: UInt32(bigEndian: stored.loadUnaligned(as: UInt32.self)))
      append(double: Double(real.description) ?? Double(real), format, to: &bytes)
    default: append(value(column), format, to: &bytes)
    }
  }

  private func append(
    utf8 text: UnsafeBufferPointer<UInt8>, _ format: ValueFormat, to bytes: inout [UInt8]
  ) {
    if text.count <= Self.longValue {
      append(text: text, format, to: &bytes)
    } else {
      append(longText: text, format, to: &bytes)
    }
  }

  private func append(_ value: PostgresValue, _ format: ValueFormat, to bytes: inout [UInt8]) {
    switch value {
    case .null: bytes.append(json: "null")
    case .bool(let isTrue): bytes.append(json: isTrue ? "true" : "false")
    case .integer(let integer): append(integer: integer, format, to: &bytes)
    case .double(let double): append(double: double, format, to: &bytes)
    case .numeric(let text): append(numeric: text, format, to: &bytes)
    case .date, .timestamp:
      if let instant = Instant(value) {
        bytes.append(json: instant)
      } else {
        bytes.append(jsonString: value.infiniteDateText)
      }
    case .text(var text), .uuid(var text):
      text.withUTF8 { append(utf8: $0, format, to: &bytes) }
    case .json(let text):
      // Only jsonb arrives here: its text has blanks that its sender did not write.
      let json = CompactJSON.bytes(of: text)
      json.withUnsafeBufferPointer { append(utf8: $0, format, to: &bytes) }
    case .bytes(let blob), .other(_, let blob):
      blob.withUnsafeBufferPointer { blob in
        if blob.count <= Self.longValue {
          append(blob: blob, format, to: &bytes)
        } else {
          append(longBlob: blob, format, to: &bytes)
        }
      }
    case .xid(let id): append(integer: Int64(clamping: id), format, to: &bytes)
    }
  }

  private func append(numeric text: String, _ format: ValueFormat, to bytes: inout [UInt8]) {
    let digits = NumericText.canonical(text)
    if let integer = Int64(digits) { return append(integer: integer, format, to: &bytes) }
    switch digits {
    case "NaN": bytes.append(json: "null")
    case "Infinity", "-Infinity": bytes.append(jsonString: digits)
    default: bytes.append(contentsOf: digits.utf8)
    }
  }

  func append(_ column: GroupedColumn, to json: inout [UInt8]) {
    guard column.isCollection else { return append(column.index, column.format, to: &json) }
    guard case .array(let values)? = try? JSON(parsing: Array(utf8(column.index))) else {
      return json.append(json: "[]")
    }
    json.append(0x5B)
    for (number, value) in values.enumerated() {
      if number > 0 { json.append(0x2C) }
      append(element: value, column, to: &json)
    }
    json.append(0x5D)
  }

  /// Appends a value of an array that ``SQLComposer/Dialect/distinctValues`` selects.
  private func append(element: JSON, _ column: GroupedColumn, to json: inout [UInt8]) {
    switch element {
    case .number(let digits) where column.isDecimal:
      append(numeric: digits, column.format, to: &json)
    case .number(let digits):
      if let integer = Int64(digits) {
        append(integer: integer, column.format, to: &json)
      } else {
        append(double: Double(digits) ?? .nan, column.format, to: &json)
      }
    case .string(let text) where column.format == .binary:
      append(Self.bytes(hexadecimal: text), column.format, to: &json)
    case .string(var text):
      text.withUTF8 { append(utf8: $0, column.format, to: &json) }
    default: json.append(json: "null")
    }
  }

  private static func bytes(hexadecimal text: String) -> PostgresValue {
    let digits = text.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    return .bytes(
      stride(from: 0, to: digits.count & ~1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
  }
}

// MARK: - Order keys

extension PostgresRow {
  func append(_ component: RowLayout.Component, to encoder: inout OrderKeyEncoder) {
    let column = Int(component.column)
    if result.isNull(number, column) { return encoder.appendNil(component.nils) }
    switch result.type(column) {
    case TypeID.text, TypeID.varchar:
      encoder.append(text: utf8(component.column), component.direction)
    default: append(value(component.column), component, to: &encoder)
    }
  }

  private func append(
    _ value: PostgresValue, _ component: RowLayout.Component, to encoder: inout OrderKeyEncoder
  ) {
    switch value {
    // PostgreSQL sorts NaN after every other number.
    case .double(let double) where double.isNaN:
      return encoder.append(.nan, component.direction)
    case .numeric(let text):
      return DecimalKey.bytes(of: text).withUnsafeBufferPointer { digits in
        encoder.append(text: digits, component.direction)
      }
    default: break
    }
    switch StoredValue(value) {
    case .null: encoder.appendNil(component.nils)
    case .integer(let integer): encoder.append(integer, component.direction)
    case .double(let double): encoder.append(double, component.direction)
    case .text(var text): text.withUTF8 { encoder.append(text: $0, component.direction) }
    case .blob(let bytes):
      bytes.withUnsafeBufferPointer { encoder.append(binary: $0, component.direction) }
    }
  }
}
