// Trees → canonical text → the same trees.

import FetchModel
import Testing

@Suite("Predicates as canonical text")
struct PredicatePrinterTests {
  @Test(
    "each way to write a predicate has one canonical form",
    arguments: [
      ("a=1", "a == 1"), ("a <> 1 && b =< 2 || ! c => 3", "a != 1 AND b <= 2 OR NOT c >= 3"),
      ("(a = 1)", "a == 1"),
      (
        "(a = 1 OR b = 2) AND c = 3",
        "(a == 1 OR b == 2) AND c == 3"
      ),
      ("(a = 1 AND b = 2) OR c = 3", "a == 1 AND b == 2 OR c == 3"),
      ("NOT (a = 1)", "NOT a == 1"), ("NOT NOT a = 1", "NOT NOT a == 1"),
      ("NOT (a = 1 AND b = 2)", "NOT (a == 1 AND b == 2)"),
      ("a = 1 AND (b = 2 AND c = 3)", "a == 1 AND b == 2 AND c == 3"),
      ("name beginswith [dc] 'x'", "name BEGINSWITH[cd] \"x\""),
      ("name like[n] 'x'", "name LIKE[n] \"x\""),
      ("some a.b > 1", "ANY a.b > 1"), ("none a.b in {1,2}", "NONE a.b IN {1, 2}"),
      ("a between {1,2}", "a BETWEEN {1, 2}"), ("a in {}", "a IN {}"),
      ("(a - b) - c = 1", "a - b - c == 1"), ("a - (b - c) = 1", "a - (b - c) == 1"),
      ("(a * b) + c = 1", "a * b + c == 1"), ("a * (b + c) = 1", "a * (b + c) == 1"),
      ("a ** (b ** c) = 1", "a ** (b ** c) == 1"), ("(a ** b) ** c = 1", "a ** b ** c == 1"),
      ("-a ** 2 = 1", "-a ** 2 == 1"), ("-(a ** 2) = 1", "-(a ** 2) == 1"),
      ("- 5 = a", "-5 == a"), ("-(5) = a", "-(5) == a"), ("--5 = a", "--5 == a"),
      ("a = -9223372036854775808", "a == -9223372036854775808"),
      ("a = -9223372036854775808.0", "a == -9.223372036854776e+18"),
      ("a = 0x2A", "a == 42"), ("a = 1e2", "a == 100.0"), ("a = .5", "a == 0.5"),
      ("a = 0.1", "a == 0.1"), ("a = 1e300", "a == 1e+300"), ("a = 1e999", "a == 1e999"),
      ("a = 'it\\'s \"so\"'", "a == \"it's \\\"so\\\"\""), ("a = '\\*'", "a == \"\\\\*\""),
      ("a = 'x\\n\\t\\u0007'", "a == \"x\\n\\t\\u0007\""), ("a = '\\ud83d\\ude00'", "a == \"😀\""),
      ("a = yes AND b = NIL", "a == TRUE AND b == nil"),
      ("#in = 1 AND a.in = 2 AND #size = 3", "#in == 1 AND a.in == 2 AND #size == 3"),
      ("size = 1", "#size == 1"), ("self.name = 'x'", "SELF.name == \"x\""),
      ("a[first].b = 1", "a[FIRST].b == 1"),
      ("a[size] = 1 and a[0] = 2", "a[SIZE] == 1 AND a[0] == 2"),
      ("a[#first] = 1", "a[#first] == 1"), ("(a).b = 1", "(a).b == 1"),
      ("cast(0,'NSDate') < now()", "CAST(0, \"NSDate\") < now()"),
      ("function(a, 'add:to:', 1) = 2", "add:to:(a, 1) == 2"),
      ("function('first', a) = 2", "FUNCTION(\"first\", a) == 2"),
      ("ternary(a=1 or b=2,'x','y')='x'", "TERNARY(a == 1 OR b == 2, \"x\", \"y\") == \"x\""),
      (
        "subquery(c,$x,$x.a>1 and b=2).@count>0",
        "SUBQUERY(c, $x, $x.a > 1 AND b == 2).@count > 0"
      ),
      ("ANY subquery(c,$x,ANY $x.d > 1).e = 1", "ANY SUBQUERY(c, $x, ANY $x.d > 1).e == 1"),
      (
        "c.@distinctUnionOfObjects.a.@count > %ld and %K.b = %@ and c = $v",
        "c.@distinctUnionOfObjects.a.@count > %ld AND %K.b == %@ AND c == $v"
      ),
      ("truepredicate or falsepredicate", "TRUEPREDICATE OR FALSEPREDICATE"),
    ] as [(String, String)])
  func canonicalForms(text: String, canonical: String) throws {
    let predicate = try Predicate(parsing: text)
    #expect(predicate.description == canonical)
    #expect(try Predicate(parsing: canonical) == predicate)
  }

  @Test("an expression alone is no predicate")
  func expressionAlone() {
    #expect(throws: PredicateError.self) { try Predicate(parsing: "((a + b)) * (c)") }
  }

  @Test("every tree prints as text that parses to it", arguments: 0..<20)
  func roundTrip(run: UInt64) throws {
    let seed = run &* 7_919 &+ UInt64.random(in: 0..<1_000_000)
    var generator = PredicateGenerator(seed: seed)
    var compared = 0
    for index in 0..<200 {
      let predicate = generator.predicate(depth: 4)
      let text = predicate.description
      do {
        let parsed = try Predicate(parsing: text)
        #expect(parsed == predicate, "seed \(seed), tree \(index): \(text)")
        #expect(parsed.description == text, "seed \(seed), tree \(index)")
        compared += 1
      } catch  where error.code == .tooComplex {
        continue
      } catch {
        Issue.record("seed \(seed), tree \(index): \(error) in \(text)")
      }
    }
    #expect(compared > 100, "seed \(seed)")
  }

  @Test("no parenthesis can be left out", arguments: 0..<10)
  func fewestParentheses(run: UInt64) throws {
    let seed = run &* 104_729 &+ UInt64.random(in: 0..<1_000_000)
    var generator = PredicateGenerator(seed: seed)
    generator.groupsOnly = true
    for index in 0..<100 {
      let predicate = generator.predicate(depth: 3)
      let text = predicate.description
      for shorter in Self.withoutOnePair(text) {
        let parsed = try? Predicate(parsing: shorter)
        #expect(parsed != predicate, "seed \(seed), tree \(index): \(text) and \(shorter)")
      }
    }
  }

  /// `text` without one of its pairs of parentheses, for each pair.
  private static func withoutOnePair(_ text: String) -> [String] {
    let characters = Array(text)
    var open: [Int] = []
    var results: [String] = []
    for (index, character) in characters.enumerated() {
      if character == "(" { open.append(index) }
      if character == ")", let start = open.popLast() {
        let kept = characters.enumerated().filter { $0.offset != start && $0.offset != index }
        results.append(String(kept.map(\.element)))
      }
    }
    return results
  }

  @Test("names that are no words are quoted")
  func quotedNames() throws {
    let path = Expression(
      .keyPath(base: nil, [KeyPathComponent(.name("first \"name\"\n"))]))
    let one = Expression(.placeholder(Placeholder(.value, ordinal: 0)))
    let predicate = Predicate.and([
      .comparison(ComparisonPredicate(left: path, operation: .equal, right: one)),
      .comparison(ComparisonPredicate(left: one, operation: .equal, right: path)),
    ])
    let written = predicate.formatted(arguments: [.text("x")])
    #expect(written.text == #"#"first \"name\"\n" == %@ AND %@ == #"first \"name\"\n""#)
    #expect(written.arguments == [.text("x"), .text("x")])
    #expect(try Predicate(parsing: written.text).description == written.text)
  }

  @Test("trees that violate the normal form of chains keep their meaning")
  func looseTrees() throws {
    let a = try Predicate(parsing: "a == 1")
    #expect(Predicate.and([]).description == "TRUEPREDICATE")
    #expect(Predicate.or([]).description == "FALSEPREDICATE")
    #expect(Predicate.not(.or([a])).description == "NOT a == 1")
    #expect(Predicate.and([a, .and([a, a])]).description == "a == 1 AND a == 1 AND a == 1")
  }

  @Test("text that differs in its bytes is not the same literal")
  func exactText() throws {
    #expect(try Predicate(parsing: "a == '\u{E9}'") != Predicate(parsing: "a == 'e\u{301}'"))
    #expect(Value.string("\u{E9}") != .string("e\u{301}"))
    #expect(Set([Value.string("\u{E9}"), .string("e\u{301}")]).count == 2)
    #expect(ObjectID.text("\u{E9}") != .text("e\u{301}"))
  }
}
