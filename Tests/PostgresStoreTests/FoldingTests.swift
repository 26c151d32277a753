// Case and diacritic folding of a PostgreSQL server, compared with the SQLite store's.

import FetchModel
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: folding and letter case", .mayBlock)
struct FoldingTests {
  private static let samples = [
    "", "Plain", "ÄÖÜß", "Straße", "ﬁn", "ĳs", "e\u{301}", "E\u{323}\u{301}x", "\u{301}lone",
    "Ångström", "\u{212B}", "ΑΣΣ Ω", "ἄλφα", "Йод и\u{306}", "が", "か\u{3099}", "한글", "ั้ไทย", "हिन्दी",
    "ﷺ", "İstanbul ı", "𐐀𐐨", "😀é", "ǆǅǄ", "ŉ", "ΐ", "Ⓐ", "ﬀ\u{301}",
  ]

  @Test("folding equals the SQLite store's, for samples and for every letter with a neighbour")
  func folding() throws {
    try withDatabase { connection, _ in
      try PostgresFunctions.install(connection)
      let letters = (UInt32(0x80)..<0x3000).compactMap { Unicode.Scalar($0) }
        .map { "a\($0)\u{5D0}\($0)" }
      for options in [1, 2, 3] as [UInt8] {
        let texts = Self.samples + letters
        let result = try connection.query(
          """
          SELECT livefetch.livefetch_fold(t, $2::int)
          FROM unnest($1::text[]) WITH ORDINALITY AS v (t, n) ORDER BY n
          """, [arrayText(texts), .integer(Int64(options))])
        var differing: [String] = []
        for (row, text) in texts.enumerated() {
          let expected = Folding.fold(text, StringOptions(rawValue: options))
          if !result.text(row, 0).unicodeScalars.elementsEqual(expected.unicodeScalars) {
            differing.append(
              text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " "))
          }
        }
        #expect(differing == [], "options \(options)")
      }
    }
  }

  @Test("upper and lower case equal the SQLite store's")
  func letterCase() throws {
    try withDatabase { connection, _ in
      try PostgresFunctions.install(connection)
      for text in Self.samples where !text.contains("Σ") {
        let result = try connection.query(
          "SELECT livefetch.livefetch_uppercase($1), livefetch.livefetch_lowercase($1)",
          [.text(text)])
        #expect(result.text(0, 0) == text.uppercasedText { false })
        #expect(result.text(0, 1) == text.lowercasedText { false })
      }
    }
  }
}
