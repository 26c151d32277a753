// The names of hidden attributes are found in texts of problems.

import FetchModel
import Testing

@Suite("Names of hidden attributes in texts")
struct HiddenNameTests {
  @Test(
    "are found as words, and in quotes if they are none",
    arguments: [
      ("salary > 4", true), ("salaries > 4", false), ("-boss.salary", true),
      (#"#"Home Address" == 'x'"#, true), (#"boss.#'Home Address' != nil"#, true),
      ("Home == Address", false), ("name == nil", false),
    ])
  func mentions(text: String, isFound: Bool) {
    #expect(text.mentions(["salary", "Home Address"]) == isFound)
    #expect(!text.mentions([]))
  }
}
