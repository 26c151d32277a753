// A string or pattern (BEGINSWITH, ENDSWITH, CONTAINS, LIKE, MATCHES) → a prepared search, which
// tests texts. The pattern is folded and compiled once. The stores' SQL functions and the evaluator
// share it.

import Patterns

/// A prepared search for a string or pattern in texts.
public struct TextSearch: Sendable {
  private enum Kind: Sendable {
    case begins([UInt8])
    case ends([UInt8])
    case contains(ByteSearch)
    case like(LikePattern)
    /// LIKE with `[c]`, and its variant for texts in which one character folds to several.
    case likeInAnyCase(LikePattern, RegularExpression)
    case matches(RegularExpression)
    case nothing
  }

  /// The largest size of a pattern of LIKE or MATCHES, in bytes.
  public static let maxPatternBytes = 64 << 10

  private let kind: Kind
  private let options: StringOptions

  /// Prepares a search for a text or a pattern. O(length of `pattern`) for texts.
  ///
  /// - Parameters:
  ///   - pattern: the text or the pattern to find, as UTF-8. An empty text of `beginsWith`, `endsWith` or
  ///     `contains` is found nowhere, nor is a pattern that is invalid or longer than
  ///     ``maxPatternBytes``.
  ///   - relation: `beginsWith`, `endsWith`, `contains`, `like` or `matches`; nothing is found
  ///     under any other.
  ///   - isCancelled: called now and then for a long `pattern`. Once it has returned true, the results
  ///     of the search are unspecified.
  public init(
    _ pattern: UnsafeBufferPointer<UInt8>, _ relation: Comparison.Relation,
    _ options: StringOptions, isCancelled: () -> Bool = { false }
  ) {
    // The regular expression ignores case, so that only marks are removed here.
    self.options = relation == .matches ? options.diacritics : options
    guard pattern.count <= Self.maxPatternBytes || ![.like, .matches].contains(relation) else {
      kind = .nothing
      return
    }
    let folded = Folding.fold(pattern, self.options, isCancelled: isCancelled)
    switch relation {
    case .beginsWith: kind = folded.isEmpty ? .nothing : .begins(folded)
    case .endsWith: kind = folded.isEmpty ? .nothing : .ends(folded)
    case .contains: kind = folded.isEmpty ? .nothing : .contains(ByteSearch(folded))
    case .like: kind = Self.like(pattern, folded, options)
    case .matches:
      let expression = try? RegularExpression(
        String(decoding: folded, as: UTF8.self), ignoresCase: options.contains(.caseInsensitive))
      kind = expression.map { .matches($0) } ?? .nothing
    default: kind = .nothing
    }
  }

  /// Returns the search for a pattern of LIKE: a plain search if the pattern allows it.
  private static func like(
    _ pattern: UnsafeBufferPointer<UInt8>, _ folded: [UInt8], _ options: StringOptions
  ) -> Kind {
    switch LikePattern.simplified(String(decoding: folded, as: UTF8.self)) {
    case (.beginsWith, let text)?: return .begins(Array(text.utf8))
    case (.endsWith, let text)?: return .ends(Array(text.utf8))
    case (.contains, let text)?: return .contains(ByteSearch(Array(text.utf8)))
    default: break
    }
    let like = LikePattern(String(decoding: folded, as: UTF8.self))
    guard options.contains(.caseInsensitive) else { return .like(like) }
    // `?` matches one character. A text in which case folding makes two of one is therefore matched with
    // its case, by an expression that ignores case.
    let caseKept = Folding.fold(String(decoding: pattern, as: UTF8.self), options.diacritics)
    let expression = LikePattern(caseKept.precomposedText).expression
    return expression.map { .likeInAnyCase(like, $0) } ?? .like(like)
  }

  /// Prepares a search for a text or a pattern, as ``init(_:_:_:isCancelled:)`` does.
  public init(_ pattern: String, _ relation: Comparison.Relation, _ options: StringOptions) {
    var pattern = pattern
    self = pattern.withUTF8 { TextSearch($0, relation, options) }
  }

  /// True if `text`, which is UTF-8, contains or matches the pattern.
  ///
  /// - Parameter isCancelled: called now and then for a long text; if it returns true, the result is
  ///   false.
  public func matches(
    _ text: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool = { false }
  ) -> Bool {
    if options.folding.isEmpty { return matches(folded: text, isCancelled) }
    if case .likeInAnyCase(_, let expression) = kind,
      Folding.expands(text, isCancelled: isCancelled)
    {
      let caseKept = Folding.fold(text, options.diacritics, isCancelled: isCancelled)
      var composed = String(decoding: caseKept, as: UTF8.self).precomposedText
      return composed.withUTF8 { expression.matches($0, isCancelled: isCancelled) }
    }
    let ignoresMarks = options.contains(.diacriticInsensitive)
    return Folding.fold(text, options, isCancelled: isCancelled).withUnsafeBufferPointer { folded in
      matches(folded: folded, isCancelled) { range in
        ignoresMarks || CombiningMarks.areWhole(range, in: folded)
      }
    }
  }

  /// True if `text` contains or matches the pattern.
  public func matches(_ text: String, isCancelled: () -> Bool = { false }) -> Bool {
    var text = text
    return text.withUTF8 { matches($0, isCancelled: isCancelled) }
  }

  /// Tests a text that is folded, or needs no folding.
  ///
  /// - Parameter isWhole: called with the range of an occurrence; returns false if it begins or ends
  ///   between a letter and its combining marks, whether or not there is a composed form.
  private func matches(
    folded text: UnsafeBufferPointer<UInt8>, _ isCancelled: () -> Bool,
    where isWhole: (Range<Int>) -> Bool = { _ in true }
  ) -> Bool {
    switch kind {
    case .begins(let prefix): text.starts(with: prefix) && isWhole(0..<prefix.count)
    case .ends(let suffix):
      text.count >= suffix.count && text.suffix(suffix.count).elementsEqual(suffix)
        && isWhole(text.count - suffix.count..<text.count)
    case .contains(let part): part.isFound(in: text, isCancelled: isCancelled, where: isWhole)
    case .like(let pattern), .likeInAnyCase(let pattern, _):
      pattern.matches(text, isCancelled: isCancelled)
    case .matches(let expression): expression.matches(text, isCancelled: isCancelled)
    case .nothing: false
    }
  }
}
