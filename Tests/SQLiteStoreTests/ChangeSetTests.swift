// A position in the history → the changed ids, and the owners whose to-many relationships changed.

import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("History: change sets", .mayBlock)
struct ChangeSetTests {
  private func place(_ store: TrackedFile, _ path: String) throws -> EntityRelationship {
    let names = path.split(separator: ".").map(String.init)
    let entity = try #require(store.history.model.entityIndex(named: names[0]))
    guard
      case .relationship(let index)? =
        store.history.model.entities[entity].property(named: names[1])
    else { throw StoreError.failed("no \(path)") }
    return EntityRelationship(entity: entity, relationship: index)
  }

  @Test("an object that moves between to-many relationships changes both owners")
  func movedMember() throws {
    let store = try TrackedFile(historyFixture)
    let start = try store.token
    try store.file.runExternally("UPDATE City SET country = 2 WHERE id = 10")
    let changeSet = try store.changeSet(after: start)
    #expect(changeSet.objects == [1: [.integer(10)]])
    #expect(
      changeSet.members == [try place(store, "Country.City"): [.integer(1), .integer(2)]])
  }

  @Test("an update of other properties does not change the owner; an insert or a delete does")
  func comeAndGo() throws {
    let store = try TrackedFile(historyFixture)
    let start = try store.token
    try store.file.runExternally("UPDATE City SET name = 'S' WHERE id = 10")
    #expect(try store.changeSet(after: start).members == [:])
    try store.file.runExternally("INSERT INTO City VALUES (30, 'Kobe', 1, 2)")
    try store.file.runExternally("INSERT INTO City VALUES (40, 'Rome', 1, NULL)")
    #expect(
      try store.changeSet(after: start).members == [
        try place(store, "Country.City"): [.integer(2)]
      ])
    try store.file.runExternally("DELETE FROM City WHERE id IN (10, 30)")
    #expect(
      try store.changeSet(after: start).members == [
        try place(store, "Country.City"): [.integer(1)]
      ], "an object that was added and removed is a member neither before nor now")
  }

  @Test("a row of a join table changes both objects")
  func joinRows() throws {
    let store = try TrackedFile(historyFixture)
    let start = try store.token
    try store.file.runExternally("UPDATE City_Tag SET tag = 'old'")
    #expect(
      try store.changeSet(after: start).members == [
        try place(store, "City.Tag"): [.integer(10)],
        try place(store, "Tag.City"): [.text("big"), .text("old")],
      ])
    #expect(try store.changeSet(after: start).objects == [:])
  }

  @Test("a foreign key to a unique column finds the old and the new owner")
  func keyToUniqueColumn() throws {
    let store = try TrackedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE b(id INTEGER PRIMARY KEY, code TEXT REFERENCES a(code));
      INSERT INTO a VALUES (1, 'x'), (2, 'y');
      INSERT INTO b VALUES (5, 'x');
      """)
    let start = try store.token
    try store.file.runExternally("UPDATE b SET code = 'y'; DELETE FROM a WHERE id = 1")
    #expect(
      try store.changeSet(after: start).members == [
        try place(store, "a.b"): [.integer(1), .integer(2)]
      ])
  }

  @Test("a table can be read as it was at an earlier position")
  func shadow() throws {
    let store = try TrackedFile(historyFixture)
    let start = try store.token
    let before = try store.rows("SELECT * FROM City ORDER BY id")
    try store.file.runExternally(
      """
      UPDATE City SET name = 'a' WHERE id = 10;
      UPDATE City SET name = 'b' WHERE id = 10;
      UPDATE City SET id = 11 WHERE id = 10;
      INSERT INTO City VALUES (30, 'c', 1, 1);
      DELETE FROM City WHERE id IN (20, 30);
      REPLACE INTO City VALUES (20, 'd', 1, 1);
      """)
    let layout = HistoryLayout(of: TableInfo(store.history.schema.entities[1]))
    let sql = """
      WITH \(layout.overlayExpression(at: HistoryPosition(0)).text)
      SELECT * FROM (SELECT id, name, population, country FROM main.City WHERE \(layout.isUnchanged(nil))
      UNION ALL SELECT id, name, population, country FROM \(layout.overlayName)
      WHERE livefetch_existed) ORDER BY id
      """
    let past = sql.replacing("> ?", with: "> \(start.position)")
    #expect(try store.rows(past) == before)
    #expect(try store.rows("SELECT id, name FROM City ORDER BY id") == ["11|'b'", "20|'d'"])
  }
}
