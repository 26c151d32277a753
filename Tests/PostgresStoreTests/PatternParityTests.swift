// MATCHES, LIKE and searches of a PostgreSQL server, compared with the search that the SQLite store
// uses.

import Bytes
import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: patterns match what they match in the SQLite store", .mayBlock)
struct PatternParityTests {
  private static let texts = [
    "", "a", "A", "b", "ab", "aB", "abc", "aaa", "ß", "ẞ", "SS", "Straße", "STRASSE", "ſ", "K",
    "é", "e\u{301}", "q\u{323}x", "Q\u{323}", "xq\u{323}", "qq\u{323}q", "ŉ", "ʼn", "ﬃ", "ffi", "ΐ",
    "a b", "ab cd", "ab\u{301} c", "a\n", "a\r\n", "a\r", "a\nb", "a\r\nb", "\n", "\r\n", "😀",
    "a😀b",
    "1", "12", "123", "a1_b2", "x.y", "x*y", "x?y", "x\\y", "%", "_", "が", "か\u{3099}", "İ", "i̇",
    "ı",
    "日本", "a\u{200D}b", "\u{300}", "\u{301}a", "AbBa", "foo bar", "foo-bar", "aXbXc", "...", "a\tb",
  ]

  private static let patterns = [
    "", "a", ".", ".*", "a.*", ".*b", "a|b|", "(a|b)+", "[a-c]+", "[^a]", "[^a]*", "a{2,3}", "a{0}",
    "(?:ab)?c?", "ss", "s", "stra(ss|ß)e", "ſ", "k", "é", "e", "q", "ffi", "f.*", "ʼn", "n", "i",
    "İ",
    #"\d+"#, #"\w+"#, #"\W"#, #"\s"#, #"\w+\s\w+"#, #"a\b.*"#, #".*\bb.*"#, #".*\B.*"#,
    #"\bfoo\b.*"#,
    #"a$"#, #"a$\n?"#, #"a\Z\r?\n?"#, #"(?m)a$.*"#, #"(?s)a.b"#, #"(?m)(?s).*^b"#, #"a\R?b?"#,
    #"\R"#,
    #"[[:alpha:]]+"#, #"\p{L}+"#, #"\P{L}+"#, #"\p{Script=Han}+"#, #"x\.y"#, #"x[*?.]y"#,
    #"\Qx*y\E"#,
    #"a++b"#, #"[ab]++"#, #"a{1,2}+a?"#, "(?i)AB", "(?i)ß", #"\x{1F600}"#, #"[\u0000-\u007F]*"#,
    "(a*)*", "(a|aa)+", "a{300}", "(?:a?){300}", "[a-z&&[^b]]+", "%", "_", "[%_]",
  ]

  private static let likes = [
    "", "*", "?", "??", "a*", "*b", "*a*", "a?", "?b", "a?c", "a*c", "*q*", "q*", "*q", "*ß*", "s*",
    "*ss*", "s*s", "?traße", "straße", "stra?e", "stra??e", #"x\*y"#, #"x\?y"#, #"x\\y"#, "x?y",
    "%", "_",
    "?%", "é", "e", "?́*", "ff?", "*i", "*K*", "a*b*", "q?x", "q??",
  ]

  private static let parts = [
    "a", "A", "b", "q", "Q\u{323}", "\u{323}", "\u{301}", "e", "E", "é", "ss", "ß", "s", "qq",
    "ffi", "f",
    "日", "*", ".", "\\", "x", "か", "が", "k", "😀", "",
  ]

  private static let options: [StringOptions] = [
    [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
  ]

  @Test(
    "every pattern and text, with every option",
    arguments: [Comparison.Relation.matches, .like, .contains, .beginsWith, .endsWith])
  func parity(relation: Comparison.Relation) throws {
    try withDatabase("") { connection, _ in
      try PostgresFunctions.install(connection)
      let patterns =
        switch relation {
        case .matches: Self.patterns
        case .like: Self.likes
        default: Self.parts
        }
      for pattern in patterns {
        for options in Self.options {
          let search = TextSearch(pattern, relation, options)
          let expected = Self.texts.filter { search.matches($0) }
          let place = Comment("\(relation) '\(pattern)' \(options.rawValue)")
          #expect(try Self.found(connection, relation, pattern, options) == expected, place)
        }
      }
    }
  }

  private static func found(
    _ connection: PostgresConnection, _ relation: Comparison.Relation, _ pattern: String,
    _ options: StringOptions
  ) throws -> [String] {
    let text = SQLFragment("text")
    var test = SQLFragment("livefetch_\(name(of: relation))(text, ")
    test.bind(.text(pattern))
    test.append(", \(options.rawValue))")
    test = Dialect.postgres().pattern(text, relation, pattern, options) ?? test
    var sql = SQLFragment("SELECT text FROM unnest(")
    sql.bind(.text(arrayText(texts).string ?? ""))
    sql.append("::text[]) WITH ORDINALITY AS t (text, place) WHERE ")
    sql.append(test)
    sql.append(" ORDER BY place")
    let statement = PostgresStatement(sql)
    return try connection.query(statement.sql, statement.parameters).rows().map {
      $0[0].string ?? ""
    }
  }

  private static func name(of relation: Comparison.Relation) -> String {
    switch relation {
    case .matches: "matches"
    case .like: "like"
    case .contains: "contains"
    case .beginsWith: "begins"
    default: "ends"
    }
  }
}
