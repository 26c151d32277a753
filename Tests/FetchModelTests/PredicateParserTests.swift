// Predicate text → syntax tree, or an error.

import FetchModel
import TestSupport
import Testing

@Suite struct PredicateParserTests {
  @Test func `AND binds tighter than OR and NOT tightest`() throws {
    let a = comparison("a", 1)
    let b = comparison("b", 2)
    let c = comparison("c", 3)
    #expect(try Predicate(parsing: "a = 1 or b = 2 AND c = 3") == .or([a, .and([b, c])]))
    #expect(try Predicate(parsing: "NOT a == 1 && b == 2") == .and([.not(a), b]))
    #expect(try Predicate(parsing: "!(a == 1 || b == 2)") == .not(.or([a, b])))
  }

  @Test func `a number after a keyword may begin with a dot`() throws {
    let half = ComparisonPredicate(
      left: literal(.double(0.5)), operation: .greater, right: path("a"))
    #expect(try Predicate(parsing: "NOT .5 > a") == .not(.comparison(half)))
    #expect(
      try Predicate(parsing: "b == 2 AND .5 > a") == .and([comparison("b", 2), .comparison(half)]))
  }

  @Test func `chains are flat however they are bracketed`() throws {
    let flat = try Predicate(parsing: "a = 1 AND b = 2 AND c = 3 AND d = 4")
    #expect(try Predicate(parsing: "(a = 1 AND b = 2) AND (c = 3 AND d = 4)") == flat)
    #expect(try Predicate(parsing: "a = 1 AND (b = 2 AND (c = 3 AND d = 4))") == flat)
    let nested =
      String(repeating: "(a = 1 AND ", count: 100) + "b = 2"
      + String(repeating: ")", count: 100)
    guard case .and(let operands) = try Predicate(parsing: nested) else {
      Issue.record("no chain")
      return
    }
    #expect(operands.count == 101)
  }

  @Test func `brackets may hold an expression or a predicate`() throws {
    let sum = Expression(.arithmetic(.add, path("a"), path("b")))
    #expect(
      try Predicate(parsing: "(a + b) > 3")
        == .comparison(
          ComparisonPredicate(left: sum, operation: .greater, right: literal(.integer(3)))))
    #expect(try Predicate(parsing: "((a == 1))") == comparison("a", 1))
  }

  @Test(
    arguments: [
      ("a = 1", .equal), ("a == 1", .equal), ("a != 1", .notEqual), ("a <> 1", .notEqual),
      ("a<1", .less), ("a =< 1", .lessOrEqual), ("a <= 1", .lessOrEqual), ("a > 1", .greater),
      ("a => 1", .greaterOrEqual), ("a >= 1", .greaterOrEqual), ("a beginswith 1", .beginsWith),
      ("a EndsWith 1", .endsWith), ("a CONTAINS 1", .contains), ("a like 1", .like),
      ("a MATCHES 1", .matches), ("a IN 1", .in), ("a BETWEEN 1", .between),
    ] as [(String, ComparisonPredicate.Operator)])
  func `every spelling of an operator is known`(
    text: String, operation: ComparisonPredicate.Operator
  ) throws {
    let expected = ComparisonPredicate(
      left: path("a"), operation: operation, right: literal(.integer(1)))
    #expect(try Predicate(parsing: text) == .comparison(expected))
  }

  @Test(
    arguments: [
      ("0x2A", .integer(42)), ("0o52", .integer(42)), ("0b101010", .integer(42)),
      ("1.5e3", .double(1500)), ("1e-2", .double(0.01)), (".5", .double(0.5)), ("-7", .integer(-7)),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808", .double(0x1p63)), ("'it\\'s'", .string("it's")),
      ("\"tab\\t\"", .string("tab\t")), ("'\\u00e9\\ud83d\\ude00'", .string("é😀")),
      ("'\\*'", .string("\\*")), ("'\\\\*'", .string("\\*")), ("'%@'", .string("%@")),
      ("TRUE", .boolean(true)), ("no", .boolean(false)), ("NIL", .null), ("null", .null),
    ] as [(String, Literal)])
  func `literals mean their values`(text: String, value: Literal) throws {
    let expected = ComparisonPredicate(left: path("a"), operation: .equal, right: literal(value))
    #expect(try Predicate(parsing: "a == " + text) == .comparison(expected))
  }

  @Test func `quantifiers, options and escaped names are parsed`() throws {
    let expected = ComparisonPredicate(
      quantifier: .no, left: path("cities", "any"), operation: .beginsWith,
      options: [.caseInsensitive, .diacriticInsensitive], right: literal(.string("x")))
    #expect(
      try Predicate(parsing: "none cities.any beginswith[cd] 'x'") == .comparison(expected))
    #expect(try Predicate(parsing: "#any = 1") == comparison("any", 1))
    #expect(try Predicate(parsing: "size = 1") == comparison("size", 1))
    #expect(try Predicate(parsing: #"#"a \"b\"" = 1"#) == comparison(#"a "b""#, 1))
    #expect(try Predicate(parsing: "#'in' = 1") == comparison("in", 1))
    #expect(throws: Never.self) {
      try Predicate(parsing: #"ANY a.#"b c".d == #"e.f" + @sum.#'g h'"#)
    }
  }

  @Test(arguments: [
    "cities.@count > 3", "SUBQUERY(cities, $x, $x.population > 5 AND $x.name != nil).@count > 0",
    "TERNARY(a > 1, 'x', 'y') == 'x'", "CAST(0, \"NSDate\") < day", "add:to:(a, 1) = 2",
    "FUNCTION('sqrt', a) > 2", "FUNCTION(a, 'add:to:', 1) = 2", "tags[FIRST].name == 'x'",
    "tags[SIZE] = 2", "tags[0] = 1", "a BETWEEN {1, 10}", "a IN {}", "a + b * -c ** 2 - 1 >= 0",
    "SELF == 5", "SELF.name LIKE '*x?'", "%K == %@", "%K.%K > %ld", "$x.name = $y",
    "cities.@sum.population > 1", "ANY a.b = 1 AND NONE c.d IN {1}", "TRUEPREDICATE",
    "now() > a", "sum({1, 2}) == 3", "x\u{A0}=\u{A0}1",
  ])
  func `every construct is parsed, and its canonical text is parsed to the same tree`(text: String)
    throws
  {
    let predicate = try Predicate(parsing: text)
    #expect(try Predicate(parsing: predicate.description) == predicate)
  }

  @Test(arguments: [
    ("", 0, "the end", "a key path, a value or a comparison"),
    ("a", 1, "the end", "a comparison operator"),
    ("a ==", 4, "the end", "a key path, a value or a comparison"),
    ("a = = 1", 4, "`=`", "a key path, a value or a comparison"),
    ("a = 1 b = 2", 6, "`b`", "AND, OR or the end"),
    ("(a = 1", 6, "the end", "AND, OR or `)`"),
    ("a = 'x", 4, "a string that does not end", "`'` at its end"),
    ("é = 'x' & b = 1", 9, "`&`", "a name, a value or an operator"),
    ("a = 1 = 2", 6, "`=`", "AND, OR or the end"),
    ("a AND b = 1", 2, "`AND`", "a comparison operator"),
    ("a = 12x", 4, "`12x`", "a number"),
    ("a =[x] 1", 4, "`x`", "`c`, `d`, `cd` or `n`"),
    ("a IN {1, 2", 10, "the end", "`,` or `}`"),
    ("a = 1 OR", 8, "the end", "a key path, a value or a comparison"),
    ("a. = 1", 3, "`=`", "a property's name"),
    ("in = 1", 0, "`in`", "a key path, a value or a comparison"),
    ("a = %", 4, "`%`", "`%@`, `%K`, `%ld` or the like"),
    ("a = 0x", 4, "`0x`", "digits of base 16, of 63 bits at most"),
    ("a = '\\u12'", 5, "`\\u`", "four hexadecimal digits after `\\u`"),
  ])
  func `errors have their offset, the found text and the expected text`(
    text: String, offset: Int, found: String, expected: String
  ) {
    let error = #expect(throws: PredicateError.self) { _ = try Predicate(parsing: text) }
    #expect(error?.code == .syntaxError)
    #expect(error?.offset == offset)
    #expect(error?.found == found)
    #expect(error?.expected == expected)
  }

  @Test(arguments: [
    "(", "!", "-", "NOT ", "ANY ", "{", "f(", "a[", "a.", "\u{FF}", "'", "SUBQUERY(",
  ])
  func `a piece repeated up to the limit is refused quickly`(piece: String) {
    let text = String(repeating: piece, count: 65_000 / piece.utf8.count)
    let duration = processorTime {
      #expect(throws: PredicateError.self) { _ = try Predicate(parsing: text) }
    }
    #expect(duration < .seconds(5))
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `random pieces of predicates are parsed or refused at an offset within the text`(
    seed: UInt64
  ) {
    var random = SeededRandom(seed: seed)
    let pieces = [
      "a", ".", "(", ")", "{", "}", "[", "]", "'x'", "\"", "AND ", " OR ", "NOT ", "==", "<", "1",
      "%@",
      "$x", "@count", "ANY ", "IN", ",", "\\", "é", "SUBQUERY", "#", "-", "**", "\0", "0x", ":",
    ]
    for _ in 0..<2_000 {
      let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        pieces[Int.random(in: 0..<pieces.count, using: &random)]
      }.joined()
      do { _ = try Predicate(parsing: text) } catch {
        #expect((0...text.utf8.count).contains(error.offset), "seed \(seed): \(text)")
      }
    }
  }

  private func path(_ names: String...) -> FetchModel.Expression {
    Expression(.keyPath(base: nil, names.map { KeyPathComponent(.name($0)) }))
  }
  private func literal(_ value: Literal) -> FetchModel.Expression { Expression(.literal(value)) }
  private func comparison(_ name: String, _ value: Int64) -> FetchModel.Predicate {
    .comparison(
      ComparisonPredicate(left: path(name), operation: .equal, right: literal(.integer(value))))
  }
}
