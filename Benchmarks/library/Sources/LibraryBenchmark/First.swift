// The first result of a results controller and of a live sequence, beside the first value of GRDB's
// observation: all rows of a file, and a window of 50 rows by a column without an index.

import Foundation
import GRDB
import LiveFetch

extension Program {
  /// Prints the least times of three first results of each kind.
  static func first(_ path: String) async throws {
    let (store, queue) = try await readings(path)
    var least: [String: clock_t] = [:]
    for limit in [nil, 50] as [Int?] {
      let name = limit == nil ? "all" : "window"
      var request = LiveFetch.FetchRequest<Reading>(
        sortedBy: limit == nil ? [] : [.descending("value")])
      request.fetchLimit = limit
      let expected = limit ?? readingCount
      func record(_ kind: String, since start: clock_t, _ found: Int) {
        precondition(found == expected)
        let key = "\(kind), \(name)"
        least[key] = min(least[key] ?? .max, clock() - start)
      }
      // In turns, so that a busy machine slows all of them.
      for _ in 0..<3 {
        var start = clock()
        let observed = try await observe(queue, limit)
        record("observation", since: start, observed)
        start = clock()
        let controller = FetchedResultsController(
          fetchRequest: request, context: ManagedObjectContext(store: store))
        try await controller.performFetch()
        record("controller", since: start, controller.fetchedObjects?.count ?? 0)
        controller.stop()
        start = clock()
        let live = try await follow(store, request)
        record("live", since: start, live)
      }
    }
    for (name, time) in least { print("\(name)\t\(seconds(time))") }
    store.close()
  }

  /// Returns the number of rows of an observation's first value.
  nonisolated private static func observe(
    _ queue: DatabaseQueue, _ limit: Int?
  ) async throws -> Int {
    let window = limit.map { " ORDER BY value DESC LIMIT \($0)" } ?? ""
    let observation = ValueObservation.tracking { database in
      try Reading.fetchAll(database, sql: "SELECT * FROM Reading\(window)")
    }
    for try await readings in observation.values(in: queue) { return readings.count }
    return 0
  }

  /// Returns the number of elements of a live sequence's first snapshot.
  nonisolated private static func follow(
    _ store: LocalStore, _ request: LiveFetch.FetchRequest<Reading>
  ) async throws -> Int {
    for try await snapshot in store.live(request) { return snapshot.elements.count }
    return 0
  }
}
