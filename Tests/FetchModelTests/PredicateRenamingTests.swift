// The text of a predicate and new names → the text with the new names.

import Testing

@testable import FetchModel

struct PredicateRenamingTests {
  @Test(arguments: [
    ("id == 1", "key == 1"), ("owner.id == id", "owner.key == key"), ("#id == 1", "#key == 1"),
    ("name == 'id'", "name == 'id'"), (##"#"id" == 1"##, ##"#"id" == 1"##),
    // Texts that cannot be split into tokens
    ("id == 'x", "id == 'x"), ("id == %", "id == %"), ("id == $", "id == $"),
  ])
  func namesAreReplaced(text: String, renamed: String) {
    #expect(Predicate.renaming(["id": "key"], in: text) == renamed)
  }
}
