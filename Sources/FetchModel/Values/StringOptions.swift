// What comparing, searching and sorting text may overlook.

/// The letters in `[cd]` behind an operator, or behind a sort term's colon.
public struct StringOptions: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `c`: Unicode's full case folding, root locale.
  public static let caseInsensitive = StringOptions(rawValue: 1)
  /// `d`: without combining marks, after canonical decomposition.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
  /// `n`: code points as they are. That is how text compares anyway, so it changes nothing.
  public static let normalized = StringOptions(rawValue: 4)

  /// The options that change what is compared.
  public var folding: StringOptions { intersection([.caseInsensitive, .diacriticInsensitive]) }

  /// The options that change the text itself where case is compared character by character.
  public var diacritics: StringOptions { intersection(.diacriticInsensitive) }
}
