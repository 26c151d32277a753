// The order of positions, and the text of positions and tokens.

import FetchModel
import Testing

@Suite struct HistoryPositionTests {
  @Test("A later number is a later position")
  func numbers() {
    #expect(HistoryPosition(7) < HistoryPosition(8))
    #expect(HistoryPosition(8) > HistoryPosition(7, inProgress: [3, 5]))
    #expect(HistoryPosition(7) == HistoryPosition(7, inProgress: []))
  }

  @Test("Of two snapshots with one next transaction, the later has fewer in progress")
  func snapshots() {
    let positions = [
      HistoryPosition(10, inProgress: [4, 6, 9]), HistoryPosition(10, inProgress: [6, 9]),
      HistoryPosition(10, inProgress: [9]), HistoryPosition(10),
      HistoryPosition(11, inProgress: [10]),
    ]
    #expect(positions.shuffled().sorted() == positions)
  }

  @Test(
    "A token prints as it was parsed",
    arguments: [
      ("k3-1042-00009f3c", HistoryPosition(1042)),
      ("a-0-00000000", HistoryPosition(0)),
      ("p1-1042.7.3-0000002a", HistoryPosition(1042, inProgress: [1035, 1039])),
    ])
  func tokens(text: String, position: HistoryPosition) throws {
    let token = try #require(Token(text))
    #expect(token.position == position)
    #expect(token.description == text)
  }

  @Test(
    "Other text is no token",
    arguments: [
      "", "k3", "k3-1042", "k3--00000000", "k3-1042.-00000000", "k3-1042.0-00000000",
      "k3-1042.3.7-00000000", "k3-1042.7.7-00000000", "k3-5.6-00000000", "k3-+5-00000000",
      "k3-9223372036854775808-00000000", "k3-5-0000000", "K3-5-00000000", "k3-5-00000000-",
      "k3-5.9223372036854775807-00000000", "k3-5. 1-00000000",
    ])
  func malformed(text: String) { #expect(Token(text) == nil) }
}
