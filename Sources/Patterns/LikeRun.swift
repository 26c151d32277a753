// The characters between two `*` of a LIKE pattern → their first occurrence in a text.
//
// Without `?` this is a search for bytes. With `?` all offsets at which the run may have begun are
// followed at the same time, one bit each (Shift-And, Baeza-Yates and Gonnet).

import Bytes

/// Characters and `?` side by side.
struct LikeRun: Sendable, Hashable {
  private let pieces: [LikePattern.Piece]
  private let search: Search

  private enum Search: Sendable, Hashable {
    case nothing
    case bytes(ByteSearch)
    case characters(CharacterSearch)
    /// Tries every offset: the run is too long for the tables of the other searches.
    case eachPlace
  }

  init(_ pieces: [LikePattern.Piece]) {
    self.pieces = pieces
    let bytes = pieces.compactMap { piece -> [UInt8]? in
      if case .character(let bytes) = piece { bytes } else { nil }
    }
    if pieces.isEmpty {
      search = .nothing
    } else if bytes.count == pieces.count {
      search = .bytes(ByteSearch(Array(bytes.joined())))
    } else if pieces.count <= CharacterSearch.longest {
      search = .characters(CharacterSearch(pieces))
    } else {
      search = .eachPlace
    }
  }

  /// The offset after the run if the run is at the start of `text`; nil if it is not.
  func end(
    atStartOf text: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption
  ) -> Int? {
    var place = 0
    for piece in pieces {
      guard !interruption.ends(), place < text.count else { return nil }
      let next = Self.end(ofCharacterAt: place, in: text)
      guard Self.fits(piece, text, place..<next) else { return nil }
      place = next
    }
    return place
  }

  /// The offset of the run if the run is at the end of `text`; nil if it is not.
  func start(
    atEndOf text: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption
  ) -> Int? {
    var place = text.count
    for piece in pieces.reversed() {
      guard !interruption.ends(), place > 0 else { return nil }
      var start = place - 1
      while start > 0, text[start] & 0xC0 == 0x80 { start -= 1 }
      guard Self.fits(piece, text, start..<place) else { return nil }
      place = start
    }
    return place
  }

  /// The offset after the first occurrence of the run in `text`; nil if there is none.
  func end(in text: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption) -> Int? {
    switch search {
    case .nothing: return 0
    case .bytes(let search): return search.end(in: text, &interruption)
    case .characters(let search): return search.end(in: text, &interruption)
    case .eachPlace:
      var place = 0
      while place < text.count {
        let rest = UnsafeBufferPointer(rebasing: text[place...])
        if let end = end(atStartOf: rest, &interruption) { return place + end }
        if interruption.isInterrupted { return nil }
        place = Self.end(ofCharacterAt: place, in: text)
      }
      return nil
    }
  }

  private static func fits(
    _ piece: LikePattern.Piece, _ text: UnsafeBufferPointer<UInt8>, _ place: Range<Int>
  ) -> Bool {
    guard case .character(let bytes) = piece else { return true }
    return bytes.count == place.count && text[place].elementsEqual(bytes)
  }

  static func end(
    ofCharacterAt place: Int, in text: UnsafeBufferPointer<UInt8>
  ) -> Int {
    var end = place + 1
    while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
    return end
  }
}

/// Searches for characters and `?`.
private struct CharacterSearch: Sendable, Hashable {
  /// More characters would make the tables large.
  static let longest = 2_048

  /// Words of 64 bits that one bit for each character takes.
  private let width: Int
  /// The bit of the last character, in the last word.
  private let lastBit: UInt64
  /// For each kind of character, its positions in the run, one bit per position. The first kind is
  /// every character that the run does not contain.
  private let places: [UInt64]
  /// The kind of each ASCII character.
  private let kindsOfASCII: [Int]
  private let otherKinds: [[UInt8]: Int]

  init(_ pieces: [LikePattern.Piece]) {
    let width = (pieces.count + 63) / 64
    var kinds: [[UInt8]: Int] = [:]
    for case .character(let bytes) in pieces where kinds[bytes] == nil {
      kinds[bytes] = kinds.count + 1
    }
    var places = [UInt64](repeating: 0, count: width * (kinds.count + 1))
    for (index, piece) in pieces.enumerated() {
      let (word, bit) = (index / 64, UInt64(1) << UInt64(index % 64))
      if case .character(let bytes) = piece, let kind = kinds[bytes] {
        places[kind * width + word] |= bit
      } else {
        for kind in 0...kinds.count { places[kind * width + word] |= bit }
      }
    }
    self.width = width
    self.places = places
    lastBit = 1 << UInt64((pieces.count - 1) % 64)
    kindsOfASCII = (0..<128).map { kinds[[UInt8($0)]] ?? 0 }
    otherKinds = kinds.filter { $0.key.count > 1 }
  }

  func end(in text: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption) -> Int? {
    var begun = [UInt64](repeating: 0, count: width)
    var place = 0
    return begun.withUnsafeMutableBufferPointer { begun in
      places.withUnsafeBufferPointer { places in
        while place < text.count {
          if interruption.ends(after: width) { return nil }
          let end = LikeRun.end(ofCharacterAt: place, in: text)
          let first = kind(of: text, place..<end) * width
          place = end
          var carry: UInt64 = 1
          for word in 0..<width {
            let shifted = begun[word] << 1 | carry
            carry = begun[word] >> 63
            begun[word] = shifted & places[first + word]
          }
          if begun[width - 1] & lastBit != 0 { return place }
        }
        return nil
      }
    }
  }

  private func kind(of text: UnsafeBufferPointer<UInt8>, _ place: Range<Int>) -> Int {
    let first = text[place.lowerBound]
    if place.count == 1, first < 0x80 { return kindsOfASCII[Int(first)] }
    return otherKinds.isEmpty ? 0 : otherKinds[Array(text[place])] ?? 0
  }
}
