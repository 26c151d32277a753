// A field of an imported file → its column's stored value, bound to a statement's parameter.
//
// Numbers, text and booleans, which are the great majority, are read from the bytes. Other values
// are converted like the JSON of a save.

import FetchModel
import LiveFetchCSQLite
import SQLComposer

/// A column of the table. A class, because it is much larger than most of its values.
final class ImportedColumn {
  let column: Column
  /// The attribute of a column without a declared type; nil for other columns.
  let untyped: Attribute?
  /// True if there is an `untyped`. To compare that with nil would copy the attribute for each field.
  let isUntyped: Bool
  /// True if the fields are ids of bytes, in hexadecimal digits.
  let isHexadecimal: Bool
  /// True if a string of JSON may be a number, because the fields are ids.
  let takesNumberTexts: Bool

  /// - Parameter holdsIDs: As ``SaveTable/holdsIDs(_:)``.
  init(_ column: Column, untyped: Attribute? = nil, holdsIDs: Bool = false) {
    self.column = column
    self.untyped = untyped
    isUntyped = untyped != nil
    isHexadecimal = holdsIDs && column.type == .binary
    takesNumberTexts = holdsIDs && column.type == .double
  }
}

/// Binds one field.
struct FieldBinder {
  private let statement: OpaquePointer
  private let parameter: Int32
  private let imported: ImportedColumn

  init(_ statement: OpaquePointer, _ parameter: Int32, _ imported: ImportedColumn) {
    self.statement = statement
    self.parameter = parameter
    self.imported = imported
  }

  /// Binds a value that the column's type does not include, unconverted: SQLite columns hold any
  /// value.
  func bindUnconverted(_ field: ImportedField) -> Bool {
    switch field {
    case .missing: return true
    case .null: return bindNull()
    case .json(.null): return sqlite3_bind_null(statement, parameter) == SQLITE_OK
    case .text(let utf8), .quoted(let utf8): return bindText(utf8)
    case .json(let json): return bindUnconverted(json)
    }
  }

  private func bindUnconverted(_ json: JSON) -> Bool {
    switch json {
    case .string(let text): return bindText(text)
    case .number(let text):
      return bind(json, as: Value.untypedInteger(text) == nil ? .double : .integer)
    case .boolean(let isTrue):
      return sqlite3_bind_int64(statement, parameter, isTrue ? 1 : 0) == SQLITE_OK
    default:
      var bytes: [UInt8] = []
      bytes.append(json: json)
      return bindText(String(decoding: bytes, as: UTF8.self))
    }
  }

  private func bindText(_ text: String) -> Bool {
    Statement(pointer: statement).bind(.text(text), at: parameter)
  }

  /// Returns false if the column's type does not include the value. The caller's text must stay
  /// valid until the next step.
  func bind(_ field: ImportedField) -> Bool {
    switch field {
    case .missing: return true
    case .null: return bindNull()
    case .json(.null): return sqlite3_bind_null(statement, parameter) == SQLITE_OK
    case _ where imported.isUntyped: return bindUntyped(field)
    case _ where imported.isHexadecimal: return bindHexadecimal(field)
    case .json(.string(let text)) where imported.takesNumberTexts:
      return bind(.number(text), as: .double, isText: true)
    case .text(let utf8), .quoted(let utf8): return bind(utf8)
    case .json(let json):
      return bind(json.imported(as: imported.column.type), as: imported.column.type)
    }
  }

  /// Stores a number or a text as a save does.
  private func bindUntyped(_ field: ImportedField) -> Bool {
    guard let untyped = imported.untyped, let json = field.untypedJSON,
      let value = Value(json, of: untyped),
      let stored = value.stored(in: imported.column)
    else { return false }
    return Statement(pointer: statement).bind(stored, at: parameter)
  }

  private func bindHexadecimal(_ field: ImportedField) -> Bool {
    guard let bytes = field.hexadecimalBytes else { return false }
    return Statement(pointer: statement).bind(.blob(bytes), at: parameter)
  }

  /// A required text column stores an empty field as the empty text.
  private func bindNull() -> Bool {
    let isText = imported.column.isNotNull && imported.column.type == .string
    return Statement(pointer: statement).bind(isText ? .text("") : .null, at: parameter)
  }

  // MARK: Text

  private func bind(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    switch imported.column.type {
    case .integer: return bindInteger(utf8)
    case .double: return bindDouble(utf8)
    case .string, .uri: return bindText(utf8)
    case .boolean: return bindBoolean(utf8)
    case .decimal: return bind(.number(utf8.string), as: .decimal, isText: true)
    case .json:
      guard let json = try? JSON(stored: Array(utf8)) else { return false }
      return bind(json, as: .json)
    case .date:
      if imported.column.dateFormat == .unixSeconds, bindDouble(utf8) { return true }
      return bind(.string(utf8.string), as: .date)
    case .binary, .uuid: return bind(.string(utf8.string), as: imported.column.type)
    }
  }

  private func bindText(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = utf8.baseAddress, !utf8.isEmpty else {
      return sqlite3_bind_text(statement, parameter, "", 0, transient) == SQLITE_OK
    }
    guard utf8.isUTF8 else { return false }
    return start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
      sqlite3_bind_text64(
        statement, parameter, $0, UInt64(utf8.count), nil, UInt8(SQLITE_UTF8)) == SQLITE_OK
    }
  }

  private func bindInteger(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let integer = utf8.importedInteger else { return false }
    return sqlite3_bind_int64(statement, parameter, integer) == SQLITE_OK
  }

  private func bindDouble(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let double = utf8.importedDouble else { return false }
    return sqlite3_bind_double(statement, parameter, double) == SQLITE_OK
  }

  private func bindBoolean(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let isTrue = utf8.importedBoolean else { return false }
    return sqlite3_bind_int64(statement, parameter, isTrue ? 1 : 0) == SQLITE_OK
  }

  // MARK: JSON

  private func bind(_ json: JSON, as type: AttributeType, isText: Bool = false) -> Bool {
    if isText, json.double == nil { return false }
    guard let value = Value(json, as: type), let stored = value.stored(in: imported.column) else {
      return false
    }
    return Statement(pointer: statement).bind(stored, at: parameter)
  }
}
