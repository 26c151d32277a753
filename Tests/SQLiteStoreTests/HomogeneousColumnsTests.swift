// The columns whose values have one encoding, while several threads check them.

import FetchModel
import SQLComposer
import Testing

@testable import SQLiteStore

@Suite("Columns of one encoding")
struct HomogeneousColumnsTests {
  private static func token(_ position: Int64) -> Token {
    Token(epoch: "e", position: HistoryPosition(position), nonce: 1)
  }

  @Test("a column that another thread has added is not taken for checked at a later position")
  func addedMeanwhile() {
    let known = EntityAttribute(entity: 0, attribute: 0)
    let added = EntityAttribute(entity: 0, attribute: 1)
    var checked = HomogeneousColumns.Checked(
      columns: [known, added], first: Self.token(1), last: Self.token(1))
    let withoutAdded = checked.advance([known], without: [], to: Self.token(2))
    #expect(withoutAdded == [known])
    #expect(checked.last == Self.token(1))
    let all = checked.advance([known, added], without: [], to: Self.token(2))
    #expect(all == [known, added])
    #expect(checked.last == Self.token(2))
    let withoutChanged = checked.advance([known, added], without: [added], to: Self.token(3))
    #expect(withoutChanged == [known])
    #expect(checked.columns == [known])
    #expect(checked.last == Self.token(3))
  }
  @Test("a column whose check ends after a read at a later position is added")
  func addedAfterLaterRead() {
    let known = EntityAttribute(entity: 0, attribute: 0)
    let added = EntityAttribute(entity: 0, attribute: 1)
    var checked = HomogeneousColumns.Checked(
      columns: [known], first: Self.token(1), last: Self.token(3))
    checked.add(added, at: Self.token(2))
    #expect(checked.columns == [known, added])
    #expect(checked.first == Self.token(2))
    #expect(checked.last == Self.token(2))
  }

  @Test("a column is not added at a position that the other columns have not reached")
  func addedBeforeOthers() {
    let known = EntityAttribute(entity: 0, attribute: 0)
    let added = EntityAttribute(entity: 0, attribute: 1)
    var checked = HomogeneousColumns.Checked(
      columns: [known], first: Self.token(1), last: Self.token(1))
    checked.add(added, at: Self.token(2))
    #expect(checked.columns == [known])
    #expect(checked.last == Self.token(1))
  }
}
