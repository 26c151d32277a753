// A field of an imported file → its column's stored value, bound to a statement's parameter.
//
// Numbers, text and booleans, which are the great majority, are read from the bytes. Other values
// are converted like the JSON of a save.

import FetchModel
import LiveFetchCSQLite
import SQLComposer

/// Binds one field.
struct FieldBinder {
  private let statement: OpaquePointer
  private let parameter: Int32
  private let column: Column

  init(_ statement: OpaquePointer, _ parameter: Int32, _ column: Column) {
    self.statement = statement
    self.parameter = parameter
    self.column = column
  }

  /// Binds a value that the column's type does not include, unconverted: SQLite columns hold any
  /// value.
  func bindAsItStands(_ field: ImportedField) -> Bool {
    switch field {
    case .missing: return true
    case .null, .json(.null): return bindNull()
    case .text(let utf8): return bindText(utf8)
    case .json(let json): return bindAsItStands(json)
    }
  }

  private func bindAsItStands(_ json: JSON) -> Bool {
    switch json {
    case .string(let text): return bindText(text)
    case .number: return bind(json, as: json.integer == nil ? .double : .integer)
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
    return true
  }

  /// Returns false if the column's type does not include the value. The caller's text must stay
  /// valid until the next step.
  func bind(_ field: ImportedField) -> Bool {
    switch field {
    case .missing: return true
    case .null: return bindNull()
    case .text(let utf8): return bind(utf8)
    case .json(let json): return bind(json)
    }
  }

  /// A required text column stores an empty field as the empty text.
  private func bindNull() -> Bool {
    if column.isNotNull, column.type == .string {
      sqlite3_bind_text(statement, parameter, "", 0, copiedBytes)
    } else {
      sqlite3_bind_null(statement, parameter)
    }
    return true
  }

  // MARK: Text

  private func bind(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    switch column.type {
    case .integer: return bindInteger(utf8)
    case .double: return bindDouble(utf8)
    case .string, .uri: return bindText(utf8)
    case .boolean: return bindBoolean(utf8)
    case .decimal: return bind(.number(utf8.string), as: .decimal, isText: true)
    case .json:
      guard let json = try? JSON(parsing: Array(utf8)) else { return false }
      return bind(json, as: .json)
    case .date:
      if column.dateFormat == .unixSeconds, bindDouble(utf8) { return true }
      return bind(.string(utf8.string), as: .date)
    case .binary, .uuid: return bind(.string(utf8.string), as: column.type)
    }
  }

  private func bindText(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = utf8.baseAddress, !utf8.isEmpty else {
      return sqlite3_bind_text(statement, parameter, "", 0, copiedBytes) == SQLITE_OK
    }
    guard utf8.isUTF8 else { return false }
    return start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
      sqlite3_bind_text64(
        statement, parameter, $0, UInt64(utf8.count), nil, UInt8(SQLITE_UTF8)) == SQLITE_OK
    }
  }

  private func bindInteger(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    var rest = utf8[...].trimmed
    let isNegative = rest.first == 0x2D
    if isNegative || rest.first == 0x2B { rest = rest.dropFirst() }
    guard (1...18).contains(rest.count) else { return bindWideInteger(utf8) }
    var value: Int64 = 0
    for byte in rest {
      guard byte >= 0x30, byte <= 0x39 else { return bindWideInteger(utf8) }
      value = value &* 10 &+ Int64(byte &- 0x30)
    }
    return sqlite3_bind_int64(statement, parameter, isNegative ? -value : value) == SQLITE_OK
  }

  /// `12.0` and `1e3` are integers as well, as in JSON.
  private func bindWideInteger(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    let text = String(decoding: utf8[...].trimmed, as: UTF8.self)
    guard let integer = JSON.number(text).integer else { return false }
    return sqlite3_bind_int64(statement, parameter, integer) == SQLITE_OK
  }

  private func bindDouble(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    let text = String(decoding: utf8[...].trimmed, as: UTF8.self)
    guard let double = Double(text), !double.isNaN else { return false }
    guard double.isFinite || text.hasSuffix("Infinity") else { return false }
    return sqlite3_bind_double(statement, parameter, double) == SQLITE_OK
  }

  private func bindBoolean(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    let value: Int64
    switch String(decoding: utf8[...].trimmed, as: UTF8.self).lowercased() {
    case "1", "true", "yes", "t", "y": value = 1
    case "0", "false", "no", "f", "n": value = 0
    default: return false
    }
    return sqlite3_bind_int64(statement, parameter, value) == SQLITE_OK
  }

  // MARK: JSON

  /// Text columns accept numbers and booleans as their text, for files whose codes are mostly
  /// digits.
  private func bind(_ json: JSON) -> Bool {
    if json == .null { return bindNull() }
    guard column.type == .string || column.type == .uri else {
      return bind(json, as: column.type)
    }
    switch json {
    case .number(let text): return bind(.string(text), as: column.type)
    case .boolean(let isTrue): return bind(.string(isTrue ? "true" : "false"), as: column.type)
    default: return bind(json, as: column.type)
    }
  }

  private func bind(_ json: JSON, as type: AttributeType, isText: Bool = false) -> Bool {
    if isText, json.double == nil { return false }
    guard let value = Value(json, as: type), let stored = value.stored(in: column) else {
      return false
    }
    Statement(pointer: statement).bind(stored, at: parameter)
    return true
  }
}

extension UnsafeBufferPointer<UInt8> {
  var string: String { String(decoding: self, as: UTF8.self) }

  /// True for UTF-8 without a NUL, at which SQLite would end the text.
  fileprivate var isUTF8: Bool {
    var isPlain = true
    for byte in self where byte >= 0x80 || byte == 0 {
      guard byte != 0 else { return false }
      isPlain = false
      break
    }
    return isPlain || String(validating: self, as: UTF8.self)?.utf8.contains(0) == false
  }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
  /// The bytes without spaces at either end.
  fileprivate var trimmed: Self {
    var slice = self
    while slice.first == 0x20 || slice.first == 0x09 { slice = slice.dropFirst() }
    while slice.last == 0x20 || slice.last == 0x09 { slice = slice.dropLast() }
    return slice
  }
}

extension AttributeType {
  /// A phrase for the values that a field of this type accepts.
  var importExpectation: String {
    switch self {
    case .integer: "an integer of 64 bits"
    case .double, .decimal: "a number"
    case .string, .uri: "text in UTF-8"
    case .boolean: "true or false"
    case .date: "an ISO 8601 date"
    case .binary: "base64"
    case .uuid: "a UUID"
    case .json: "JSON"
    }
  }
}

extension ImportedField {
  /// The value for messages: shortened, in quotes.
  var shown: String {
    switch self {
    case .missing, .null: return "nothing"
    case .text(let utf8):
      let text = String(decoding: utf8.prefix(40), as: UTF8.self)
      return "'\(text)\(utf8.count > 40 ? "…" : "")'"
    case .json(.number(let text)):
      return String(text.prefix(40)) + (text.utf8.count > 40 ? "…" : "")
    case .json(let json): return json.kind
    }
  }
}
