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

  /// The nearest instant with whole microseconds; this one if it is the last of all seconds.
  public var roundedToMicroseconds: Instant {
    let microseconds = (nanoseconds + 500) / 1_000
    guard microseconds == 1_000_000 else {
      return Instant(seconds: seconds, nanoseconds: microseconds * 1_000)
    }
    let (next, overflow) = seconds.addingReportingOverflow(1)
    return overflow ? self : Instant(seconds: next)
  }

  /// Parses the text of a column of `format`, or its comparison key; nil if it is not a date.
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

  /// Returns the text that a column of `format` stores, or the seconds in digits.
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
    let (year, month, day) = Calendar.date(days: days)
    return (year, month, day, second)
  }
}

extension [UInt8] {
  /// Appends `date` as a JSON string: `"2024-01-31T10:00:00Z"`.
  public mutating func append(json date: Instant) {
    append(0x22)
    append(date: date, as: .iso8601)
    append(0x22)
  }

  /// Appends the text that a column of `format` stores for `date`.
  public mutating func append(date: Instant, as format: DateFormat) {
    let fields = date.calendarFields
    switch format {
    case .unixSeconds:
      appendSeconds(of: date)
    case .day:
      appendDay(fields.year, fields.month, fields.day)
    case .iso8601, .sqlText:
      appendDay(fields.year, fields.month, fields.day)
      append(format == .iso8601 ? 0x54 : 0x20)
      appendTime(fields.second)
      appendFraction(date.nanoseconds)
      if format == .iso8601 { append(0x5A) }
    }
  }

  private mutating func appendSeconds(of date: Instant) {
    guard date.nanoseconds > 0, date.seconds < 0 else {
      append(json: date.seconds)
      appendFraction(date.nanoseconds)
      return
    }
    if date.seconds == -1 { append(0x2D) }
    append(json: date.seconds + 1)
    appendFraction(1_000_000_000 &- date.nanoseconds)
  }

  private mutating func appendDay(_ year: Int64, _ month: Int, _ day: Int) {
    if year < 0 || year > 9999 { append(year < 0 ? 0x2D : 0x2B) }
    let digits = String(year.magnitude)
    for _ in 0..<Swift.max(0, 4 - digits.utf8.count) { append(0x30) }
    append(contentsOf: digits.utf8)
    append(0x2D)
    appendTwoDigits(month)
    append(0x2D)
    appendTwoDigits(day)
  }

  private mutating func appendTime(_ second: Int64) {
    let second = Int(second)
    appendTwoDigits(second / 3600)
    append(0x3A)
    appendTwoDigits(second / 60 % 60)
    append(0x3A)
    appendTwoDigits(second % 60)
  }

  private mutating func appendFraction(_ nanoseconds: Int32) {
    guard nanoseconds > 0, nanoseconds < 1_000_000_000 else { return }
    append(0x2E)
    var rest = nanoseconds
    var unit: Int32 = 100_000_000
    while rest > 0 {
      append(0x30 &+ UInt8(rest / unit))
      rest %= unit
      unit /= 10
    }
  }

  private mutating func appendTwoDigits(_ number: Int) {
    append(0x30 &+ UInt8(truncatingIfNeeded: number / 10 % 10))
    append(0x30 &+ UInt8(truncatingIfNeeded: number % 10))
  }
}

/// Days since 1970 ↔ dates. Years begin in March, so that the leap day is the last day of a year;
/// 400 years have 146,097 days.
private enum Calendar {
  static func date(days: Int64) -> (year: Int64, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let day = Int(dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    let month = Int(marchMonth < 10 ? marchMonth + 3 : marchMonth - 9)
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  /// The year's magnitude is below 10^12, so nothing overflows.
  static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  static func daysInMonth(year: Int64, month: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

private struct ISO8601Reader {
  let utf8: UnsafeBufferPointer<UInt8>
  var offset = 0

  init(utf8: UnsafeBufferPointer<UInt8>) { self.utf8 = utf8 }

  mutating func readInstant() -> Instant? {
    guard let days = readDays() else { return nil }
    var second: Int64 = 0
    var nanoseconds: Int32 = 0
    if consume(0x54) || consume(0x74) || consume(0x20) {
      guard let time = readTime(), let shift = readOffset() else { return nil }
      second = time.second - shift
      nanoseconds = time.nanoseconds
    }
    guard offset == utf8.count else { return nil }
    // Only part of the earliest representable day can be counted in seconds, so it is counted from
    // its end.
    let (day, rest) = days < 0 ? (days + 1, second - 86_400) : (days, second)
    let (start, overflow) = day.multipliedReportingOverflow(by: 86_400)
    let (total, overflow2) = start.addingReportingOverflow(rest)
    return overflow || overflow2 ? nil : Instant(seconds: total, nanoseconds: nanoseconds)
  }

  private mutating func consume(_ byte: UInt8) -> Bool {
    guard offset < utf8.count, utf8[offset] == byte else { return false }
    offset += 1
    return true
  }

  private mutating func readDigits(_ counts: ClosedRange<Int>) -> Int64? {
    let start = offset
    var number: Int64 = 0
    while offset < utf8.count, offset - start < counts.upperBound,
      utf8[offset] >= 0x30, utf8[offset] <= 0x39
    {
      number = number * 10 + Int64(utf8[offset] - 0x30)
      offset += 1
    }
    return offset - start >= counts.lowerBound ? number : nil
  }

  private mutating func readTwoDigits(_ range: ClosedRange<Int64>) -> Int64? {
    guard let number = readDigits(2...2), range.contains(number) else { return nil }
    return number
  }

  private mutating func readDays() -> Int64? {
    let isNegative = consume(0x2D)
    let isSigned = isNegative || consume(0x2B)
    guard let digits = readDigits(isSigned ? 4...12 : 4...4) else { return nil }
    let year = isNegative ? -digits : digits
    guard consume(0x2D), let month = readTwoDigits(1...12), consume(0x2D),
      let day = readTwoDigits(1...31), day <= Calendar.daysInMonth(year: year, month: month)
    else { return nil }
    return Calendar.days(year: year, month: month, day: day)
  }

  private mutating func readTime() -> (second: Int64, nanoseconds: Int32)? {
    guard let hour = readTwoDigits(0...24), consume(0x3A), let minute = readTwoDigits(0...59) else {
      return nil
    }
    var second: Int64 = 0
    var nanoseconds: Int32 = 0
    if consume(0x3A) {
      // A leap second is the first second of the next minute.
      guard let digits = readTwoDigits(0...60), let fraction = readFraction() else { return nil }
      second = digits
      nanoseconds = fraction
    }
    // 24:00 is the start of the next day, and no later time is valid.
    guard hour < 24 || (minute == 0 && second == 0 && nanoseconds == 0) else { return nil }
    return (hour * 3600 + minute * 60 + second, nanoseconds)
  }

  private mutating func readFraction() -> Int32? {
    guard consume(0x2E) || consume(0x2C) else { return 0 }
    let start = offset
    guard var fraction = readDigits(1...9) else { return nil }
    for _ in (offset - start)..<9 { fraction *= 10 }
    while offset < utf8.count, utf8[offset] >= 0x30, utf8[offset] <= 0x39 { offset += 1 }
    return Int32(fraction)
  }

  /// Returns the offset from UTC in seconds; 0 without an offset.
  private mutating func readOffset() -> Int64? {
    if offset == utf8.count || consume(0x5A) || consume(0x7A) { return 0 }
    // The format of Date's description: 2001-01-01 00:00:00 +0000.
    if offset + 1 < utf8.count, utf8[offset] == 0x20, [0x2B, 0x2D].contains(utf8[offset + 1]) {
      offset += 1
    }
    let isWest = consume(0x2D)
    guard isWest || consume(0x2B), let hour = readTwoDigits(0...23) else { return nil }
    var minute: Int64 = 0
    if offset < utf8.count {
      _ = consume(0x3A)
      guard let digits = readTwoDigits(0...59) else { return nil }
      minute = digits
    }
    let shift = hour * 3600 + minute * 60
    return isWest ? -shift : shift
  }
}
