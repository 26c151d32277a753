// A fetch of many rows of a file, as structures and as managed objects, beside GRDB's records.

import Foundation
import GRDB
import LiveFetch

struct Reading: Codable, FetchableRecord, PersistableRecord, Fetchable, Identifiable {
  static let databaseTableName = "Reading"
  static let entityName = "Reading"
  let id: Int64
  var title: String
  var place: String?
  var value: Double
  var count: Int
  var isValid: Bool
}

final class ReadingObject: ManagedObject, ManagedObjectType {
  static let entityName = "Reading"
  enum Key: String, KeyCodable { case title, place, value, count, isValid }

  @Managed(.title) var title = ""
  @Managed(.place) var place: String?
  @Managed(.value) var value = 0.0
  @Managed(.count) var count = 0
  @Managed(.isValid) var isValid = false
}

extension Program {
  static let readingCount = 100_000

  /// Makes a file of readings, and opens it with both libraries.
  static func readings(_ path: String) async throws -> (LocalStore, DatabaseQueue) {
    let store = try LocalStore(creating: path, model: ModelFile(of: [ReadingObject.self]))
    let queue = try DatabaseQueue(path: path)
    let count = readingCount
    try await queue.write { database in
      for id in 1...count {
        try Reading(
          id: Int64(id), title: "Reading number \(id)",
          place: id % 3 == 0 ? nil : "Station \(id % 40)",
          value: Double(id) / 7, count: id * 13, isValid: id % 2 == 0
        ).insert(database)
      }
    }
    return (store, queue)
  }

  /// Prints the least times of three fetches of each kind.
  static func rows(_ path: String) async throws {
    let (store, queue) = try await readings(path)
    let count = readingCount
    var least: [String: clock_t] = [:]
    func record(_ name: String, since start: clock_t, _ found: Int) {
      precondition(found == count)
      least[name] = min(least[name] ?? .max, clock() - start)
    }
    // In turns, so that a busy machine slows all of them.
    for _ in 0..<3 {
      var start = clock()
      let records = try await queue.read { try Reading.fetchAll($0).count }
      record("records", since: start, records)
      start = clock()
      let structures = try await ManagedObjectContext(store: store)
        .fetch(LiveFetch.FetchRequest<Reading>()).count
      record("structures", since: start, structures)
      start = clock()
      let objects = try await ManagedObjectContext(store: store)
        .fetch(LiveFetch.FetchRequest<ReadingObject>()).count
      record("objects", since: start, objects)
    }
    for (name, time) in least { print("\(name)\t\(seconds(time))") }
    store.close()
  }
}
