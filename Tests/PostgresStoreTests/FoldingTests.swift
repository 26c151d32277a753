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

  /// Every assigned character beyond ASCII after a European letter and after another one, 20 to a text.
  private static let characters: [String] = {
    let scalars = (UInt32(0x80)..<0xE_0200).compactMap { Unicode.Scalar($0) }
      .filter { $0.properties.generalCategory != .unassigned }
    return stride(from: 0, to: scalars.count, by: 20).map { start in
      scalars[start..<min(start + 20, scalars.count)].map { "a\($0)\u{5D0}\($0)" }.joined()
    }
  }()

  /// Letters with two marks in every order, after the letter and around it.
  private static let marked: [String] = {
    let letters = [
      "a", "É", "ß", "ﬁ", "ǖ", "ệ", "ΐ", "й", "か", "क", "한", "\u{1112}", "א", "😀", "𐐀",
    ]
    let marks = [
      "\u{301}", "\u{323}", "\u{345}", "\u{483}", "\u{5B0}", "\u{93C}", "\u{93E}", "\u{1161}",
      "\u{11A8}", "\u{20DD}", "\u{3099}", "\u{FE00}", "\u{E0100}",
    ]
    var texts: [String] = []
    for letter in letters {
      for first in marks {
        for second in marks {
          texts += ["\(first)\(letter)\(second)", "\(letter)\(first)\(second)"]
        }
      }
    }
    return texts
  }()

  /// The texts for which an expression of `t` differs from `expected`, as code points.
  private static func differing(
    _ connection: PostgresConnection, _ expression: String, _ texts: [String],
    _ expected: (String) -> String
  ) throws -> [String] {
    let result = try connection.query(
      "SELECT \(expression) FROM unnest($1::text[]) WITH ORDINALITY AS v (t, n) ORDER BY n",
      [arrayText(texts)])
    return texts.enumerated().compactMap { row, text -> String? in
      let isEqual = result.text(row, 0).unicodeScalars.elementsEqual(expected(text).unicodeScalars)
      return isEqual
        ? nil : text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
    }
  }

  @Test("folding equals the SQLite store's, for every character and for letters with marks")
  func folding() throws {
    try withDatabase { connection, _ in
      try PostgresFunctions.install(connection)
      for options in [1, 2, 3] as [UInt8] {
        let differing = try Self.differing(
          connection, "livefetch.livefetch_fold(t, \(options))",
          Self.samples + Self.characters + Self.marked
        ) { Folding.fold($0, StringOptions(rawValue: options)) }
        #expect(differing == [], "options \(options)")
      }
    }
  }

  @Test("upper and lower case equal the SQLite store's, for every character")
  func letterCase() throws {
    try withDatabase { connection, _ in
      try PostgresFunctions.install(connection)
      let texts = (Self.samples + Self.characters).map { $0.replacing("Σ", with: "") }
      let upper = try Self.differing(connection, "livefetch.livefetch_uppercase(t)", texts) {
        $0.uppercasedText { false }
      }
      #expect(upper == [])
      let lower = try Self.differing(connection, "livefetch.livefetch_lowercase(t)", texts) {
        $0.lowercasedText { false }
      }
      #expect(lower == [])
    }
  }

  @Test("the condition for texts that are folded admits every text with the part")
  func likeness() throws {
    let options: StringOptions = [.caseInsensitive, .diacriticInsensitive]
    let several = (UInt32(0x80)..<0x2_0000).compactMap { Unicode.Scalar($0) }.filter { scalar in
      let folded = Folding.fold(String(Character(scalar)), options).unicodeScalars
      return folded.count > 1 && folded.contains { $0.isASCII }
    }
    #expect(
      several == [
        "\u{DF}", "\u{149}", "\u{1E9A}", "\u{1E9E}", "\u{FB00}", "\u{FB01}", "\u{FB02}", "\u{FB03}",
        "\u{FB04}", "\u{FB05}", "\u{FB06}",
      ])
    let expression = try #require(SearchPrefilter.expression(of: "É1日本", options))
    let parts = expression.split(separator: "|")
    #expect(several.allSatisfy { parts[0].unicodeScalars.contains($0) })
    #expect(
      parts[1] == #"""
        [\u0065\u0045\u0080-\U0010FFFF][\u0080-\U0010FFFF]*[\u0031\u0080-\U0010FFFF]\#
        [\u0080-\U0010FFFF]*[\u0080-\U0010FFFF]
        """#)
    let marked = #"(?:[\u0001-\u007F]?[\u0080-\U0010FFFF])"#
    #expect(
      SearchPrefilter.expression(of: "Aéè", .caseInsensitive)
        == #"\#(parts[0])|[\u0061\u0041\u0080-\U0010FFFF]\#(marked)*\#(marked)"#)
    #expect(SearchPrefilter.expression(of: "e", []) == nil)
  }

  @Test("a search with that condition finds what it finds without it")
  func searchesWithLikeness() throws {
    var random = SeededRandom()
    let pieces =
      Self.samples.flatMap { $0.unicodeScalars.map { String($0) } } + [
        "a", "E", "k", "<", "\u{212A}", "\u{301}", "\u{323}", "\u{338}", "\u{345}", "\u{20DD}",
        "\u{3099}",
      ]
    let texts = (0..<200).map { _ in
      (0..<Int.random(in: 1...6, using: &random)).map { _ in pieces.randomElement(using: &random)! }
        .joined()
    }
    try withDatabase { connection, _ in
      try PostgresFunctions.install(connection)
      for _ in 0..<60 {
        let text = Array(texts.randomElement(using: &random)!.unicodeScalars)
        let start = Int.random(in: 0..<text.count, using: &random)
        let end = min(text.count, start + Int.random(in: 1...3, using: &random))
        let part = String(String.UnicodeScalarView(text[start..<end]))
        let options = StringOptions(rawValue: .random(in: 1...3, using: &random))
        guard let likeness = SearchPrefilter.expression(of: part, options) else { continue }
        for place in ["begins", "ends", "contains"] {
          let differing = try connection.query(
            """
            SELECT t FROM unnest($1::text[]) AS t WHERE
              livefetch.livefetch_\(place)(t, $2, \(options.rawValue), $3)
              <> livefetch.livefetch_\(place)(t, $2, \(options.rawValue))
            """, [arrayText(texts), .text(part), .text(likeness)])
          #expect(
            try differing.rows().isEmpty, "seed \(random.seed), \(place), \(part), \(options)")
        }
      }
    }
  }

  @Test("a statement that searches is planned again for each constant, and others stay prepared")
  func searches() throws {
    try withDatabase { connection, _ in
      try PostgresFunctions.install(connection)
      for statement in [
        "SELECT livefetch.livefetch_begins('Örtchen', $1::text, 3)",
        "SELECT livefetch.livefetch_contains('Örtchen', $1::text, 2)",
        "SELECT livefetch.livefetch_ends('Örtchen', $1::text, 3)",
        "SELECT livefetch.livefetch_like('Ort', $1::text, 3)",
        "SELECT livefetch.livefetch_fold('Örtchen', 3) <> $1::text",
      ] {
        _ = try connection.query(statement, ["ort"])
      }
      let kept = try connection.query(
        "SELECT statement FROM pg_prepared_statements WHERE starts_with(statement, $1)",
        ["SELECT livefetch."])
      #expect(try kept.rows() == [["SELECT livefetch.livefetch_fold('Örtchen', 3) <> $1::text"]])
    }
  }

  @Test("functions of an earlier version are replaced, and an index of their results stays")
  func earlierVersion() throws {
    try withDatabase("CREATE TABLE word (name text)") { connection, _ in
      try PostgresFunctions.install(connection)
      try connection.execute(
        """
        CREATE INDEX word_folded ON word (livefetch.livefetch_fold(name, 3));
        CREATE OR REPLACE FUNCTION livefetch.livefetch_fold(value text, options integer) RETURNS text
          LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT 'earlier' $$;
        COMMENT ON SCHEMA livefetch IS 'earlier';
        """)
      try PostgresFunctions.install(connection)
      let result = try connection.query(
        "SELECT livefetch.livefetch_fold('Érable', 3), to_regclass('word_folded') IS NOT NULL")
      #expect(result.text(0, 0) == "erable")
      #expect(try result.bool(0, 1))
    }
  }
}
