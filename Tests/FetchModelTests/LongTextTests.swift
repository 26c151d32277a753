// Loops over one long value: how many steps they take, and that they end when the time is over.

import FetchModel
import Patterns
import TestSupport
import Testing

@Suite("Loops over a long text")
struct LongTextTests {
  /// The number of times that `body` checks the time limit: once for every 32,768 steps.
  private static func questions(_ body: (() -> Bool) -> Void) -> Int {
    var count = 0
    body {
      count += 1
      return false
    }
    return count
  }

  @Test(
    "LIKE takes a bounded number of steps for each character, whatever the pattern",
    arguments: [
      "*" + String(repeating: "a?", count: 30) + "b*",
      "*" + String(repeating: "?a", count: 30) + "b",
      "*" + String(repeating: "a*", count: 200) + "b*", String(repeating: "*?", count: 100) + "b*",
      "*" + String(repeating: "a", count: 200) + "b*", "a*a*a*a*a*ab*a*b",
    ])
  func like(pattern: String) {
    let text = Array(String(repeating: "a", count: 1 << 20).utf8)
    let pattern = LikePattern(pattern)
    var isFound = true
    let count = Self.questions { isCancelled in
      isFound = text.withUnsafeBufferPointer { pattern.matches($0, isCancelled: isCancelled) }
    }
    #expect(!isFound)
    // One or two steps for each of the 1,048,576 characters.
    #expect(count <= 70)
  }

  @Test("LIKE agrees with a matcher that tries every offset")
  func parity() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    for _ in 0..<5_000 {
      let pattern = Self.text(of: ["a", "b", "é", "?", "?", "*", "*"], upTo: 9, &random)
      let text = Self.text(of: ["a", "b", "é", "a"], upTo: 12, &random)
      var copy = text
      let found = copy.withUTF8 { LikePattern(pattern).matches($0) }
      #expect(
        found == Self.matches(Array(pattern)[...], Array(text)[...]),
        "seed \(seed): \(pattern) on \(text)")
    }
  }

  @Test("a run of more than 64 characters with ? is found over word borders")
  func longRuns() {
    for length in [63, 64, 65, 127, 128, 129, 200, 3_000] {
      let middle = String(repeating: "x", count: length - 2)
      let pattern = LikePattern("*a" + String(repeating: "?", count: length - 2) + "b*")
      for (text, expected) in [("zzéa\(middle)bz", true), ("zza\(middle)zbz", false)] {
        var copy = text
        #expect(copy.withUTF8 { pattern.matches($0) } == expected, "\(length)")
      }
    }
  }

  private static func text(
    of letters: [String], upTo count: Int, _ random: inout SeededRandom
  ) -> String {
    (0..<Int.random(in: 0...count, using: &random))
      .map { _ in letters.randomElement(using: &random) ?? "" }.joined()
  }

  private static func matches(
    _ pattern: ArraySlice<Character>, _ text: ArraySlice<Character>
  ) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    if first == "*" {
      return matches(pattern.dropFirst(), text)
        || !text.isEmpty && matches(pattern, text.dropFirst())
    }
    guard let letter = text.first, first == "?" || first == letter else { return false }
    return matches(pattern.dropFirst(), text.dropFirst())
  }

  static let searches: [(Comparison.Relation, String, StringOptions)] = [
    (.contains, "ab", []), (.contains, "ab", .caseInsensitive),
    (.contains, "ab", [.caseInsensitive, .diacriticInsensitive]), (.like, "*a?b*", []),
    (.like, "*a?b*", .caseInsensitive), (.like, "?*ab", []), (.matches, ".*b", []),
    (.matches, "\\X*b", []), (.matches, "(.?){50}.*b", []), (.matches, ".*B", .caseInsensitive),
    (.beginsWith, "ab", .caseInsensitive), (.endsWith, "ab", .diacriticInsensitive),
  ]

  @Test("a search ends at the first check after the time limit", arguments: searches.indices)
  func searchEnds(index: Int) {
    let (relation, pattern, options) = Self.searches[index]
    let text = Array(String(repeating: "aéßÅ", count: 200_000).utf8)
    var count = 0
    let isFound = text.withUnsafeBufferPointer {
      TextSearch(pattern, relation, options).matches($0) {
        count += 1
        return true
      }
    }
    #expect(!isFound)
    // Folding, composing and searching ask once each.
    #expect(count >= (relation == .like && pattern.hasPrefix("?") ? 0 : 1) && count <= 4)
  }

  @Test("folding in pieces gives the same text as folding at once")
  func foldingPieces() {
    // Longer than a piece, with marks and letters that compose where pieces end.
    let letters = [
      "e\u{301}", "a", "ß", "\u{1100}\u{1161}\u{11A8}", "が", "か\u{3099}", "한", "İ", "x",
    ]
    var random = SeededRandom(seed: 7)
    let parts = (0..<40_000).map { _ in letters.randomElement(using: &random) ?? "" }
    for options in [StringOptions.caseInsensitive, .diacriticInsensitive] {
      // A letter `x` between two parts keeps them from composing with each other.
      let pieces = stride(from: 0, to: parts.count, by: 100).map { start in
        Folding.fold(parts[start..<min(start + 100, parts.count)].joined() + "x", options)
      }
      let separated = stride(from: 0, to: parts.count, by: 100).map { start in
        parts[start..<min(start + 100, parts.count)].joined() + "x"
      }
      #expect(
        Array(Folding.fold(separated.joined(), options).utf8) == Array(pieces.joined().utf8))
    }
  }

  @Test("the case of a long text is converted letter by letter")
  func letterCase() {
    let part = "aÉßŉσ ς x"
    let text = String(repeating: part, count: 10_000)
    #expect(
      text.uppercasedText { false } == String(repeating: part.uppercased(), count: 10_000))
    let plain = String(repeating: "AÉßİ x", count: 10_000)
    #expect(plain.lowercasedText == plain.lowercased())
    #expect(text.uppercasedText { true }.isEmpty)
  }

  @Test("JSON is valid if and only if it can be read")
  func validJSON() {
    let texts = [
      "[1,2,{\"a\":null,\"b\":[]}]", "{\"a\":1,\"a\":2}", "[1,]", "\"\\u00e9\"", "\"\\ud800\"",
      "1e5",
      "01", "{}", "", "[[[]]]", "tru", "{\"a\":{\"b\":{\"b\":1,\"c\":1}}}",
      "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"a\":1}",
      String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
    ]
    for text in texts {
      let bytes = Array(text.utf8)
      #expect(
        bytes.withUnsafeBufferPointer { JSON.isValid($0) } == ((try? JSON(stored: bytes)) != nil),
        "\(text)")
    }
    let repeated = Array("{\"a\":1,\"a\":2}".utf8)
    #expect(throws: JSONError.self) { try JSON(parsing: repeated) }
    var kept: [UInt8] = []
    kept.append(json: (try? JSON(stored: repeated)) ?? .null)
    #expect(kept == repeated)
    let long = Array(("[" + String(repeating: "1,", count: 100_000) + "1]").utf8)
    #expect(long.withUnsafeBufferPointer { JSON.isValid($0) })
    #expect(!long.withUnsafeBufferPointer { JSON.isValid($0, isCancelled: { true }) })
  }
}
