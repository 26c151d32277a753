// LIKE, MATCHES, search and folding on texts, without a store.

import FetchModel
import Foundation
import Patterns
import TestSupport
import Testing

@Suite("Patterns and folding")
struct PatternTests {
  private func matches(_ pattern: String, _ text: String, _ options: StringOptions = []) throws
    -> Bool
  {
    let expression = try RegularExpression(pattern, ignoresCase: options.contains(.caseInsensitive))
    var text = text
    return text.withUTF8 { expression.matches($0) }
  }

  @Test(
    "MATCHES agrees with Foundation's regular expressions on whole texts",
    arguments: [
      "abc", "a*", "a+b?", "(a|b)*c", "[a-c]+", "[^a-c]+", "\\d{2,3}", "\\w+", "\\s*x", ".*", ".+",
      "a{2}", "a{2,}", "(?:ab)+", "(?<n>a)b", "^ab$", "\\Aab\\z", "\\bab\\b", "a\\b.*", "x|y|", "",
      "(?i)AB", "(?i:A)b", "a.b", "(?s)a.b", "[\\d_]+", "\\p{Lu}\\p{Ll}+", "\\P{L}*", "é+",
      "[à-ü]+",
      "\\x41\\u0042", "\\x{1F600}", "\\Qa.b\\E", "(a*)*", "(a|a)*b", "((a{0,3})*)*", "[]a]+",
      "[a-]+",
      "a??b", "(?x) a b # c", "\\.", "(?m)^a$\\n^b$", "[\\p{L}\\d]+", "\\D+", "\\W",
    ])
  func parity(pattern: String) throws {
    let texts = [
      "", "a", "b", "ab", "abc", "aab", "aa", "aaa", "aaaab", "A", "AB", "Ab", "aB", "12", "123",
      "1234",
      "x", "y", " x", "a b", "a.b", "a\nb", "é", "éé", "É", "ü", "Zürich", "Köln", "😀", "_1", "-a",
      "]a",
      "!", "a1é", "\n", "ab\n",
    ]
    // A line break ends the comment that an extended pattern may end with.
    let anchored = try NSRegularExpression(
      pattern: "\\A(?:\(pattern)\(pattern.contains("#") ? "\n" : ""))\\z")
    for text in texts {
      let whole = NSRange(location: 0, length: text.utf16.count)
      let expected = anchored.firstMatch(in: text, range: whole) != nil
      #expect(try matches(pattern, text) == expected, "\(pattern) on \(text.debugDescription)")
    }
  }

  @Test(
    "patterns that are too large, not closed or need backtracking are refused",
    arguments: [
      "(", "[", "a{2", "a{1001}", "\\", "(ab)++", "((a{1000}){1000}){1000}",
      "(((){1000}){1000}){1000}",
    ])
  func refusals(pattern: String) {
    #expect(throws: PatternError.self) { try RegularExpression(pattern) }
  }

  @Test("[c] ignores case")
  func caseInsensitive() throws {
    #expect(try matches("köln", "KÖLN", .caseInsensitive))
    #expect(try matches("[a-z]+", "ABC", .caseInsensitive))
    #expect(try matches("σας", "ΣΑΣ", .caseInsensitive))
    #expect(try !matches("[^a]", "A", .caseInsensitive))
    #expect(try !matches("köln", "KÖLN"))
  }

  @Test(
    "LIKE knows ?, * and the backslash",
    arguments: [
      ("a*c", "abc", true), ("a*c", "ac", true), ("a*c", "abcd", false), ("?", "é", true),
      ("?", "", false),
      ("*", "", true), ("", "", true), ("", "a", false), ("a\\*", "a*", true),
      ("a\\*", "ab", false),
      ("a\\\\", "a\\", true), ("a\\", "a\\", true), ("*a*b*", "xxaxxbxx", true), ("??", "😀é", true),
      ("*ab", "aab", true), ("a**b", "ab", true),
    ])
  func like(pattern: String, text: String, expected: Bool) {
    var text = text
    #expect(text.withUTF8 { LikePattern(pattern).matches($0) } == expected)
  }

  @Test(
    "with [c], ? matches one character of the text, whatever it folds to",
    arguments: [
      ("?", "ß", true), ("??", "ß", false), ("s?", "ß", false), ("?s", "ß", false),
      ("*s?", "ß", false),
      ("?", "İ", true), ("?", "ﬃ", true), ("???", "ﬃ", false), ("?", "ŉ", true),
      ("?", "e\u{301}", true),
      ("stra?e", "Straße", true), ("stra??e", "Straße", false), ("STRASS?", "Straße", true),
      ("straß?", "STRASSE", true), ("S*SSE", "straße", true), ("s*s?", "straße", false),
      ("*ß*", "xSSy", true), ("?ss", "aß", true), ("\\??", "?ß", true), ("?\\?", "ß?", true),
      ("??", "ﬀﬁ", true), ("ff?", "ﬀﬁ", true), ("?fi", "ﬀﬁ", true), ("f?fi", "ﬀﬁ", false),
    ])
  func likeInAnyCase(pattern: String, text: String, expected: Bool) {
    #expect(TextSearch(pattern, .like, .caseInsensitive).matches(text) == expected)
  }

  @Test("a search finds the same texts as String.contains")
  func search() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    for _ in 0..<2_000 {
      let part = letters(Int.random(in: 1...4, using: &random), &random)
      let text = letters(Int.random(in: 0...20, using: &random), &random)
      let found = Array(text.utf8).withUnsafeBufferPointer {
        ByteSearch(Array(part.utf8)).isFound(in: $0)
      }
      #expect(found == text.contains(part), "seed \(seed): \(part) in \(text)")
    }
  }

  private func letters(_ count: Int, _ random: inout SeededRandom) -> String {
    String((0..<count).map { _ in "ab".randomElement(using: &random) ?? "a" })
  }

  @Test("folding gives Foundation's results on hard cases")
  func folding() {
    let texts = [
      "ß", "ẞ", "SS", "İ", "ı", "I", "ς", "ΣΊΣΥΦΟΣ", "ﬁn", "ﬃ", "É", "e\u{301}", "ø", "đ", "ł",
      "हिन्दी", "กำ", "각", "ガ", "ᾳ",
      "ŉ", "Å", "Ǆ", "ǅ", "й", "Ё", "ễ", "🇫🇷", "a\u{20DD}", "𐐀", "µ", "ſ", "\u{212A}", "Ⅷ", "Ａ", "ᾈ",
      "Ꙁ", "日本", "Ð",
    ]
    let cases: [(StringOptions, String.CompareOptions)] = [
      (.caseInsensitive, .caseInsensitive), (.diacriticInsensitive, .diacriticInsensitive),
      ([.caseInsensitive, .diacriticInsensitive], [.caseInsensitive, .diacriticInsensitive]),
    ]
    for (options, reference) in cases {
      for text in texts {
        // A letter with its mark is one letter, however it is written.
        let expected = text.folding(options: reference, locale: nil)
          .precomposedStringWithCanonicalMapping
        #expect(
          Array(Folding.fold(text, options).utf8) == Array(expected.utf8),
          "\(text) with \(options.rawValue)")
      }
    }
    #expect(Folding.fold("Straße", .caseInsensitive) == "strasse")
    #expect(Folding.fold("Ñandú", [.caseInsensitive, .diacriticInsensitive]) == "nandu")
  }
}
