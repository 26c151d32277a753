// [c], [d], [cd] and [n] on hard texts: SQL and the evaluator compared with Foundation.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Folding: SQL and the evaluator give Foundation's results", .mayBlock)
struct FoldingParityTests {
  private static let texts = [
    "", "a", "A", "ä", "Ä", "a\u{308}", "A\u{308}", "å", "\u{212B}", "ß", "ẞ", "ss", "SS", "sS",
    "ſ", "s",
    "S", "İ", "I", "i", "ı", "i\u{307}", "é", "É", "e\u{301}", "e", "E", "ñ", "n", "ø", "Ø", "o",
    "ł", "Ł",
    "l", "ﬁ", "fi", "FI", "ﬃ", "ŉ", "ʼn", "Ǆ", "ǅ", "ǆ", "Σ", "σ", "ς", "ΟΔΟΣ", "οδός", "Ά", "α",
    "Α", "ᾳ",
    "ᾼ", "αι", "Ω", "\u{2126}", "Й", "и", "И\u{306}", "Ё", "е", "Ế", "ế", "が", "か", "か\u{3099}",
    "ガ",
    "カ", "ｶﾞ", "가", "\u{1100}\u{1161}", "कि", "क", "ก่", "ก", "أ", "ا", "ا\u{654}", "\u{5E9}\u{5C1}",
    "ש",
    "ａ", "Ａ", "Ⅷ", "ⅷ", "µ", "μ", "K", "\u{212A}", "k", "𐐀", "𐐨", "😀", "👩‍👩‍👧", "x\u{3099}", "x",
    "e\u{20DD}",
    "日", "日\u{301}", "日\u{FE00}", "q\u{307}\u{323}", "q\u{323}\u{307}", "q", "Straße", "STRASSE",
    "straße",
  ]

  private static let options: [(String, String.CompareOptions)] = [
    ("[c]", .caseInsensitive), ("[d]", .diacriticInsensitive),
    ("[cd]", [.caseInsensitive, .diacriticInsensitive]),
  ]

  private static func key(_ text: String, _ options: String.CompareOptions) -> [UInt8] {
    Array(text.folding(options: options, locale: nil).precomposedStringWithCanonicalMapping.utf8)
  }

  /// A row of texts for the evaluator.
  private struct Row: EvaluatedRow {
    let text: String
    func value(of slot: Int) -> StoredValue? { .text(text) }
    func elements(of collection: Int) -> [Row]? { nil }
  }

  private func fixture() throws -> PredicateFixture {
    let fixture = try PredicateFixture("CREATE TABLE word(id INTEGER PRIMARY KEY, s TEXT);")
    for (index, text) in Self.texts.enumerated() {
      try fixture.insert("word", [.integer(Int64(index)), .text(text)])
    }
    return fixture
  }

  /// Checks on both sides for which texts a predicate holds.
  private func check(
    _ text: String, _ argument: String, _ fixture: PredicateFixture, _ expected: [Bool]
  ) throws {
    let predicate = try fixture.resolve(text, [.json(.string(argument))], entity: "word")
    let found = Set(try fixture.run(predicate, entity: "word").ids)
    let evaluator = PredicateEvaluator(
      predicate.condition, model: fixture.model, columns: fixture.columns)
    let wrong = zip(Self.texts, expected).enumerated().compactMap { index, pair -> String? in
      let (isFound, verdict) = (found.contains("\(index)"), evaluator.evaluate(Row(text: pair.0)))
      guard isFound != pair.1 || verdict != pair.1 else { return nil }
      return "\(pair.0): SQL \(isFound), evaluator \(String(describing: verdict))"
    }
    #expect(wrong == [], "\(text) \(argument)")
  }

  @Test("texts are equal and ordered as in Foundation", arguments: options.indices)
  func comparing(index: Int) throws {
    let (letters, options) = Self.options[index]
    let fixture = try fixture()
    let keys = Self.texts.map { Self.key($0, options) }
    for (argument, key) in zip(Self.texts, keys) {
      let precede = keys.map { $0.lexicographicallyPrecedes(key) }
      try check("s ==\(letters) %@", argument, fixture, keys.map { $0 == key })
      try check("s !=\(letters) %@", argument, fixture, keys.map { $0 != key })
      try check("s <\(letters) %@", argument, fixture, precede)
      try check("NOT s >=\(letters) %@", argument, fixture, precede)
    }
  }

  @Test("texts contain each other as in Foundation", arguments: options.indices)
  func searching(index: Int) throws {
    let (letters, options) = Self.options[index]
    let fixture = try fixture()
    let keys = Self.texts.map { Self.key($0, options) }
    for (argument, key) in zip(Self.texts, keys) {
      let places = keys.map {
        Self.places(of: key, in: $0, ofLetters: options == .caseInsensitive)
      }
      let ends = zip(places, keys).map { $0.contains($1.count - key.count) }
      try check("s BEGINSWITH\(letters) %@", argument, fixture, places.map { $0.contains(0) })
      try check("s ENDSWITH\(letters) %@", argument, fixture, ends)
      try check("NOT s CONTAINS\(letters) %@", argument, fixture, places.map(\.isEmpty))
      try check("s IN\(letters) {%@}", argument, fixture, keys.map { $0 == key })
    }
  }

  @Test("[n] compares texts as written, code point by code point")
  func normalized() throws {
    let fixture = try fixture()
    let texts = Self.texts.map { Array($0.utf8) }
    for (argument, utf8) in zip(Self.texts, texts) {
      let equal = texts.map { $0 == utf8 }
      let begin = texts.map { !utf8.isEmpty && $0.starts(with: utf8) }
      try check("s ==[n] %@", argument, fixture, equal)
      try check("s BEGINSWITH[n] %@", argument, fixture, begin)
      try check("s IN[n] {%@}", argument, fixture, equal)
    }
  }

  @Test("MATCHES[c] without folding finds the same texts as Foundation's regular expressions")
  func matching() throws {
    let fixture = try fixture()
    for argument in Self.texts {
      let pattern = NSRegularExpression.escapedPattern(for: argument)
      let reference = try NSRegularExpression(
        pattern: "\\A(?:\(pattern))\\z", options: .caseInsensitive)
      let match = Self.texts.map { text in
        let whole = NSRange(location: 0, length: text.utf16.count)
        return reference.firstMatch(in: text, range: whole) != nil
      }
      try check("s MATCHES[c] %@", pattern, fixture, match)
    }
  }

  /// The offsets of `part` in `bytes`. An occurrence in letters neither begins nor ends before a
  /// mark.
  private static func places(
    of part: [UInt8], in bytes: [UInt8], ofLetters: Bool
  ) -> [Int] {
    guard !part.isEmpty, part.count <= bytes.count else { return [] }
    return (0...bytes.count - part.count).filter { start in
      guard bytes[start...].starts(with: part) else { return false }
      let isInside = start > 0 && beginsWithMark(bytes[start...])
      return !ofLetters || !isInside && !beginsWithMark(bytes[(start + part.count)...])
    }
  }

  private static func beginsWithMark(_ utf8: ArraySlice<UInt8>) -> Bool {
    guard let scalar = String(decoding: utf8, as: UTF8.self).unicodeScalars.first else {
      return false
    }
    return [.nonspacingMark, .enclosingMark].contains(scalar.properties.generalCategory)
  }
}
