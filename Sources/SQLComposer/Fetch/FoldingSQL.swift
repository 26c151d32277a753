// The value that a sort term derives from a column, as SQL with LiveFetch's functions.

import FetchModel

enum FoldingSQL {
  /// Returns `column` without the differences that `options` ignore.
  static func fold(_ column: String, _ options: StringOptions) -> String {
    "livefetch_fold(\(column), \(options.rawValue))"
  }

  /// Returns the initial of a text, or the day, month or year of a date, of a stored value.
  static func derive(
    _ stored: String, _ dateFormat: DateFormat?, _ derivation: OrderTerm.Derivation
  ) -> String {
    switch derivation {
    case .value: stored
    case .initial: "livefetch_initial(\(stored))"
    case .day, .month, .year:
      """
      livefetch_date_part(\(stored), \(length(of: derivation)), \
      \(dateFormat == .unixSeconds ? 1 : 0))
      """
    }
  }

  /// The number of characters of `2024-01-31` that a derivation keeps.
  private static func length(of derivation: OrderTerm.Derivation) -> Int {
    switch derivation {
    case .year: 4
    case .month: 7
    case .value, .initial, .day: 10
    }
  }
}
