// Folding on hard cases: literal results, and Foundation's.

import Foundation
import TestSupport
import Testing

@testable import FetchModel

@Suite("Folding of text")
struct FoldingTests {
  private static let c = StringOptions.caseInsensitive
  private static let d = StringOptions.diacriticInsensitive

  /// A text, and its foldings under `[c]`, `[d]` and `[cd]`.
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

  /// Marks after letters that they do not belong to. As in Foundation, Latin, Greek and Cyrillic
  /// letters lose every mark, other letters only the marks of those scripts.
  private static let marks: [(String, String, String, String)] = [
    ("が", "が", "が", "が"), ("か\u{3099}", "が", "が", "が"), ("か", "か", "か", "か"),
    ("ぱ", "ぱ", "ぱ", "ぱ"), ("は\u{309A}", "ぱ", "ぱ", "ぱ"), ("ガ", "ガ", "ガ", "ガ"),
    ("ﾊ\u{FF9F}", "ﾊ\u{FF9F}", "ﾊ\u{FF9F}", "ﾊ\u{FF9F}"),
    ("\u{3099}", "\u{3099}", "\u{3099}", "\u{3099}"),
    ("か\u{301}", "か\u{301}", "か", "か"), ("が\u{301}", "が\u{301}", "が", "が"),
    ("か\u{20DD}", "か\u{20DD}", "か\u{20DD}", "か\u{20DD}"),
    ("日\u{301}", "日\u{301}", "日", "日"), ("日\u{3099}", "日\u{3099}", "日\u{3099}", "日\u{3099}"),
    ("日\u{FE00}", "日\u{FE00}", "日\u{FE00}", "日\u{FE00}"), ("각\u{301}", "각\u{301}", "각", "각"),
    ("각\u{3099}", "각\u{3099}", "각\u{3099}", "각\u{3099}"),
    ("x\u{3099}y", "x\u{3099}y", "xy", "xy"), ("a\u{93C}", "a\u{93C}", "a", "a"),
    ("é\u{93C}", "é\u{93C}", "e", "e"), ("x\u{302A}", "x\u{302A}", "x", "x"),
    ("x\u{FE20}", "x\u{FE20}", "x", "x"), ("x\u{E0100}", "x\u{E0100}", "x", "x"),
    ("e\u{FE0F}", "e\u{FE0F}", "e", "e"), ("☝\u{FE0F}", "☝\u{FE0F}", "☝\u{FE0F}", "☝\u{FE0F}"),
    ("1\u{FE0F}\u{20E3}", "1\u{FE0F}\u{20E3}", "1", "1"),
    ("a\u{903}", "a\u{903}", "a\u{903}", "a\u{903}"),
    ("क\u{301}", "क\u{301}", "क", "क"), ("क\u{93C}", "क\u{93C}", "क\u{93C}", "क\u{93C}"),
    ("क\u{301}\u{93C}", "क\u{93C}\u{301}", "क\u{93C}", "क\u{93C}"),
    ("א\u{5B0}", "א\u{5B0}", "א\u{5B0}", "א\u{5B0}"), ("א\u{301}", "א\u{301}", "א", "א"),
    ("ا\u{64B}", "ا\u{64B}", "ا\u{64B}", "ا\u{64B}"),
    ("ก\u{E48}", "ก\u{E48}", "ก\u{E48}", "ก\u{E48}"),
    ("ก\u{301}", "ก\u{301}", "ก", "ก"),
    ("a\u{200D}\u{301}", "a\u{200D}\u{301}", "a\u{200D}", "a\u{200D}"),
    ("a👍\u{301}", "a👍\u{301}", "a👍", "a👍"), ("\u{301}a", "\u{301}a", "\u{301}a", "\u{301}a"),
    ("Ԑ\u{20DD}", "ԑ\u{20DD}", "Ԑ\u{20DD}", "ԑ\u{20DD}"), ("Ԏ\u{20DD}", "ԏ\u{20DD}", "Ԏ", "ԏ"),
    ("ⱡ\u{301}", "ⱡ\u{301}", "ⱡ", "ⱡ"), ("ա\u{301}", "ա\u{301}", "ա", "ա"),
    ("\u{1E00}\u{20DD}", "\u{1E01}\u{20DD}", "A", "a"),
    ("\u{1F00}\u{3099}", "\u{1F00}\u{3099}", "α", "α"),
    ("5\u{20DD}", "5\u{20DD}", "5", "5"), ("!\u{301}", "!\u{301}", "!", "!"),
    (" \u{301}", " \u{301}", " ", " "), ("И\u{484}", "и\u{484}", "И", "и"),
    ("日\u{483}", "日\u{483}", "日", "日"),
  ]

  @Test(
    "marks after letters of other scripts fold to these texts, as in Foundation",
    arguments: marks.indices)
  func foreignMarks(index: Int) {
    let row = Self.marks[index]
    let expected: [(StringOptions, String.CompareOptions, String)] = [
      (Self.c, .caseInsensitive, row.1), (Self.d, .diacriticInsensitive, row.2),
      ([Self.c, Self.d], [.caseInsensitive, .diacriticInsensitive], row.3),
    ]
    for (own, theirs, literal) in expected {
      let folded = Folding.fold(row.0, own)
      #expect(Array(folded.utf8) == Array(literal.utf8), "\(row.0) \(own.rawValue)")
      #expect(Array(Folding.fold(folded, own).utf8) == Array(folded.utf8), "\(row.0) twice")
      let foundation = row.0.folding(options: theirs, locale: nil)
        .precomposedStringWithCanonicalMapping
      #expect(Array(folded.utf8) == Array(foundation.utf8), "\(row.0) \(own.rawValue)")
    }
  }

  @Test("every mark after a letter is dropped or kept as in Foundation")
  func everyMark() {
    // Marks of Unicode versions that Foundation's table does not have yet.
    var differing: [String] = []
    for base in ["a", "é", "ω", "ж", "5", "か", "日", "ก", "א", "각", "Ⱡ", "😀"] {
      for code in UInt32(0x300)..<0x3100 {
        guard let mark = Unicode.Scalar(code), mark.properties.generalCategory == .nonspacingMark,
          let age = mark.properties.age, (age.major, age.minor) < (6, 0)
        else { continue }
        let text = base + String(mark)
        let foundation = text.folding(options: .diacriticInsensitive, locale: nil)
          .precomposedStringWithCanonicalMapping
        if !Folding.fold(text, Self.d).utf8.elementsEqual(foundation.utf8) {
          differing.append("\(base) \(String(code, radix: 16))")
        }
      }
    }
    #expect(differing.isEmpty, "\(differing)")
  }

  @Test(
    "lower case is Foundation's, with the sigma that ends a word",
    arguments: [
      ("ΟΔΟΣ", "οδος"), ("ΟΔΟΣ ΟΔΟΣ.", "οδος οδος."), ("Σ", "σ"), ("ΣΑΣ", "σας"), ("ΑΣ'", "ας'"),
      ("ΑΣ'Α", "ασ'α"), ("Α Σ", "α σ"), ("ΑΣ\u{301}", "ας\u{301}"), ("ΑΣ\u{301}Α", "ασ\u{301}α"),
      ("ΑΣ1", "ας1"), ("1Σ", "1σ"), ("ΣΣ", "σς"), ("ΑΣ\nΑΣ", "ας\nας"), ("AΣ", "aς"),
      ("ΑΣ-Α", "ας-α"),
      ("Straße", "straße"), ("İI", "i\u{307}i"), ("ÀÉ", "àé"), ("", ""),
    ])
  func lowerCase(text: String, expected: String) {
    #expect(Array(text.lowercasedText.utf8) == Array(expected.utf8))
    #expect(Array((text as NSString).lowercased(with: nil).utf8) == Array(expected.utf8))
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

  @Test("two texts fold to the same text if and only if Foundation compares them as equal")
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

  /// Letters with marks or without, and marks of several classes, some of which compose.
  private static let letters = ["e", "é", "ệ", "日", "가", "\u{1100}", "\u{1D15E}", "שׁ", " ", "ཀ"]
  private static let combining = [
    "\u{301}", "\u{316}", "\u{302}", "\u{323}", "\u{334}", "\u{344}", "\u{345}", "\u{F71}",
    "\u{5C1}", "\u{5BC}", "\u{1D165}", "\u{3099}", "\u{340}", "\u{20DD}", "\u{93C}",
  ]

  @Test("few marks are composed as Foundation composes them, and many to an equivalent text")
  func composition() {
    var random = SeededRandom()
    for number in 0..<3_000 {
      let most = number % 2 == 0 ? 30 : 60
      var text = ""
      for _ in 0...random.number(0...3) {
        text += random.pick(Self.letters)
        let few = Array(Self.combining.shuffled(using: &random).prefix(random.number(1...15)))
        for _ in 0..<random.number(0...most) { text += random.pick(few) }
      }
      let composed = text.precomposedText
      let scalars = text.unicodeScalars.map { String($0.value, radix: 16) }
      // Foundation's results of long runs are not always equivalent.
      #expect(composed == text, "seed \(random.seed): \(scalars)")
      guard most == 30 else { continue }
      let expected = text.precomposedStringWithCanonicalMapping
      #expect(composed.utf8.elementsEqual(expected.utf8), "seed \(random.seed): \(scalars)")
    }
  }

  @Test("a hundred thousand marks after a letter are folded in a few seconds")
  func longRunOfMarks() {
    let low = String(repeating: "\u{316}", count: 50_000)
    let high = String(repeating: "\u{301}", count: 49_999)
    let text = "É" + String(repeating: "\u{316}\u{301}", count: 49_999) + "\u{316}"
    var folded = ""
    let time = processorTime { folded = Folding.fold(text, Self.c) }
    #expect(folded.utf8.elementsEqual(("é" + low + high).utf8))
    #expect(time < .seconds(10))
    #expect(Folding.fold(text, Self.d) == "E")
  }

  @Test("other forms of Cyrillic letters fold to the letters")
  func cyrillicForms() {
    let forms = "\u{1C80}\u{1C81}\u{1C82}\u{1C83}\u{1C84}\u{1C85}\u{1C86}\u{1C87}\u{1C88}"
    #expect(Folding.fold(forms, Self.c) == "вдосттъѣꙋ")
    #expect(Folding.fold(forms, [Self.c, Self.d]) == "вдосттъѣꙋ")
    #expect(Folding.fold(forms, Self.d) == forms)
  }

  @Test("each letter of the basic plane folds as Foundation folds it")
  func everyScalar() {
    var differing: [String] = []
    // Latin letters of the newest Unicode versions, which libraries know of one after the other.
    let newest = UInt32(0xA7C0)...0xA7DF
    // Forms of Cyrillic letters, whose case Foundation does not know.
    let cyrillic = UInt32(0x1C80)...0x1C88
    for code in UInt32(1)..<0xFFFE where !newest.contains(code) && !cyrillic.contains(code) {
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
