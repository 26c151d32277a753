// ISO 8601 text → instant. Accepts any bytes without trapping.

/// Reads one date from UTF-8; ``Instant/init(iso8601:)-swift.init`` lists the formats.
struct ISO8601Reader {
  let utf8: UnsafeBufferPointer<UInt8>
  var offset = 0

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
      let day = readTwoDigits(1...31),
      day <= GregorianCalendar.daysInMonth(year: year, month: month)
    else { return nil }
    return GregorianCalendar.days(year: year, month: month, day: day)
  }

  private mutating func readTime() -> (second: Int64, nanoseconds: Int32)? {
    guard let hour = readTwoDigits(0...24), consume(0x3A), let minute = readTwoDigits(0...59) else {
      return nil
    }
    var second: Int64 = 0
    var nanoseconds: Int32 = 0
    if consume(0x3A) {
      // `:60` is the first second of the next minute. Leap seconds are not in a table, so every
      // minute may have one.
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
