// Loops over a controller's sequences: they receive every change and leave no open channel.

import TestSupport
import Testing

@testable import LiveFetch

@MainActor
@Suite("A reader of a controller", .mayBlock)
struct ResultReadersTests {
  private func controller(_ cities: Cities) async throws -> FetchedResultsController<City> {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: cities.store))
    try await controller.performFetch()
    return controller
  }

  private func openChannels(_ controller: FetchedResultsController<City>) -> Int {
    controller.channels.filter { $0.channel != nil }.count
  }

  @Test("that is left by break closes its channel")
  func breaking() async throws {
    let cities = try Cities(.local)
    let controller = try await controller(cities)
    var loops = 0
    for _ in 0..<100 {
      for await snapshot in controller.snapshots {
        #expect(snapshot.numberOfItems == 5)
        #expect(openChannels(controller) == 1)
        loops += 1
        break
      }
    }
    #expect(loops == 100)
    #expect(openChannels(controller) == 0)
    #expect(controller.channels.count <= 1)
  }

  @Test("that is left by an error, or abandoned, closes its channel")
  func abandoning() async throws {
    let cities = try Cities(.local)
    let controller = try await controller(cities)
    await #expect(throws: CancellationError.self) {
      for await _ in controller.snapshots { throw CancellationError() }
    }
    #expect(openChannels(controller) == 0)
    var iterator: ResultsSequence<ResultsSnapshot>.Iterator? =
      controller.snapshots.makeAsyncIterator()
    _ = await iterator?.next()
    #expect(openChannels(controller) == 1)
    iterator = nil
    #expect(openChannels(controller) == 0)
    _ = controller.changes
    #expect(openChannels(controller) == 0)
  }

  @Test("ends with its task, with a change under way or none")
  func cancelling() async throws {
    let cities = try Cities(.local)
    let controller = try await controller(cities)
    let waiting = Task { @MainActor in
      var count = 0
      for await _ in controller.changes { count += 1 }
      return count
    }
    try await eventually { openChannels(controller) == 1 }
    try await cities.save(#"{"delete":"City","id":5}"#)
    try await eventually { controller.numberOfObjects == 4 }
    await Task.yield()
    waiting.cancel()
    #expect(await waiting.value <= 1)
    try await eventually { openChannels(controller) == 0 }
  }

  @Test("ends when the controller is stopped, after the pending changes")
  func stopping() async throws {
    let cities = try Cities(.local)
    let controller = try await controller(cities)
    var snapshots = controller.snapshots.makeAsyncIterator()
    let waiting = Task { @MainActor in
      var count = 0
      for await _ in controller.changes { count += 1 }
      return count
    }
    try await eventually { openChannels(controller) == 2 }
    controller.stop()
    #expect(await snapshots.next()?.numberOfItems == 5)
    #expect(await snapshots.next() == nil)
    #expect(await waiting.value == 0)
    // A reader that starts after the stop receives later changes.
    var changes = controller.changes.makeAsyncIterator()
    try await cities.save(#"{"delete":"City","id":5}"#)
    try await controller.performFetch()
    #expect(await changes.next()?.objects.map(\.type) == [.delete])
  }

  @Test("of changes that begins before the first fetch gets every change, however late it reads")
  func beforeTheFirstFetch() async throws {
    let cities = try Cities(.local)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: cities.store))
    var changes = controller.changes.makeAsyncIterator()
    try await controller.performFetch()
    try await cities.save(#"{"delete":"City","id":5}"#)
    try await eventually { controller.numberOfObjects == 4 }
    controller.stop()
    #expect(await changes.next()?.objects.map(\.type) == [.delete])
    #expect(await changes.next() == nil)
  }

  @Test("that is slow still gets everything as one change, and the newest content")
  func backpressure() async throws {
    let cities = try Cities(.local)
    let controller = try await controller(cities)
    var snapshots = controller.snapshots.makeAsyncIterator()
    var changes = controller.changes.makeAsyncIterator()
    #expect(await snapshots.next()?.numberOfItems == 5)
    for id in 1...3 {
      try await cities.save(#"{"delete":"City","id":\#(id)}"#)
      try await eventually { controller.numberOfObjects == 5 - id }
    }
    #expect(await changes.next()?.objects.map(\.type) == [.delete, .delete, .delete])
    #expect(await snapshots.next()?.itemIdentifiers == [.integer(5), .integer(4)])
  }
}
