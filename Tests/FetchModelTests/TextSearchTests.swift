// Search of a text in a text, without a store.

import FetchModel
import Testing

@Suite("Text search")
struct TextSearchTests {
  /// Text, relation, part → whether `[c]` finds it, and whether `[cd]` does.
  @Test(
    arguments: [
      ("e\u{301}x", .contains, "E", false, true), ("q\u{323}x", .contains, "Q", false, true),
      ("éx", .contains, "E", false, true), ("q\u{323}x", .beginsWith, "Q", false, true),
      ("e\u{301}x", .beginsWith, "E", false, true), ("xq\u{323}", .endsWith, "q", false, true),
      ("q\u{323}x", .contains, "Q\u{323}", true, true),
      ("Q\u{323}", .beginsWith, "q\u{323}", true, true),
      ("xq\u{323}", .endsWith, "\u{323}", false, false),
      ("xe\u{301}", .endsWith, "\u{301}", false, false),
      ("qq\u{323}q", .contains, "qq", false, true), ("q\u{323}qq", .contains, "QQ", true, true),
      ("qqq\u{323}", .contains, "QQ", true, true), ("q\u{323}x", .endsWith, "X", true, true),
      ("\u{915}\u{93F}", .contains, "\u{915}", true, true), ("q", .contains, "Q", true, true),
      ("q\u{323}x", .like, "Q*", false, true), ("q\u{323}x", .like, "*Q*", false, true),
    ] as [(String, Comparison.Relation, String, Bool, Bool)])
  func aLetterAndItsMarkAreOneLetter(
    text: String, relation: Comparison.Relation, part: String, inAnyCase: Bool, withoutMarks: Bool
  ) {
    let found = TextSearch(part, relation, [.caseInsensitive]).matches(text)
    #expect(found == inAnyCase, "\(text) \(relation)[c] \(part)")
    let both = TextSearch(part, relation, [.caseInsensitive, .diacriticInsensitive])
    #expect(both.matches(text) == withoutMarks, "\(text) \(relation)[cd] \(part)")
  }
}
