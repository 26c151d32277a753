// The differences that comparing, searching and sorting text ignore.

/// The letters in `[cd]` after an operator, or after a sort term's colon.
public struct StringOptions: OptionSet, Sendable, Hashable {
  /// The options as bits.
  public let rawValue: UInt8
  /// Makes options from their bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `c`: Unicode's full case folding in the root locale.
  public static let caseInsensitive = StringOptions(rawValue: 1)
  /// `d`: ignores combining marks, after canonical decomposition.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
  /// `n`: compares code points. This is the default, so the option has no effect.
  public static let normalized = StringOptions(rawValue: 4)

  /// The options that change the result of a comparison.
  public var folding: StringOptions { intersection([.caseInsensitive, .diacriticInsensitive]) }

  /// These options without `c` and `n`: for a regular expression, which ignores case itself.
  public var diacritics: StringOptions { intersection(.diacriticInsensitive) }
}
