// A position in a text → what the assertions of a pattern test there (word and cluster boundaries,
// line ends).

import Bytes

/// A position between two scalars of a text. It begins before the first scalar; ``advance()`` moves
/// it by one.
struct MatchContext {
  private(set) var previous: Unicode.Scalar?
  private(set) var next: Unicode.Scalar?
  /// The text after ``next``.
  private var rest: ScalarReader
  private let needs: RegularExpression.Needs
  /// True if the last scalar before the position that is no mark belongs to a word.
  private var isAfterWord = false
  /// The grapheme clusters, if the pattern tests their boundaries.
  private var clusters: String.Iterator?
  /// The number of scalars of the current cluster that follow the position.
  private var remainingInCluster = 0

  init(_ text: UnsafeBufferPointer<UInt8>, _ needs: RegularExpression.Needs) {
    self.needs = needs
    rest = ScalarReader(utf8: text)
    if needs.contains(.clusters) {
      clusters = String(decoding: text, as: UTF8.self).makeIterator()
    }
    next = rest.next()
  }

  /// Moves the position by one scalar.
  mutating func advance() {
    if needs.contains(.words), let next, !Self.isMark(next) {
      isAfterWord = ScalarSet.word.contains(next)
    }
    previous = next
    next = rest.next()
    if needs.contains(.clusters) { advanceInCluster() }
  }

  /// True if the assertion holds at this position.
  func holds(_ assertion: RegularExpression.Assertion) -> Bool {
    switch assertion {
    case .textStart: previous == nil
    case .textEnd: next == nil
    case .textEndOrFinalNewline: next == nil || (next == "\n" && rest.isAtEnd)
    case .textEndOrFinalLineEnd: next == nil || isBeforeFinalLineEnd
    // As in ICU: no line starts at the end of the text, and one starts between a CR and its LF.
    case .lineStart: previous == nil || (Self.isLineEnd(previous) && next != nil)
    case .lineEnd: next == nil || isBeforeLineEnd
    case .unixLineStart: previous == nil || previous == "\n"
    case .unixLineEnd: next == nil || next == "\n"
    case .wordBoundary: isWordBoundary
    case .noWordBoundary: !isWordBoundary
    case .clusterBoundary: isClusterBoundary
    case .noClusterBoundary: !isClusterBoundary
    case .notBefore(let set): next.map { !set.contains($0) } ?? true
    }
  }

  private static func isLineEnd(_ scalar: Unicode.Scalar?) -> Bool {
    scalar.map(ScalarSet.lineEnds.contains) ?? false
  }

  /// There is no line end between a CR and its LF.
  private var isBeforeLineEnd: Bool {
    Self.isLineEnd(next) && !(next == "\n" && previous == "\r")
  }

  private var isBeforeFinalLineEnd: Bool {
    guard isBeforeLineEnd else { return false }
    var rest = rest
    return rest.isAtEnd || (next == "\r" && rest.next() == "\n" && rest.isAtEnd)
  }

  // MARK: Words

  /// True for a combining mark or a format control, which extend the character before them.
  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    guard !scalar.isASCII else { return false }
    return scalar.properties.isGraphemeExtend || scalar.properties.generalCategory == .format
  }

  private var isWordBoundary: Bool {
    guard let next else { return isAfterWord }
    return !Self.isMark(next) && ScalarSet.word.contains(next) != isAfterWord
  }

  // MARK: Clusters

  private var isClusterBoundary: Bool { remainingInCluster == 0 }

  private mutating func advanceInCluster() {
    if remainingInCluster == 0 { remainingInCluster = clusters?.next()?.unicodeScalars.count ?? 1 }
    remainingInCluster -= 1
  }
}
