// An offset in a text → the surrounding characters that a pattern tests (word and cluster
// boundaries, line ends).

import Bytes

/// An offset between two characters, which moves from the start of a text to its end.
struct MatchContext {
  private(set) var previous: Unicode.Scalar?
  private(set) var next: Unicode.Scalar?
  /// The text after ``next``.
  private var rest: ScalarReader
  private let needs: RegularExpression.Needs
  /// True if the last character other than a mark belongs to a word.
  private var isBehindWord = false
  /// The grapheme clusters, if the pattern tests their boundaries, and the number of scalars that
  /// are left of the current one.
  private var clusters: String.Iterator?
  private var leftOfCluster = 0

  init(_ text: UnsafeBufferPointer<UInt8>, _ needs: RegularExpression.Needs) {
    self.needs = needs
    rest = ScalarReader(utf8: text)
    if needs.contains(.clusters) {
      clusters = String(decoding: text, as: UTF8.self).makeIterator()
    }
    next = rest.next()
  }

  mutating func advance() {
    if needs.contains(.words), let next, !Self.isMark(next) {
      isBehindWord = ScalarSet.word.contains(next)
    }
    previous = next
    next = rest.next()
    if needs.contains(.clusters) { advanceInCluster() }
  }

  func holds(_ assertion: RegularExpression.Assertion) -> Bool {
    switch assertion {
    case .textStart: previous == nil
    case .textEnd: next == nil
    case .textEndOrFinalNewline: next == nil || (next == "\n" && rest.isAtEnd)
    case .textEndOrFinalLineEnd: next == nil || isBeforeFinalLineEnd
    case .lineStart: previous == nil || (Self.isLineEnd(previous) && next != nil)
    case .lineEnd: next == nil || isBeforeLineEnd
    case .unixLineStart: previous == nil || previous == "\n"
    case .unixLineEnd: next == nil || next == "\n"
    case .wordBorder: isWordBorder
    case .noWordBorder: !isWordBorder
    case .clusterBorder: isClusterBorder
    case .noClusterBorder: !isClusterBorder
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

  /// True if the scalar is a mark, which belongs to the character before it.
  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    guard !scalar.isASCII else { return false }
    return scalar.properties.isGraphemeExtend || scalar.properties.generalCategory == .format
  }

  private var isWordBorder: Bool {
    guard let next else { return isBehindWord }
    return !Self.isMark(next) && ScalarSet.word.contains(next) != isBehindWord
  }

  // MARK: Clusters

  private var isClusterBorder: Bool { leftOfCluster == 0 }

  private mutating func advanceInCluster() {
    if leftOfCluster == 0 { leftOfCluster = clusters?.next()?.unicodeScalars.count ?? 1 }
    leftOfCluster -= 1
  }
}
