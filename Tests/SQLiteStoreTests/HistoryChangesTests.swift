// The history → the changes of each save, for `GET /v1/changes`.

import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

private let fixture = """
  CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT);
  CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, population INTEGER,
    country_id INTEGER REFERENCES Country);
  CREATE TABLE Tag(name TEXT PRIMARY KEY);
  CREATE TABLE City_Tag(city INTEGER REFERENCES City, tag TEXT REFERENCES Tag,
    PRIMARY KEY(city, tag));
  INSERT INTO Country VALUES (1, 'China'), (2, 'Japan');
  INSERT INTO City VALUES (10, 'Shanghai', 24, 1), (20, 'Tokyo', 9, 2);
  INSERT INTO Tag VALUES ('big'), ('old');
  """

extension TrackedFile {
  /// One save.
  fileprivate func save(_ sql: String) throws {
    try connection.execute("BEGIN; \(sql)")
    try History.stamp(position: token.position.number, on: connection)
    try connection.execute("COMMIT")
  }

  /// Returns the saves after a token, one per line: `+City 1 ~City 2(name) -City 3`.
  fileprivate func changes(after token: Token?, limit: Int = 100) throws -> [String]? {
    try history.changes(after: token, limit: limit, in: transaction)?.saves.map(line)
  }

  private func line(_ save: SaveRecord) -> String {
    var words: [String] = []
    for (index, entity) in history.model.entities.enumerated() {
      if let ids = save.inserted[index] { words.append("+\(entity.name) \(list(ids))") }
      for update in save.updated[index] ?? [] {
        words.append("~\(entity.name) \(update.id)(\(update.properties.joined(separator: ",")))")
      }
      if let ids = save.deleted[index] { words.append("-\(entity.name) \(list(ids))") }
    }
    return words.joined(separator: " ")
  }

  private func list(_ ids: [ObjectID]) -> String {
    ids.map(\.description).joined(separator: ",")
  }
}

@Suite("History: the changes of each save", .mayBlock)
struct HistoryChangesTests {
  @Test("each save reports its inserts, its updates with their properties, and its deletes")
  func saves() throws {
    let store = try TrackedFile(fixture)
    let start = try store.token
    try store.save(
      "INSERT INTO City VALUES (30, 'Osaka', 2, 2); UPDATE City SET name = 'T' WHERE id = 20")
    try store.save("UPDATE City SET population = 3, country_id = 1 WHERE id = 30")
    try store.save("DELETE FROM City WHERE id = 20; UPDATE City SET name = 'S' WHERE id = 10")
    #expect(
      try store.changes(after: start) == [
        "+City 30 ~City 20(name)", "~City 30(population,country)", "~City 10(name) -City 20",
      ])
  }

  @Test(
    "a save is folded: an inserted and deleted object is omitted, a deleted and inserted one is an update"
  )
  func folded() throws {
    let store = try TrackedFile(fixture)
    let start = try store.token
    try store.save("INSERT INTO City VALUES (30, 'Osaka', 2, 2); DELETE FROM City WHERE id = 30")
    try store.save(
      "DELETE FROM City WHERE id = 10; INSERT INTO City VALUES (10, 'Shanghai', 25, 1)")
    try store.save(
      "UPDATE City SET name = 'x' WHERE id = 20; UPDATE City SET name = 'Tokyo' WHERE id = 20")
    try store.save("REPLACE INTO City VALUES (20, 'Edo', 9, 2)")
    try store.save("UPDATE City SET id = 21 WHERE id = 20")
    #expect(
      try store.changes(after: start) == [
        "", "~City 10(population)", "", "~City 20(name)", "+City 21 -City 20",
      ])
  }

  @Test("a link between two objects is an update of both")
  func links() throws {
    let store = try TrackedFile(fixture)
    let start = try store.token
    try store.save("INSERT INTO City_Tag VALUES (10, 'big')")
    try store.save("UPDATE City_Tag SET tag = 'old'")
    try store.save(
      "INSERT INTO City VALUES (30, 'O', 1, 1); INSERT INTO City_Tag VALUES (30, 'big')")
    #expect(
      try store.changes(after: start) == [
        "~City 10(Tag) ~Tag big(City)", "~City 10(Tag) ~Tag big(City) ~Tag old(City)",
        "+City 30 ~Tag big(City)",
      ])
  }

  @Test("a page ends at its limit, and the next page continues from its token")
  func pages() throws {
    let store = try TrackedFile(fixture)
    let start = try store.token
    for name in ["a", "b", "c"] { try store.save("UPDATE City SET name = '\(name)' WHERE id = 10") }
    try store.save("DELETE FROM City WHERE id = 10")
    let page = try #require(
      try store.history.changes(after: start, limit: 2, in: store.transaction))
    #expect(page.saves.count == 2)
    #expect(page.to == page.saves[1].token)
    #expect(page.saves.map(\.updated.count) == [1, 1])
    #expect(try store.changes(after: page.to) == ["~City 10(name)", "-City 10"])
    let end = try #require(
      try store.history.changes(after: store.token, limit: 2, in: store.transaction))
    #expect(end.saves.isEmpty)
    #expect(end.to == (try store.token))
  }

  @Test("without a token the whole history is returned; for an unknown one nothing")
  func bounds() throws {
    let store = try TrackedFile(fixture)
    try store.file.runExternally("UPDATE City SET name = 'a' WHERE id = 10")
    #expect(
      try store.changes(after: nil) == ["~City 10(name)"], "external commit without a position yet")
    #expect(
      try store.changes(after: Token(epoch: "x", position: HistoryPosition(1), nonce: 1)) == nil)
  }
}
