// Expressions without predicates, which must compile when the library's operators are visible. The
// compiler refuses an expression for which it tries too many overloads.

import LiveFetch
import LiveFetchPredicates
import Testing

@Suite("With the library's operators visible")
struct TypeCheckingTests {
  @Test("expressions of numbers and text compile as they do alone")
  func expressions() {
    let (a, b, s) = (3, 4, "x")
    let whole = a * 2 + b / 3 - a * (b + 7) > 5 && s == "x"
    let (c, d) = (3.5, 4.5)
    let fraction = c * 2 + d / 3 - c * (d + 7) > 5 && s == "x" || c - 1 < d * 2 && s != "y"
    let sum = [1.5, 2.5].map { $0 * 2 + 1 }.reduce(0, +) / Double(b) - c * 2 > 5 || !s.isEmpty
    #expect([whole, fraction, sum] == [false, true, true])
  }
}
