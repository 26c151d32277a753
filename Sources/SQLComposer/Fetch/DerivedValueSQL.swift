// SQL for the values that a sort term or a function of a predicate derives from a column, with
// LiveFetch's functions.

import FetchModel

enum DerivedValueSQL {
  /// Returns SQL for the text of `column` without the differences that `options` ignore.
  static func folded(_ column: String, ignoring options: StringOptions) -> String {
    "livefetch_fold(\(column), \(options.rawValue))"
  }

  /// Returns SQL for the initial of a stored text, or the day, month or year of a stored date.
  ///
  /// - Parameter dateFormat: The format in which dates are stored; nil for ISO 8601.
  static func derived(
    _ derivation: OrderTerm.Derivation, from stored: String, dateFormat: DateFormat?
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
