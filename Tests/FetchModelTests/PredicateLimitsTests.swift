// The limits of predicates, at the limit and one beyond it; and parsing time linear in the text.

import FetchModel
import TestSupport
import Testing

@Suite("Limits of predicates")
struct PredicateLimitsTests {
  private func code(
    _ text: String, _ arguments: [PredicateArgument] = []
  ) -> PredicateError.Code? {
    do {
      _ = try ResolvedPredicate(
        parsing: text, arguments: arguments, entity: 0, model: PredicateResolverTests.model)
      return nil
    } catch {
      return error.code
    }
  }

  private func nested(_ count: Int, _ open: String, _ middle: String, _ close: String) -> String {
    String(repeating: open, count: count) + middle + String(repeating: close, count: count)
  }

  @Test("64 KiB of text")
  func length() {
    let frame = "name == ''".utf8.count
    func text(_ bytes: Int) -> String {
      "name == '" + String(repeating: "x", count: bytes - frame) + "'"
    }
    #expect(code(text(65_536)) == nil)
    #expect(code(text(65_537)) == .tooLong)
    // Bytes count, not letters.
    let letters = String(repeating: "é", count: (65_536 - frame) / 2)
    #expect(code("name == '\(letters)'") == nil)
    #expect(code("name == '\(letters)é'") == .tooLong)
  }

  @Test("64 levels, chains of one kind counting as one")
  func depth() {
    let comparison = "population == 1"
    #expect(code(nested(64, "NOT ", comparison, "")) == nil)
    #expect(code(nested(65, "NOT ", comparison, "")) == .tooComplex)
    #expect(code(nested(100, "(population > 1 AND ", comparison, ")")) == nil)
    #expect(code(nested(32, "(population > 1 AND (name == 'x' OR ", comparison, "))")) == nil)
    #expect(
      code(nested(33, "(population > 1 AND (name == 'x' OR ", comparison, "))")) == .tooComplex)
    #expect(code("population" + nested(64, " + 1", "", "") + " == 1") == nil)
    #expect(code("population" + nested(65, " + 1", "", "") + " == 1") == .tooComplex)
  }

  @Test("1,000 nodes")
  func nodes() {
    let chain = Array(repeating: "population == 1", count: 1_000)
    #expect(code(chain.joined(separator: " OR ")) == nil)
    #expect(code((chain + ["population == 1"]).joined(separator: " OR ")) == .tooComplex)
    // A negation and its comparison are two.
    let negated = Array(repeating: "NOT population == 1", count: 500)
    #expect(code(negated.joined(separator: " AND ")) == nil)
    #expect(code((negated + ["population == 1"]).joined(separator: " AND ")) == .tooComplex)
  }

  @Test("10,000 values, literals or arguments, in all lists together")
  func values() {
    let values = Array(repeating: "1", count: 10_000)
    let list = values.joined(separator: ",")
    #expect(code("population IN {\(list)}") == nil)
    #expect(code("population IN {\(list),1}") == .tooComplex)
    let half = values.dropLast(5_000).joined(separator: ",")
    #expect(code("population IN {\(half)} OR population IN {\(half)}") == nil)
    #expect(code("population IN {\(half)} OR population IN {\(half),1}") == .tooComplex)
    let array = values.map { JSON.number($0) }
    #expect(code("population IN %@", [.json(.array(array))]) == nil)
    #expect(code("population IN %@", [.json(.array(array + [.number("1")]))]) == .tooComplex)
    #expect(code("population IN %@", [.text("[\(list)]")]) == nil)
    #expect(code("population IN %@", [.text("[\(list),1]")]) == .tooComplex)
  }

  /// The parts of a text, repeated until the text has the given number of bytes.
  private static let shapes: [(name: String, open: String, middle: String, close: String)] = [
    ("a long string", "name == '", "x", "'"), ("escapes", "name == '", "\\n", "'"),
    ("surrogates", "name == '", "\\ud83d\\ude00", "'"), ("a long name", "", "a", " == 1"),
    ("dots", "country", ".country", " == 1"), ("digits", "population == ", "9", ""),
    ("hexadecimal digits", "population == 0x", "F", ""), ("parentheses", "", "(", ""),
    ("brackets", "a", "[0", ""), ("braces", "", "{", ""), ("NOT", "", "NOT ", "name == 'x'"),
    ("minus", "population == ", "-", "1"), ("spaces", "name", " ", "== 'x'"),
    ("breaking spaces", "name", "\u{A0}", "== 'x'"), ("a chain", "", "name=='x' OR ", "name=='y'"),
    ("a broken chain", "", "name=='x' OR ", "="), ("values", "population IN {", "1,", "1}"),
    ("a misspelt name", "", "populationn", " == 1"), ("LIKE", "name LIKE '", "*a", "'"),
    ("MATCHES", "name MATCHES '", "(a", "'"), ("a bad pattern", "name MATCHES '", "a{2}", "("),
    ("calls", "", "f(", ""), ("selectors", "", "a:", "(1) == 1"), ("quotes", "", "''", ""),
    ("half a letter", "name == '", "\u{FFFD}", ""), ("signs", "", "&", ""), ("at", "", "@", ""),
    ("sums", "population", "+1", "== 1"), ("wide letters", "nam == '", "日本", "'"),
  ]

  @Test("the memory of a condition is that of its operations and constants")
  func memorySize() throws {
    func size(_ text: String) throws -> Int {
      let predicate = try Predicate(parsing: text)
      let resolved = try predicate.resolved(in: PredicateResolverTests.model, entity: 0)
      return resolved.condition.memorySize
    }
    let texts = ["a", "b", "c"].map { "'" + String(repeating: $0, count: 100) + "'" }
    let list = "name IN {" + texts.joined(separator: ",") + "}"
    // Two operations of 256 bytes, three constants of 160, and their texts.
    #expect(try size(list) == 512 + 480 + 300)
    #expect(try size("\(list) OR population > 3") == 1_292 + 256 + 3 * 256 + 160)
    #expect(try size("TRUEPREDICATE") == 256)
  }

  private func cost(_ text: String) -> Duration {
    processorTime {
      do throws(PredicateError) {
        let predicate = try Predicate(parsing: text)
        _ = predicate.description
        _ = try predicate.resolved(in: PredicateResolverTests.model, entity: 0)
      } catch {
        _ = error.description
      }
    }
  }

  @Test("parsing takes time linear in the text", arguments: shapes.indices)
  func linearTime(index: Int) {
    let shape = Self.shapes[index]
    func text(_ bytes: Int) -> String {
      let frame = shape.open.utf8.count + shape.close.utf8.count
      return shape.open
        + String(repeating: shape.middle, count: (bytes - frame) / shape.middle.utf8.count)
        + shape.close
    }
    let (short, long) = (text(8_000), text(64_000))
    // Eight times the text: quadratic time would be 64 times as long. A busy machine gets more attempts.
    let isLinear = (0..<5).contains { _ in cost(long) < cost(short) * 32 + .milliseconds(20) }
    #expect(isLinear, "\(shape.name): \(cost(short)) and \(cost(long))")
  }
}
