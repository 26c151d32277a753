// `90s`, `15m`, `1h`, `7d` or `2w` → seconds.

/// Parses durations of flags and settings.
enum DurationText {
  private static let units: [Character: Double] = [
    "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800,
  ]

  /// Returns the seconds of a number with a unit; nil if the unit is missing or the duration is not
  /// positive.
  static func seconds(of text: String) -> Double? {
    guard let unit = text.last.flatMap({ units[$0] }),
      let number = Double(decimal: String(text.dropLast())), number > 0, number.isFinite
    else { return nil }
    return number * unit
  }
}
