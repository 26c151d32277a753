// Both libraries in one file: the names of each are found, and a record of the one is an element
// of the other.

import Foundation
import GRDB
import LiveFetch
import Testing

struct ListRecord: Codable, FetchableRecord, PersistableRecord, Fetchable, Identifiable {
  static let databaseTableName = "List"
  static let entityName = "List"
  let id: Int64
  var title: String

  static let titleColumn = Column("title")
}

struct `The library beside GRDB` {
  @Test func `reads what GRDB writes`() async throws {
    let store = try SampleStore()
    let context = ManagedObjectContext(store: store.store)
    let queue = try DatabaseQueue(path: store.path)
    try await queue.write { database in
      try database.execute(
        sql: "INSERT INTO List (id, title) VALUES (?, ?)", arguments: [7, "Groceries"])
      let row: Row? = try Row.fetchOne(database, sql: "SELECT title FROM List")
      let value: DatabaseValue? = row?["title"]
      #expect(value == "Groceries".databaseValue)
    }
    let request = LiveFetch.FetchRequest<ListRecord>(sortedBy: [.ascending("title")])
    #expect(try await context.fetch(request).map(\.title) == ["Groceries"])
    let records = try await queue.read { database in
      try ListRecord.filter(ListRecord.titleColumn == "Groceries").fetchAll(database)
    }
    #expect(records.map(\.id) == [7])
  }

  @concurrent @Test func `follows a fetch outside any actor`() async throws {
    let store = try await SampleStore()
    var titles: [[String]] = []
    for try await snapshot in store.store.live(LiveFetch.FetchRequest<ListRecord>()) {
      titles.append(snapshot.elements.map(\.title))
      guard titles.count < 2 else { break }
      let save = #"{"changes":[{"insert":"List","values":{"title":"Groceries"}}]}"#
      _ = try await store.store.save(JSON(parsing: Array(save.utf8)))
    }
    #expect(titles == [[], ["Groceries"]])
  }

  @Test func `leaves the names of other modules alone`() async throws {
    let isLong: Predicate<ListRecord> = #Predicate { $0.title.count > 3 }
    #expect(try isLong.evaluate(ListRecord(id: 1, title: "Groceries")))
  }
}
