// A field of an imported file → the value that a statement assigns to its column.

import FetchModel
import SQLComposer

extension ImportedField {
  /// Returns nil if the column's type does not include the value.
  ///
  /// - Parameter holdsIDs: As ``SaveTable/holdsIDs(_:)``.
  func value(in column: Column, holdsIDs: Bool = false) -> SQLValue? {
    switch self {
    case .null: Self.null(in: column)
    case .missing, .json(.null): .null
    case _ where holdsIDs && column.type == .binary: hexadecimalBytes.map { .blob($0) }
    case .json(.string(let text))
    where holdsIDs && (column.type == .double || column.type == .decimal):
      Self.number(text, column)
    case .text(let utf8), .quoted(let utf8): Self.parsed(utf8, column)
    case .json(let json): Self.converted(json.imported(as: column.type), column)
    }
  }

  /// A required text column stores an empty field as the empty text.
  private static func null(in column: Column) -> SQLValue {
    column.isNotNull && column.type == .string ? .text("") : .null
  }

  private static func parsed(_ utf8: UnsafeBufferPointer<UInt8>, _ column: Column) -> SQLValue? {
    switch column.type {
    case .integer: return utf8.importedInteger.map { .integer($0) }
    case .double: return utf8.importedDouble.map { .double($0) }
    case .boolean: return utf8.importedBoolean.map { .integer($0 ? 1 : 0) }
    case .string, .uri: return utf8.isUTF8 ? Value.string(utf8.string).stored(in: column) : nil
    case .decimal: return number(utf8.string, column)
    case .json:
      guard let json = try? JSON(stored: Array(utf8)) else { return nil }
      return converted(json, column)
    case .date, .binary, .uuid: return converted(.string(utf8.string), column)
    }
  }

  private static func number(_ text: String, _ column: Column) -> SQLValue? {
    let number = JSON.number(text)
    return number.double == nil ? nil : converted(number, column)
  }

  /// A decimal keeps its digits: the column's type is exact.
  private static func converted(_ json: JSON, _ column: Column) -> SQLValue? {
    guard let value = Value(json, as: column.type) else { return nil }
    if column.type == .decimal, case .string(let digits) = value { return .text(digits) }
    guard let stored = value.stored(in: column) else { return nil }
    if case .text(let text) = stored, text.utf8.contains(0) { return nil }
    return stored
  }
}
