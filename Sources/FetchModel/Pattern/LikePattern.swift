// LIKE: `?` is one character, `*` any number of them, `\` takes the next character as it is. The
// whole text has to match.

/// A pattern of LIKE, ready to match.
public struct LikePattern: Sendable, Hashable {
  enum Piece: Sendable, Hashable {
    /// A code point's bytes in UTF-8.
    case character([UInt8])
    case anyCharacter
    case anything
  }

  let pieces: [Piece]

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
  }

  /// Whether the whole of `text`, which is UTF-8, matches. At worst the product of both lengths.
  public func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    var place = 0
    var piece = 0
    // Where to go on when what follows the last `*` fails: it then takes one character more.
    var retry: (piece: Int, place: Int)?
    while place < text.count {
      if piece < pieces.count, pieces[piece] == .anything {
        piece += 1
        retry = (piece, place)
      } else if piece < pieces.count, let next = step(pieces[piece], text, place) {
        place = next
        piece += 1
      } else if let (afterStar, start) = retry {
        let next = Self.nextCharacter(text, start)
        retry = (afterStar, next)
        (piece, place) = (afterStar, next)
      } else {
        return false
      }
    }
    return pieces[piece...].allSatisfy { $0 == .anything }
  }

  /// The place behind what `piece` takes at `place`; nil if it does not fit.
  private func step(_ piece: Piece, _ text: UnsafeBufferPointer<UInt8>, _ place: Int) -> Int? {
    guard case .character(let bytes) = piece else { return Self.nextCharacter(text, place) }
    guard text.count - place >= bytes.count else { return nil }
    for index in bytes.indices where text[place + index] != bytes[index] { return nil }
    return place + bytes.count
  }

  private static func nextCharacter(_ text: UnsafeBufferPointer<UInt8>, _ place: Int) -> Int {
    var next = place + 1
    while next < text.count, text[next] & 0xC0 == 0x80 { next += 1 }
    return next
  }
}

extension LikePattern {
  /// The same as an expression that overlooks case; nil where it would be too large.
  var expression: RegularExpression? {
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
    return try? RegularExpression(.sequence(nodes + [.folded(letters)]))
  }

  /// The simpler relation that means the same, so that an index can serve it: `'A*'` is BEGINSWITH.
  static func simplified(_ pattern: String) -> (Comparison.Relation, String)? {
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
