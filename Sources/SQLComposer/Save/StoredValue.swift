// A typed value and its column → the value that its database stores.

import FetchModel

extension Value {
  /// Returns the value that `column` stores; nil if it cannot represent this value exactly.
  ///
  /// Booleans become 0 and 1, dates and UUIDs use the column's encoding, and JSON becomes text. A
  /// decimal becomes a number in a numeric column if the number is exact, and its digits in a text
  /// column.
  package func stored(in column: Column) -> SQLValue? {
    switch self {
    case .null: .null
    case .integer(let integer) where column.input == .unsigned && integer < 0: nil
    case .string(let text) where column.input == .short && text.utf8.count > 63: nil
    case .string(let text) where column.input == .byte && text.utf8.count > 1: nil
    case .boolean(let isTrue): .integer(isTrue ? 1 : 0)
    case .integer(let integer):
      column.affinity == .text ? .text(integer.description) : .integer(integer)
    case .double(let double): column.affinity == .text ? .digits(of: double) : .double(double)
    case .string(let text): Self.stored(text, in: column)
    case .date(let date): .date(date, column)
    case .binary(let bytes): .blob(bytes)
    case .json(let text) where column.input == .array:
      (try? JSON(parsing: Array(text.utf8))).flatMap(ArrayLiteral.text(_:)).map { .text($0) }
    case .json(let text) where column.input == .jsonArray:
      (try? JSON(parsing: Array(text.utf8))).flatMap(ArrayLiteral.text(ofJSON:)).map { .text($0) }
    case .json(let text): .text(text)
    case .id(.integer(let id)): .integer(id)
    case .id(.text(let id)): .text(id)
    }
  }

  private static func stored(_ text: String, in column: Column) -> SQLValue? {
    if column.input == .digits { return .text(text) }
    if column.type == .decimal { return .decimal(text, column.affinity) }
    guard column.encoding == .uuid(.bytes), let bytes = UUIDText.bytes(of: text.utf8) else {
      return .text(text)
    }
    return .blob(bytes)
  }
}

extension SQLValue {
  fileprivate static func digits(of double: Double) -> SQLValue {
    var digits: [UInt8] = []
    digits.append(json: double)
    return .text(String(decoding: digits, as: UTF8.self))
  }

  fileprivate static func decimal(_ text: String, _ affinity: Affinity) -> SQLValue? {
    guard affinity != .text, affinity != .blob else { return .text(text) }
    guard let double = Double(text), double.isFinite, let exact = DecimalDigits(text),
      exact == DecimalDigits(double.description)
    else { return nil }
    return .double(double)
  }

  /// Returns nil for a date with a time of day if the column stores whole days. A column of seconds
  /// stores the nearest microsecond, as PostgreSQL's timestamps do.
  fileprivate static func date(_ date: Instant, _ column: Column) -> SQLValue? {
    let isMidnight = date.seconds % 86_400 == 0 && date.nanoseconds == 0
    if column.dateFormat == .day || column.input == .days, !isMidnight { return nil }
    guard column.dateFormat == .unixSeconds else {
      guard case .date(let style)? = column.encoding else {
        return .text(date.stored(as: column.dateFormat ?? .iso8601))
      }
      return .text(style.stored(date))
    }
    let rounded = date.roundedToMicroseconds
    return rounded.nanoseconds == 0
      ? .integer(rounded.seconds) : .double(rounded.secondsSince1970)
  }
}

/// A decimal number independent of its notation: `1.50`, `15e-1` and `1.5` are equal.
package struct DecimalDigits: Equatable {
  private let isNegative: Bool
  /// The digits without leading and trailing zeros; empty for zero.
  private let digits: [UInt8]
  /// The power of ten of the last digit.
  private let exponent: Int

  /// The number as a JSON number.
  package var text: String {
    digits.isEmpty
      ? "0"
      : "\(isNegative ? "-" : "")\(String(decoding: digits, as: UTF8.self))e\(exponent)"
  }

  /// Reads a JSON number; returns nil if its exponent is out of range.
  package init?(_ text: String) {
    let parts = text.utf8.split(maxSplits: 1) { $0 == 0x65 || $0 == 0x45 }
    guard let mantissa = parts.first else { return nil }
    let shift = parts.count > 1 ? Int(Substring(parts[1])) : 0
    guard let shift, shift.magnitude < 1_000_000 else { return nil }
    var digits = mantissa.filter { $0 >= 0x30 && $0 <= 0x39 }
    let fraction = mantissa.firstIndex(of: 0x2E).map { mantissa[$0...].count - 1 } ?? 0
    var exponent = shift - fraction
    while digits.last == 0x30 {
      digits.removeLast()
      exponent += 1
    }
    self.digits = Array(digits.drop { $0 == 0x30 })
    isNegative = mantissa.first == 0x2D && !self.digits.isEmpty
    self.exponent = self.digits.isEmpty ? 0 : exponent
  }
}
