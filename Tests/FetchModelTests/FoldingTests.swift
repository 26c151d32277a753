// Folding on hard cases: literal results, and Foundation's.

import FetchModel
import Foundation
import Testing

@Suite("Folding of text")
struct FoldingTests {
  private static let c = StringOptions.caseInsensitive
  private static let d = StringOptions.diacriticInsensitive

  /// Text, and what `[c]`, `[d]` and `[cd]` make of it.
  private static let table: [(String, String, String, String)] = [
    ("", "", "", ""), ("ABC xyz 123", "abc xyz 123", "ABC xyz 123", "abc xyz 123"),
    // Latin
    ("ß", "ss", "ß", "ss"), ("ẞ", "ss", "ẞ", "ss"), ("SS", "ss", "SS", "ss"),
    ("Straße", "strasse", "Straße", "strasse"), ("ſ", "s", "ſ", "s"),
    ("İ", "i\u{307}", "I", "i"), ("I", "i", "I", "i"), ("ı", "ı", "ı", "ı"), ("i", "i", "i", "i"),
    ("é", "é", "e", "e"), ("É", "é", "E", "e"), ("e\u{301}", "é", "e", "e"),
    ("E\u{301}", "é", "E", "e"), ("Å", "å", "A", "a"), ("A\u{30A}", "å", "A", "a"),
    ("\u{212B}", "å", "A", "a"), ("ñ", "ñ", "n", "n"), ("ç", "ç", "c", "c"), ("ș", "ș", "s", "s"),
    ("Ğ", "ğ", "G", "g"), ("ø", "ø", "ø", "ø"), ("Ø", "ø", "Ø", "ø"), ("Ł", "ł", "Ł", "ł"),
    ("Đ", "đ", "Đ", "đ"), ("Æ", "æ", "Æ", "æ"), ("Œ", "œ", "Œ", "œ"), ("Þ", "þ", "Þ", "þ"),
    ("ŉ", "ʼn", "ŉ", "ʼn"), ("ǰ", "ǰ", "j", "j"), ("ẖ", "ẖ", "h", "h"), ("Ǆ", "ǆ", "Ǆ", "ǆ"),
    ("ǅ", "ǆ", "ǅ", "ǆ"), ("Ŀ", "ŀ", "Ŀ", "ŀ"), ("K", "k", "K", "k"), ("\u{212A}", "k", "K", "k"),
    // Vietnamese
    ("Ế", "ế", "E", "e"), ("ằ", "ằ", "a", "a"), ("Đặng", "đặng", "Đang", "đang"),
    ("a\u{306}\u{300}", "ằ", "a", "a"), ("Phở", "phở", "Pho", "pho"),
    // Combining sequences
    ("q\u{307}\u{323}", "q\u{323}\u{307}", "q", "q"),
    ("q\u{323}\u{307}", "q\u{323}\u{307}", "q", "q"), ("e\u{20DD}", "e\u{20DD}", "e", "e"),
    ("\u{1E9B}\u{323}", "ṩ", "ſ", "s"), ("o\u{308}\u{304}", "ȫ", "o", "o"),
    // Ligatures, widths, signs
    ("ﬁ", "fi", "ﬁ", "fi"), ("ﬃ", "ffi", "ﬃ", "ffi"), ("ﬆ", "st", "ﬆ", "st"), ("Ĳ", "ĳ", "Ĳ", "ĳ"),
    ("Ａ", "ａ", "Ａ", "ａ"), ("ａ", "ａ", "ａ", "ａ"), ("１", "１", "１", "１"), ("Ⅷ", "ⅷ", "Ⅷ", "ⅷ"),
    ("Ⓐ", "ⓐ", "Ⓐ", "ⓐ"), ("²", "²", "²", "²"), ("½", "½", "½", "½"), ("µ", "μ", "µ", "μ"),
    // Greek
    ("Σ", "σ", "Σ", "σ"), ("σ", "σ", "σ", "σ"), ("ς", "σ", "ς", "σ"),
    ("ΟΔΥΣΣΕΎΣ", "οδυσσεύσ", "ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
    ("Οδυσσεύς", "οδυσσεύσ", "Οδυσσευς", "οδυσσευσ"),
    ("Ά", "ά", "Α", "α"), ("ᾳ", "αι", "α", "α"), ("ᾼ", "αι", "Α", "α"), ("ᾷ", "ᾶι", "α", "α"),
    ("ΐ", "ΐ", "ι", "ι"), ("ὒ", "ὒ", "υ", "υ"), ("ῼ", "ωι", "Ω", "ω"), ("\u{2126}", "ω", "Ω", "ω"),
    // Cyrillic, Georgian, Cherokee, Deseret
    ("Й", "й", "И", "и"), ("И\u{306}", "й", "И", "и"), ("Ё", "ё", "Е", "е"), ("ї", "ї", "і", "і"),
    ("Ა", "ა", "Ა", "ა"), ("Ⴀ", "ⴀ", "Ⴀ", "ⴀ"), ("𐐀", "𐐨", "𐐀", "𐐨"),
    // Hangul, kana, scripts with marks of their own
    ("가", "가", "가", "가"), ("\u{1100}\u{1161}", "가", "가", "가"),
    ("\u{1100}\u{1161}\u{11A8}", "각", "각", "각"), ("が", "が", "が", "が"),
    ("か\u{3099}", "が", "が", "が"), ("ｶﾞ", "ｶﾞ", "ｶﾞ", "ｶﾞ"), ("कि", "कि", "कि", "कि"),
    ("ก่", "ก่", "ก่", "ก่"), ("أ", "أ", "أ", "أ"), ("ا\u{654}", "أ", "أ", "أ"),
    ("שׁ", "ש\u{5C1}", "ש\u{5C1}", "ש\u{5C1}"), ("\u{FB2A}", "ש\u{5C1}", "ש\u{5C1}", "ש\u{5C1}"),
    // Beyond the first plane
    ("👩‍👩‍👧", "👩‍👩‍👧", "👩‍👩‍👧", "👩‍👩‍👧"), ("👍🏽", "👍🏽", "👍🏽", "👍🏽"), ("🇩🇪", "🇩🇪", "🇩🇪", "🇩🇪"),
    ("𝄞", "𝄞", "𝄞", "𝄞"), ("\u{2F800}", "丽", "丽", "丽"),
    ("\u{FFFF}", "\u{FFFF}", "\u{FFFF}", "\u{FFFF}"),
    ("ö\u{0}B", "ö\u{0}b", "o\u{0}B", "o\u{0}b"),
  ]

  @Test("hard cases fold to these texts, byte by byte", arguments: table.indices)
  func literals(index: Int) {
    let (text, lower, plain, both) = Self.table[index]
    #expect(Array(Folding.fold(text, Self.c).utf8) == Array(lower.utf8), "[c] \(text)")
    #expect(Array(Folding.fold(text, Self.d).utf8) == Array(plain.utf8), "[d] \(text)")
    #expect(Array(Folding.fold(text, [Self.c, Self.d]).utf8) == Array(both.utf8), "[cd] \(text)")
    #expect(Array(Folding.fold(text, .normalized).utf8) == Array(text.utf8), "[n] \(text)")
  }

  @Test("folding again changes nothing", arguments: table.indices)
  func idempotence(index: Int) {
    for options in [Self.c, Self.d, [Self.c, Self.d]] {
      let once = Folding.fold(Self.table[index].0, options)
      #expect(Array(Folding.fold(once, options).utf8) == Array(once.utf8), "\(once)")
    }
  }

  @Test("Foundation folds to the same, in the root locale")
  func folding() {
    let options: [(StringOptions, String.CompareOptions)] = [
      (Self.c, .caseInsensitive), (Self.d, .diacriticInsensitive),
      ([Self.c, Self.d], [.caseInsensitive, .diacriticInsensitive]),
    ]
    for (own, theirs) in options {
      for (text, _, _, _) in Self.table {
        let expected = text.folding(options: theirs, locale: nil)
          .precomposedStringWithCanonicalMapping
        #expect(Array(Folding.fold(text, own).utf8) == Array(expected.utf8), "\(text) \(own)")
      }
    }
  }

  @Test("two texts fold to the same exactly where Foundation compares them as the same")
  func comparing() {
    let texts = Self.table.map(\.0)
    let options: [(StringOptions, String.CompareOptions)] = [
      (Self.c, .caseInsensitive), (Self.d, .diacriticInsensitive),
      ([Self.c, Self.d], [.caseInsensitive, .diacriticInsensitive]),
    ]
    for (own, theirs) in options {
      let folded = texts.map { Array(Folding.fold($0, own).utf8) }
      for left in texts.indices {
        for right in texts[..<left].indices {
          let isSame = texts[left].compare(texts[right], options: theirs) == .orderedSame
          #expect(
            (folded[left] == folded[right]) == isSame, "\(texts[left]) \(texts[right]) \(theirs)")
        }
      }
    }
  }

  @Test("each letter of the basic plane folds as Foundation folds it")
  func everyScalar() {
    var differing: [String] = []
    // Latin letters of the newest Unicode versions, which libraries know of one after the other.
    let newest = UInt32(0xA7C0)...0xA7DF
    for code in UInt32(1)..<0xFFFE where !newest.contains(code) {
      guard let scalar = Unicode.Scalar(code), scalar.properties.generalCategory != .unassigned,
        scalar.properties.canonicalCombiningClass == .notReordered
      else { continue }
      let text = String(Character(scalar))
      let expected = text.folding(options: .caseInsensitive, locale: nil)
        .precomposedStringWithCanonicalMapping
      if !Folding.fold(text, Self.c).utf8.elementsEqual(expected.utf8) {
        differing.append(String(code, radix: 16) + " " + text)
      }
    }
    #expect(differing.isEmpty, "\(differing)")
  }
}
