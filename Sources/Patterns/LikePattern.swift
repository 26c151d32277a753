// LIKE: a pattern → a matcher of whole texts. `?` matches one character, `*` any number of
// characters, and `\` makes the next character literal.
//
// A pattern consists of runs of characters with `*` between them. The run before the first `*` must
// be at the start of the text, the run after the last one at its end, and the other runs follow
// each other between them. The first occurrence of each run is the best one, so nothing is tried
// twice.

import Bytes

/// A pattern of LIKE, ready to match.
public struct LikePattern: Sendable, Hashable {
  enum Piece: Sendable, Hashable {
    /// A code point's bytes in UTF-8.
    case character([UInt8])
    case anyCharacter
    case anything
  }

  let pieces: [Piece]
  /// The parts between the `*`; a single part if there is no `*`.
  private let runs: [LikeRun]

  /// Parses a pattern of LIKE.
  public init(_ pattern: String) {
    var pieces: [Piece] = []
    var isEscaped = false
    for scalar in pattern.unicodeScalars {
      if isEscaped {
        pieces.append(.character(Array(String(scalar).utf8)))
        isEscaped = false
      } else if scalar == "\\" {
        isEscaped = true
      } else if scalar == "*" {
        if pieces.last != .anything { pieces.append(.anything) }
      } else {
        pieces.append(scalar == "?" ? .anyCharacter : .character(Array(String(scalar).utf8)))
      }
    }
    if isEscaped { pieces.append(.character([UInt8(ascii: "\\")])) }
    self.pieces = pieces
    runs = pieces.split(separator: .anything, omittingEmptySubsequences: false)
      .map { LikeRun(Array($0)) }
  }

  /// True if the whole of `text`, which is UTF-8, matches. Takes one step for each 64 characters of
  /// a run and each character of the text.
  ///
  /// - Parameter isCancelled: called now and then for a long text; if it returns true, the result is
  ///   false.
  public func matches(
    _ text: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool = { false }
  ) -> Bool {
    withoutActuallyEscaping(isCancelled) { isCancelled in
      var interruption = Interruption(isCancelled)
      return matches(text, &interruption) && !interruption.isInterrupted
    }
  }

  private func matches(
    _ text: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption
  ) -> Bool {
    guard let first = runs.first, let last = runs.last,
      var start = first.end(atStartOf: text, &interruption)
    else { return false }
    guard runs.count > 1 else { return start == text.count }
    let rest = UnsafeBufferPointer(rebasing: text[start...])
    guard let end = last.start(atEndOf: rest, &interruption) else { return false }
    let middle = UnsafeBufferPointer(rebasing: rest[..<end])
    start = 0
    for run in runs.dropFirst().dropLast() {
      let left = UnsafeBufferPointer(rebasing: middle[start...])
      guard let next = run.end(in: left, &interruption) else { return false }
      start += next
    }
    return true
  }
}

extension LikePattern {
  /// The pattern as a regular expression that ignores case; nil if the expression would be too
  /// large.
  package var expression: RegularExpression? { try? RegularExpression(foldedNode) }

  var foldedNode: PatternNode {
    var nodes: [PatternNode] = []
    var letters: [Unicode.Scalar] = []
    for piece in pieces {
      if case .character(let bytes) = piece {
        letters += String(decoding: bytes, as: UTF8.self).unicodeScalars.flatMap(CaseFolding.fold)
        continue
      }
      nodes.append(.folded(letters))
      letters = []
      let any = PatternNode.character(.all)
      nodes.append(
        piece == .anything ? .repetition(any, least: 0, most: nil, .greedy) : any)
    }
    return .sequence(nodes + [.folded(letters)])
  }

  /// A relation of texts for which an index can be used.
  package enum Relation: Sendable { case equal, beginsWith, endsWith, contains }

  /// The simpler relation with the same meaning, and its text: `'A*'` is BEGINSWITH; nil if there is
  /// none.
  package static func simplified(_ pattern: String) -> (Relation, String)? {
    let pieces = LikePattern(pattern).pieces
    let text = pieces.compactMap { piece -> [UInt8]? in
      if case .character(let bytes) = piece { bytes } else { nil }
    }
    guard !pieces.contains(.anyCharacter) else { return nil }
    let literal = String(decoding: text.joined(), as: UTF8.self)
    if text.count == pieces.count { return (.equal, literal) }
    guard !literal.isEmpty else { return nil }
    let isOpen = (start: pieces.first == .anything, end: pieces.last == .anything)
    switch (isOpen, pieces.count - text.count) {
    case ((false, true), 1): return (.beginsWith, literal)
    case ((true, false), 1): return (.endsWith, literal)
    case ((true, true), 2): return (.contains, literal)
    default: return nil
    }
  }
}
