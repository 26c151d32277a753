// Refusals as clients see them.

import Testing

@testable import FetchModel

@Suite("Problem details")
struct ProblemTests {
  @Test("a name of millions of letters is shortened in the refusal that quotes it")
  func longNames() {
    let name = String(repeating: "x", count: 3_000_000)
    let unknown = Problem(.unknownEntity(name: name, hint: nil), isPath: false)
    let start = "There is no entity `"
    #expect(
      unknown.detail == start + String(repeating: "x", count: 1_000 - start.count) + " … "
        + String(repeating: "x", count: 498) + "`.")
    let change = ChangeProblem(
      change: 0, property: name, code: .unknownProperty, detail: "`T` has no property `\(name)`")
    let refused = Problem(SaveError.invalid([change]))
    #expect(refused.json.count < 10_000)
  }

  @Test("a text of 8,000 bytes is not shortened")
  func shortNames() {
    let detail = String(repeating: "é", count: 4_000)
    #expect(Problem(400, "c", "t", detail).detail == detail)
    #expect(Problem(400, "c", "t", detail + "x").detail.utf8.count == 3_004)
  }
}
