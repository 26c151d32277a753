// Measures the processor time of a fetch of many rows in comparison with GRDB:
// LIVEFETCH_ROWS=100000 swift test -c release --package-path Tests/Newcomer --scratch-path .build-newcomer --filter DecodingBenchmark

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

  /// Prints the least processor time of five fetches of each kind, and its ratio to GRDB's.
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
    var least: [String: Double] = [:]
    func measure(_ name: String, _ fetch: () async throws -> Int) async throws {
      let start = clock()
      let count = try await fetch()
      let time = Double(clock() - start) / Double(CLOCKS_PER_SEC)
      #expect(count == rows)
      least[name] = min(least[name] ?? .infinity, time)
    }
    // In turns, so that a busy machine slows all of them.
    for _ in 0..<5 {
      try await measure("GRDB Codable") { try await queue.read { try Reading.fetchAll($0).count } }
      try await measure("structures") {
        let context = ManagedObjectContext(store: store)
        return try await context.fetch(LiveFetch.FetchRequest<Reading>()).count
      }
      try await measure("objects") {
        let context = ManagedObjectContext(store: store)
        return try await context.fetch(LiveFetch.FetchRequest<ReadingObject>()).count
      }
    }
    let grdb = least["GRDB Codable"] ?? .nan
    for (name, time) in least.sorted(by: { $0.value < $1.value }) {
      print("\(name) \(time) s, \(time / grdb)")
    }
  }
}
