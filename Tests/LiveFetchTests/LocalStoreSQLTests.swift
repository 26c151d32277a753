// SQL of the program on a local store: arguments, rows, errors, and the end of its task.

import Foundation
import LiveFetch
import TestSupport
import Testing

@Suite("SQL of the program", .mayBlock)
struct LocalStoreSQLTests {
  /// Runs for hours.
  private static let endless = """
    WITH RECURSIVE n(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n
    """

  private func cities() throws -> (Cities, LocalStore) {
    let cities = try Cities(.local)
    return (cities, try #require(cities.store as? LocalStore))
  }

  private func model() -> ModelFile {
    var city = ModelFile.Entity(name: "City")
    city.attributes = [.init(name: "name", type: .string)]
    var model = ModelFile()
    model.entities = [city]
    return model
  }

  @Test(
    "takes numbers and texts as arguments, and refuses dates and data, which files store in several forms"
  )
  func arguments() async throws {
    let (cities, store) = try cities()
    let found = try await store.rows(
      "SELECT id, name FROM City WHERE name = ? AND population < ?", "Lima", 1000.5, as: City.self)
    #expect(found.map(\.id) == [3])
    let date = StoreError.failed(
      "a date is no argument of SQL: pass what the column stores, in files of a model "
        + "`date.timeIntervalSince1970`")
    await #expect(throws: date) { try await store.rows("SELECT ?", Date(), as: Int.self) }
    await #expect(throws: date) {
      try await store.rows("SELECT ?", Optional(Instant(Date())), as: Int.self)
    }
    await #expect(
      throws: StoreError.failed("data is no argument of SQL: compare `hex(column)` with a text")
    ) { try await store.rows("SELECT ?", Data([1]), as: Int.self) }
    #expect(try await store.rows("SELECT ?", Optional<Date>.none, as: Int?.self) == [nil])
    withExtendedLifetime(cities) {}
  }

  @Test("decodes one column alone as a value")
  func values() async throws {
    let (cities, store) = try cities()
    #expect(
      try await store.rows("SELECT population FROM City ORDER BY id", as: Int.self)
        == [900, 300, 800, 40, 200])
    #expect(try await store.rows("SELECT min(name) FROM City", as: String.self) == ["Bamako"])
    await #expect(throws: UnreadableValue("expected a number, found a string")) {
      try await store.rows("SELECT name FROM City", as: Int.self)
    }
    withExtendedLifetime(cities) {}
  }

  @Test("has SQLite's own message for a statement that it cannot prepare")
  func unknownNames() async throws {
    let (cities, store) = try cities()
    for (sql, reason) in [
      ("SELECT * FROM nope", "no such table: nope"), ("SELECT no FROM City", "no such column: no"),
      ("SELECT (", "incomplete input"),
    ] {
      await #expect(throws: StoreError.failed(reason)) { try await store.rows(sql, as: Int.self) }
    }
    withExtendedLifetime(cities) {}
  }

  @Test("ends when its task is cancelled")
  func cancellation() async throws {
    var options = LocalStore.Options()
    options.queryTimeout = 600
    let store = try LocalStore.inMemory(model(), options: options)
    let task = Task { try await store.rows(Self.endless, as: Int.self) }
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await #expect {
      try await task.value
    } throws: { error in
      if case .cancelled? = error as? ObjectStoreError { true } else { false }
    }
    store.close()
  }

  @Test("ends at the time limit that a store in memory was made with")
  func timeLimit() async throws {
    var options = LocalStore.Options()
    options.queryTimeout = 0.01
    let store = try LocalStore.inMemory(model(), options: options)
    await #expect(throws: StoreError.queryTimeout) {
      try await store.rows(Self.endless, as: Int.self)
    }
    store.close()
  }

  @Test("in a trigger lets a save end at the time limit, and the error names the option")
  func slowSave() async throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    try sqlite(
      path,
      Cities.schema + """
        CREATE TRIGGER slow AFTER DELETE ON City BEGIN
          UPDATE country SET name = (\(Self.endless));
        END;
        """)
    var options = LocalStore.Options()
    options.queryTimeout = 0.5
    let store = try LocalStore(path: path, options: options)
    let save = try JSON(parsing: Array(#"{"changes":[{"delete":"City","id":1}]}"#.utf8))
    await #expect {
      try await store.save(save)
    } throws: { error in
      "\(error)"
        == "the store refuses for now: the save took longer than the option queryTimeout; nothing was changed"
    }
    store.close()
    #expect(try sqlite(path, "SELECT count(*) FROM City") == ["5"])
    withExtendedLifetime(directory) {}
  }
}
