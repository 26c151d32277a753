// The time of a fetch of many rows, beside GRDB's: LIVEFETCH_ROWS=100000 swift test -c release
// --package-path Tests/Newcomer --scratch-path .build-newcomer --filter DecodingBenchmark

import Foundation
import GRDB
import LiveFetch
import Testing

private struct Reading: Codable, FetchableRecord, PersistableRecord, Fetchable, Identifiable {
  static let databaseTableName = "Reading"
  static let entityName = "Reading"
  let id: Int64
  var title: String
  var place: String?
  var value: Double
  var count: Int
  var isValid: Bool
}

private final class ReadingObject: ManagedObject, ManagedObjectType {
  static let entityName = "Reading"
  enum Key: String, KeyCodable { case title, place, value, count, isValid }

  @Managed(.title) var title = ""
  @Managed(.place) var place: String?
  @Managed(.value) var value = 0.0
  @Managed(.count) var count = 0
  @Managed(.isValid) var isValid = false
}

@Suite(.serialized) struct DecodingBenchmark {
  private nonisolated static let rows = ProcessInfo.processInfo.environment["LIVEFETCH_ROWS"]
    .flatMap(Int.init)

  /// Returns the ratio of each fetch's least time of five to GRDB's.
  @Test(.enabled(if: rows != nil)) func `structures and objects beside GRDB's records`()
    async throws
  {
    let rows = Self.rows ?? 0
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("\(UUID().uuidString).sqlite").path
    defer {
      for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
    let store = try LocalStore(
      creating: path, model: ModelFile(of: [ReadingObject.self]))
    defer { store.close() }
    let queue = try DatabaseQueue(path: path)
    try await queue.write { database in
      for id in 1...rows {
        try Reading(
          id: Int64(id), title: "Reading number \(id)",
          place: id % 3 == 0 ? nil : "Station \(id % 40)",
          value: Double(id) / 7, count: id * 13, isValid: id % 2 == 0
        ).insert(database)
      }
    }
    let grdb = try await least {
      let count = try await queue.read { try Reading.fetchAll($0).count }
      #expect(count == rows)
    }
    let values = try await least {
      let context = ManagedObjectContext(store: store)
      let found = try await context.fetch(LiveFetch.FetchRequest<Reading>())
      #expect(found.count == rows)
    }
    let objects = try await least {
      let context = ManagedObjectContext(store: store)
      let found = try await context.fetch(LiveFetch.FetchRequest<ReadingObject>())
      #expect(found.count == rows)
    }
    print("GRDB Codable \(grdb)")
    print("structures   \(values)  \(values / grdb)")
    print("objects      \(objects)  \(objects / grdb)")
  }

  private func least(_ body: () async throws -> Void) async throws -> Double {
    var least = Double.infinity
    for _ in 0..<5 {
      let start = ContinuousClock.now
      try await body()
      least = min(least, (ContinuousClock.now - start) / .seconds(1))
    }
    return least
  }
}
