// Instants → the text that columns store and responses contain.

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

  /// An instant has its seconds rounded down: -1.25 s are -2 s and 750,000,000 ns.
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

  /// Years before 0 and after 9999 have a sign, as ISO 8601 requires.
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

  /// Appends `10:00:00`.
  ///
  /// - Parameter second: the seconds since midnight.
  mutating func appendTime(_ second: Int64) {
    let second = Int(second)
    appendTwoDigits(second / 3600)
    append(0x3A)
    appendTwoDigits(second / 60 % 60)
    append(0x3A)
    appendTwoDigits(second % 60)
  }

  /// Appends a point and the decimals without zeros at their end; nothing for 0.
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

  mutating func appendTwoDigits(_ number: Int) {
    append(0x30 &+ UInt8(truncatingIfNeeded: number / 10 % 10))
    append(0x30 &+ UInt8(truncatingIfNeeded: number % 10))
  }
}
