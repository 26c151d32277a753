// Instants ↔ the text of a column of dates: in the column's own style, and in an extended form
// whose bytewise order is the order of the instants.
//
//     style              stored                        extended
//     T, 0 digits, Z     2024-01-31T10:00:00Z          2024-01-31T10:00:00Z25 for .25
//     T, 3 digits, Z     2024-01-31T10:00:00.000Z      2024-01-31T10:00:00.000Z5
//     day                2024-01-31                    2024-01-31T10:00:00
//
// Digits that the style does not include follow the text. Years outside 0...9999 begin with `:` or
// `!`, which sort after and before every digit.

/// The text format of a column's dates.
public struct DateStyle: Sendable, Hashable {
  /// The ending of a text.
  public enum Ending: Int64, Sendable, Hashable {
    case nothing, z
    /// `+00:00`
    case offset
  }

  /// The storage format of the column's dates.
  public let format: DateFormat
  /// The number of fraction digits that are always written, 0...9.
  public let fractionDigits: Int
  /// The time zone's notation at the end.
  public let ending: Ending

  /// The usual style of a format.
  public init(_ format: DateFormat) {
    self.format = format
    fractionDigits = 0
    ending = format == .iso8601 ? .z : .nothing
  }

  private init(_ format: DateFormat, _ fractionDigits: Int, _ ending: Ending) {
    self.format = format
    self.fractionDigits = fractionDigits
    self.ending = ending
  }

  /// The style of a column's first text.
  public init(of text: String, _ format: DateFormat) {
    let utf8 = Array(text.utf8)
    guard format != .day, utf8.count >= 19, Instant(iso8601: text) != nil else {
      self.init(format)
      return
    }
    var end = 19
    if utf8.count > 19, utf8[19] == 0x2E {
      end = utf8[20...].firstIndex { $0 < 0x30 || $0 > 0x39 } ?? utf8.count
    }
    self.init(format, end > 19 ? min(end - 20, 9) : 0, Self.ending(utf8[end...]))
  }

  private static func ending(_ rest: ArraySlice<UInt8>) -> Ending {
    if rest.isEmpty { return .nothing }
    return rest.elementsEqual("+00:00".utf8) ? .offset : .z
  }

  var code: Int64 {
    let kind: Int64 = format == .day ? 0 : format == .sqlText ? 1 : 2
    return kind + 4 * ending.rawValue + 16 * Int64(fractionDigits)
  }

  init(code: Int64) {
    self.init(
      code & 3 == 0 ? .day : code & 3 == 1 ? .sqlText : .iso8601, min(Int(code >> 4 & 15), 9),
      Ending(rawValue: code >> 2 & 3) ?? .z)
  }
}

extension DateStyle {
  /// Returns the ISO 8601 text that a column of this style stores for `date`, in the column's style
  /// if that is exact.
  public func stored(_ date: Instant) -> String {
    if format == .day { return date.stored(as: .day) }
    var text = Array(date.stored(as: .sqlText).utf8)
    if let dot = text.firstIndex(of: 0x2E) { text.removeSubrange(dot...) }
    if format == .iso8601, let space = text.firstIndex(of: 0x20) { text[space] = 0x54 }
    let digits = Self.digits(date.nanoseconds)
    var digitCount = 9
    while digitCount > fractionDigits, digits[digitCount - 1] == 0x30 { digitCount -= 1 }
    if digitCount > 0 {
      text.append(0x2E)
      text.append(contentsOf: digits[..<digitCount])
    }
    append(ending, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns text whose bytewise order is the order of instants. Within one style, equal instants
  /// have equal texts.
  public func comparable(_ date: Instant) -> [UInt8] {
    let fields = date.calendarFields
    var text: [UInt8] = []
    text.reserveCapacity(32)
    appendDay(fields.year, fields.month, fields.day, to: &text)
    let isMidnight = fields.second == 0 && date.nanoseconds == 0
    if format == .day, isMidnight { return text }
    text.append(format == .sqlText ? 0x20 : 0x54)
    text.appendTime(fields.second)
    let digits = Self.digits(date.nanoseconds)
    if fractionDigits > 0 {
      text.append(0x2E)
      text.append(contentsOf: digits[..<fractionDigits])
    }
    append(ending, to: &text)
    if date.nanoseconds != 0 { appendRest(digits, to: &text) }
    return text
  }

  private func appendRest(_ digits: [UInt8], to text: inout [UInt8]) {
    guard let last = digits.lastIndex(where: { $0 != 0x30 }), last >= fractionDigits else { return }
    text.append(contentsOf: digits[fractionDigits...last])
  }

  private func appendDay(_ year: Int64, _ month: Int, _ day: Int, to text: inout [UInt8]) {
    if year > 9999 { text.append(0x3A) }
    if year < 0 { text.append(0x21) }
    if (0...9999).contains(year) {
      Self.append(year, digits: 4, to: &text)
    } else {
      Self.append(year < 0 ? 1_000_000_000_000 + year : year, digits: 12, to: &text)
    }
    text.append(0x2D)
    text.appendTwoDigits(month)
    text.append(0x2D)
    text.appendTwoDigits(day)
  }

  private func append(_ ending: Ending, to text: inout [UInt8]) {
    switch ending {
    case .nothing: break
    case .z: text.append(0x5A)
    case .offset: text.append(contentsOf: "+00:00".utf8)
    }
  }

  private static func append(_ number: Int64, digits: Int, to text: inout [UInt8]) {
    let start = text.count
    var rest = number
    for _ in 0..<digits {
      text.insert(0x30 &+ UInt8(truncatingIfNeeded: rest % 10), at: start)
      rest /= 10
    }
  }

  /// Returns the nine digits of a fraction.
  private static func digits(_ nanoseconds: Int32) -> [UInt8] {
    var digits: [UInt8] = []
    append(Int64(max(0, nanoseconds)), digits: 9, to: &digits)
    return digits
  }
}

extension Instant {
  /// Parses an ISO 8601 date, or a result of ``DateStyle/comparable(_:)`` in any style.
  public init?(comparable utf8: UnsafeBufferPointer<UInt8>) {
    if let date = Instant(iso8601: utf8) {
      self = date
      return
    }
    var text = Array(utf8)
    guard let first = text.first, Self.restoreYear(first, &text) else { return nil }
    // Digits after the ending belong to the fraction.
    guard let time = text.firstIndex(where: { $0 == 0x54 || $0 == 0x20 }), text.count >= time + 9
    else {
      self.init(iso8601: text)
      return
    }
    var digits = text[(time + 9)...]
    text.removeSubrange((time + 9)...)
    for ending in ["Z", "+00:00"] {
      guard let place = digits.firstIndex(of: Array(ending.utf8)[0]),
        digits[place...].starts(with: ending.utf8)
      else { continue }
      digits.removeSubrange(place..<(place + ending.utf8.count))
    }
    if digits.first == 0x2E { digits.removeFirst() }
    guard digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    if !digits.isEmpty { text += [0x2E] + digits }
    self.init(iso8601: text)
  }

  private init?(iso8601 utf8: [UInt8]) {
    guard let date = utf8.withUnsafeBufferPointer({ Instant(iso8601: $0) }) else { return nil }
    self = date
  }

  /// Converts `:000000012024-…` to `+000000012024-…`; returns false if the twelve digits are not a
  /// year.
  private static func restoreYear(_ first: UInt8, _ text: inout [UInt8]) -> Bool {
    guard first == 0x3A || first == 0x21 else { return true }
    guard text.count > 13, text[13] == 0x2D,
      let year = Int64(String(decoding: text[1...12], as: UTF8.self))
    else { return false }
    if first == 0x3A {
      text[0] = 0x2B
    } else {
      text[0] = 0x2D
      let digits = String(1_000_000_000_000 - year)
      text.replaceSubrange(
        1...12, with: Array(repeating: 0x30, count: max(0, 12 - digits.utf8.count)) + digits.utf8)
    }
    return true
  }
}
