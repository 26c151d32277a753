// Instants ↔ ISO 8601 text: proleptic Gregorian calendar, UTC. Accepts any bytes and any instant
// without trapping.

extension Instant {
  /// Parses a date: `2024-01-31`, `2024-01-31T10:00`, `2024-01-31 10:00:00.25+02:00`.
  ///
  /// A text without an offset is in UTC. Fraction digits beyond the ninth are dropped. Years with
  /// more than four digits need a sign. nil if the text is not a valid date.
  public init?(iso8601 text: String) {
    var text = text
    guard let instant = text.withUTF8({ Instant(iso8601: $0) }) else { return nil }
    self = instant
  }

  /// Parses a date from UTF-8; see ``init(iso8601:)-swift.init``.
  public init?(iso8601 utf8: UnsafeBufferPointer<UInt8>) {
    var reader = ISO8601Reader(utf8: utf8)
    guard let instant = reader.readInstant() else { return nil }
    self = instant
  }

  /// Seconds from 1970 to 2001, the reference date of Core Data.
  package static let referenceDate = 978_307_200.0

  /// The nearest double.
  package var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

  /// The instant this many seconds after 1970, with the fewest fraction digits that lead back to the
  /// same double, at most nine; nil if it is out of range.
  ///
  /// A double of our time holds six digits: the one nearest to 1700000000.1 is 1700000000.0999999046.
  public init?(secondsSince1970 seconds: Double) {
    let floor = seconds.rounded(.down)
    guard let whole = Int64(exactly: floor) else { return nil }
    var unit: Int32 = 1_000_000_000
    var nanoseconds = Self.nanoseconds(seconds - floor, unit: unit)
    while unit > 1, floor + Double(nanoseconds) / 1e9 != seconds {
      unit /= 10
      nanoseconds = Self.nanoseconds(seconds - floor, unit: unit)
    }
    guard nanoseconds == 1_000_000_000 else {
      self.init(seconds: whole, nanoseconds: nanoseconds)
      return
    }
    let (next, overflow) = whole.addingReportingOverflow(1)
    guard !overflow else { return nil }
    self.init(seconds: next)
  }

  /// Returns a fraction of a second, rounded to a multiple of `unit` nanoseconds: 0...1_000_000_000.
  private static func nanoseconds(_ fraction: Double, unit: Int32) -> Int32 {
    Int32((fraction * (1e9 / Double(unit))).rounded()) * unit
  }

  /// The nearest instant with whole microseconds; unchanged if rounding up would exceed the largest
  /// instant.
  public var roundedToMicroseconds: Instant {
    let microseconds = (nanoseconds + 500) / 1_000
    guard microseconds == 1_000_000 else {
      return Instant(seconds: seconds, nanoseconds: microseconds * 1_000)
    }
    let (next, overflow) = seconds.addingReportingOverflow(1)
    return overflow ? self : Instant(seconds: next)
  }

  /// Parses the text of a column of `format`, or its comparison key; nil if it is not a date, and for
  /// `.unixSeconds`, whose columns hold numbers.
  public init?(stored utf8: UnsafeBufferPointer<UInt8>, as format: DateFormat) {
    guard format != .unixSeconds else { return nil }
    self.init(comparable: utf8)
  }

  /// `2024-01-31T10:00:00Z`, with a fraction only if it is not zero.
  public var iso8601: String { String(decoding: text(.iso8601), as: UTF8.self) }

  /// `2024-01-31T10:00:00.120Z`, with three digits after the point always, for the lines of a log.
  public var iso8601Milliseconds: String {
    let digits = String(1_000 + nanoseconds / 1_000_000).dropFirst()
    return "\(Instant(seconds: seconds).iso8601.dropLast()).\(digits)Z"
  }

  /// Returns the text that a column of `format` stores; for `.unixSeconds` the decimal number.
  public func stored(as format: DateFormat) -> String {
    String(decoding: text(format), as: UTF8.self)
  }

  private func text(_ format: DateFormat) -> [UInt8] {
    var text: [UInt8] = []
    text.append(date: self, as: format)
    return text
  }

  /// Year, month (1...12), day (1...31) and second of the day (0..<86,400), in UTC.
  public var calendarFields: (year: Int64, month: Int, day: Int, second: Int64) {
    var days = seconds / 86_400
    var second = seconds % 86_400
    if second < 0 {
      second += 86_400
      days -= 1
    }
    let (year, month, day) = GregorianCalendar.date(days: days)
    return (year, month, day, second)
  }
}
