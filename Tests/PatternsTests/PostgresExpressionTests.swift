// Patterns of MATCHES → regular expressions of PostgreSQL.

import Testing

@testable import Patterns

@Suite("MATCHES: expressions of PostgreSQL")
struct PostgresExpressionTests {
  @Test("a pattern is written with sets of code points, and matches a whole text")
  func translated() {
    #expect(
      PostgresExpression("a+", ignoresCase: false)
        == .expression(#"\A(?:(?:(?:[\U00000061]){1}(?:[\U00000061])*))\Z"#))
    #expect(
      PostgresExpression("[a-c]", ignoresCase: false)
        == .expression(#"\A(?:[\U00000061-\U00000063])\Z"#))
  }

  @Test("two letters to which one character folds are that character, too")
  func expansions() {
    #expect(
      PostgresExpression("ss", ignoresCase: true)
        == .expression(
          #"\A(?:(?:[\U00000053\U00000073\U0000017F][\U00000053\U00000073\U0000017F]"#
            + #"|[\U000000DF\U00001E9E]))\Z"#))
  }

  @Test("an invalid pattern matches nothing, and grapheme clusters cannot be expressed")
  func refused() {
    #expect(PostgresExpression("(", ignoresCase: false) == .nothing)
    #expect(PostgresExpression(#"(a)\1"#, ignoresCase: false) == .nothing)
    #expect(PostgresExpression(#"\X"#, ignoresCase: false) == .inexpressible)
  }
}
