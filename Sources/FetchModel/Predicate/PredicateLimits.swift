// The limits of a predicate, which bound its memory, its processor time and the depth of recursion.

/// The limits of a predicate, checked before it is resolved.
public enum PredicateLimits {
  /// Bytes of text.
  public static let length = 65_536
  /// Levels of nesting, AND and OR chains counting as one.
  public static let depth = 64
  /// Comparisons, negations, operations and calls. Constants, key paths and the chains of AND and
  /// OR do not count.
  public static let nodes = 1_000
  /// Values in lists and array arguments of the whole predicate.
  public static let values = 10_000
  /// Open brackets and prefixes; bounds the parser's recursion.
  static let nesting = 160
  /// Operations that are repeated because a calculation is compared with several non-constant
  /// values.
  static let copies = 5_000
}
