// A data store's controller: the changes it reports, their order, and edge cases.

import Dispatch
import LiveFetch
import Synchronization
import TestSupport
import Testing

/// Records its queries and returns no results.
private final class RecordingDataStore: DataStore<Town, FilterRequest<Town>>, @unchecked Sendable {
  let queries = Mutex<[Query]>([])
  override func execute(_ query: Query) { queries.withLock { $0.append(query) } }
}

/// Rejects a query before its reader waits, and processes its changes afterwards.
private final class RejectingStore: DataStore<Town, FilterRequest<Town>>, @unchecked Sendable {
  override func execute(_ query: Query) {
    query.enqueue(all: [Town(id: 1, name: "Aba", people: 30)])
    query.reject(DataStoreError.notExecutable)
    query.processPendingChanges()
  }
}

@MainActor
@Suite("A data store's controller", .mayBlock)
struct DataStoreTests {
  let store = Towns([
    Town(id: 1, name: "Aba", people: 30), Town(id: 2, name: "Bonn", people: 20, land: "B"),
    Town(id: 3, name: "Cork", people: 10),
  ])

  private func loaded(
    _ arrangement: ResultArrangement<Town> = .init(), _ request: FilterRequest<Town> = .init()
  ) async throws -> (TownsController, TownLog) {
    let controller = TownsController(store: store, request: request, arrangement: arrangement)
    let log = TownLog(controller)
    try await controller.performFetch()
    return (controller, log)
  }

  @Test("may have a request that reads the store or the draft that asks it")
  func readingRequests() async throws {
    let (store, draft) = (store, store.draft())
    for request in [
      FilterRequest<Town> { $0.people > store.results.count },
      FilterRequest<Town> { $0.people > draft.changes.count && draft.hasChanges },
    ] {
      try await draft.insert(Town(id: 9, name: "Oslo", people: 40))
      let controller = TownsController(store: draft, request: request)
      try await controller.performFetch()
      try await eventually { controller.fetchedResults.map(\.id) == [1, 2, 3, 9] }
      try await store.update(Town(id: 3, name: "Cork", people: 1))
      try await eventually { controller.fetchedResults.map(\.id) == [1, 2, 9] }
      #expect(controller.fetchedResults.map(\.id) == [1, 2, 9])
      draft.reset()
      try await store.update(Town(id: 3, name: "Cork", people: 10))
    }
  }

  @Test("fetches nothing by itself; then everything, in sections and in order")
  func fetching() async throws {
    let controller = TownsController(store: store, request: FilterRequest())
    controller.sectionName = { $0.land }
    controller.arrangement.sectionOrder = { $0 > $1 }
    controller.itemOrder = { $0.people < $1.people }
    let log = TownLog(controller)
    #expect(controller.sections.isEmpty)
    guard case .initial = controller.state else { throw FetchError.diffNotApplicable }
    try await controller.performFetch()
    guard case .following = controller.state else { throw FetchError.diffNotApplicable }
    #expect(controller.sections.map(\.name) == ["B", "A"])
    #expect(controller.fetchedResults.map(\.id) == [2, 3, 1])
    #expect(controller.indexPath(for: 1) == Position(section: 1, item: 1))
    #expect(controller.result(at: Position(section: 1, item: 0))?.name == "Cork")
    #expect(controller.result(at: Position(section: 2, item: 0)) == nil)
    #expect(
      log.take() == [
        "will 0", "insert section B 0", "insert section A 1", "insert Bonn - 0.0",
        "insert Cork - 1.0", "insert Aba - 1.1", "did 3",
      ])
  }

  @Test("an update that keeps its place is an update, and one that changes it is one move")
  func updates() async throws {
    let (_, log) = try await loaded(.init(itemOrder: { $0.people > $1.people }))
    _ = log.take()
    try await store.update(Town(id: 2, name: "Bonn", people: 21, land: "B"))
    try await eventually { log.lines.count == 3 }
    #expect(log.take() == ["will 3", "update Bonn 0.1 0.1", "did 3"])
    try await store.update(Town(id: 2, name: "Bonn", people: 40, land: "B"))
    try await eventually { log.lines.count == 3 }
    #expect(log.take() == ["will 3", "move Bonn 0.1 0.0", "did 3"])
  }

  @Test("an update that changes nothing is not reported")
  func silence() async throws {
    let (_, log) = try await loaded()
    _ = log.take()
    try await store.update(Town(id: 3, name: "Cork", people: 10))
    try await store.update(Town(id: 2, name: "Bonn", people: 21, land: "B"))
    try await eventually { log.lines.last == "did 3" }
    #expect(log.lines == ["will 3", "update Bonn 0.1 0.1", "did 3"])
  }

  @Test("a result updated out of the filter, or of the request, is removed once")
  func leaving() async throws {
    let (_, filtered) = try await loaded(.init(filter: { $0.people >= 20 }))
    let (_, requested) = try await loaded(.init(), FilterRequest { $0.people >= 20 })
    (filtered.lines, requested.lines) = ([], [])
    try await store.update(Town(id: 1, name: "Aba", people: 1))
    try await store.update(Town(id: 1, name: "Aba", people: 2))
    try await eventually { filtered.lines.count == 3 && requested.lines.count == 3 }
    try await store.update(Town(id: 2, name: "Bonn", people: 21, land: "B"))
    try await eventually { filtered.lines.count >= 6 && requested.lines.count >= 6 }
    let lines = [
      "will 2", "delete Aba 0.0 -", "did 1", "will 1", "update Bonn 0.0 0.0", "did 1",
    ]
    #expect(filtered.lines == lines)
    #expect(requested.lines == lines)
  }

  @Test("a window refills, from either side")
  func windows() async throws {
    let (controller, log) = try await loaded(
      .init(itemOrder: { $0.people > $1.people }, limit: 1, offset: 1))
    #expect(controller.fetchedResults.map(\.name) == ["Bonn"])
    _ = log.take()
    try await store.delete(Town(id: 1, name: "", people: 0))
    try await eventually { log.lines.count == 4 }
    #expect(log.take() == ["will 1", "delete Bonn 0.0 -", "insert Cork - 0.0", "did 1"])
    controller.arrangement.offset = 0
    #expect(log.take() == ["will 1", "delete Cork 0.0 -", "insert Bonn - 0.0", "did 1"])
  }

  @Test("another filter, order or sections of a running controller yield one difference each")
  func rearranging() async throws {
    let (controller, log) = try await loaded()
    _ = log.take()
    controller.itemOrder = { $0.name > $1.name }
    #expect(log.take() == ["will 3", "move Cork 0.2 0.0", "move Bonn 0.1 0.1", "did 3"])
    controller.filter = { $0.land == "A" }
    #expect(log.take() == ["will 3", "delete Bonn 0.1 -", "did 2"])
    controller.sectionName = { String($0.name.prefix(1)) }
    #expect(
      log.take() == [
        "will 2", "delete section  0", "insert section A 0", "insert section C 1",
        "move Aba 0.1 0.0", "move Cork 0.0 1.0", "did 2",
      ])
    try await controller.update(request: FilterRequest { $0.people > 10 })
    #expect(log.take() == ["will 2", "delete section C 1", "delete Cork 1.0 -", "did 1"])
  }

  /// A controller that follows a query without results.
  private func followed() async throws -> (
    ManualDataStore, ManualDataStore.Query, TownsController, TownLog
  ) {
    let store = ManualDataStore()
    let controller = TownsController(store: store, request: FilterRequest())
    let log = TownLog(controller)
    let fetch = Task { @MainActor in try await controller.performFetch() }
    try await eventually { store.query != nil }
    let query = try #require(store.query)
    query.processPendingChanges()
    try await fetch.value
    return (store, query, controller, log)
  }

  @Test("will-change and did-change come for every batch, and a batch is one difference")
  func batches() async throws {
    let (store, query, controller, log) = try await followed()
    #expect(log.take() == ["will 0", "insert section  0", "did 0"])
    for id in 1...3 { query.enqueue(Town(id: id, name: "T\(id)", people: id), as: .insert) }
    query.enqueue(Town(id: 1, name: "U1", people: 1), as: .update)
    query.enqueue(Town(id: 2, name: "", people: 0), as: .delete)
    query.processPendingChanges()
    try await eventually { log.lines.count == 4 }
    #expect(log.take() == ["will 0", "insert U1 - 0.0", "insert T3 - 0.1", "did 2"])
    query.enqueue(Town(id: 1, name: "V1", people: 1), as: .update)
    query.enqueue(Town(id: 3, name: "", people: 0), as: .delete)
    // Not processed: the throttle does it.
    try await eventually { log.lines.count == 4 }
    #expect(log.take() == ["will 2", "delete T3 0.1 -", "update V1 0.0 0.0", "did 1"])
    controller.stop()
    #expect(store.stopped.withLock { $0 } == 1)
    #expect(query.isFinished)
  }

  @Test("a slow reader gets everything as one batch")
  func slowReader() async throws {
    let (controller, log) = try await loaded()
    _ = log.take()
    keepBusy { [store] in
      for people in 100..<200 { try await store.update(Town(id: 3, name: "Cork", people: people)) }
    }
    try await eventually { controller.fetchedResults.last?.people == 199 }
    // One batch that was sent before the reader was busy, and one with the rest.
    #expect([3, 6].contains(log.lines.count))
  }

  /// Runs `work` without suspending, so nothing else runs on this actor meanwhile.
  private func keepBusy(_ work: @escaping @Sendable () async throws -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      try? await work()
      done.signal()
    }
    done.wait()
  }

  @Test("errors are thrown by the fetch or reported later, and the content stays")
  func errors() async throws {
    struct Broken: Error, CustomStringConvertible { let description = "broken" }
    let store = ManualDataStore()
    let controller = TownsController(store: store, request: FilterRequest())
    let log = TownLog(controller)
    let refused = Task { @MainActor in try await controller.performFetch() }
    try await eventually { store.query != nil }
    store.query?.reject(Broken())
    await #expect(throws: Broken.self) { try await refused.value }
    let fetch = Task { @MainActor in try await controller.performFetch() }
    try await eventually { store.queries.withLock { $0.count } == 2 }
    let query = try #require(store.query)
    query.enqueue(all: [Town(id: 1, name: "Aba", people: 1)])
    query.processPendingChanges()
    try await fetch.value
    _ = log.take()
    query.suspend(Broken())
    try await eventually { log.lines == ["failed broken"] }
    guard case .offline = controller.state else { throw FetchError.diffNotApplicable }
    query.resume()
    try await eventually { if case .following = controller.state { true } else { false } }
    query.reject(Broken())
    try await eventually { log.lines == ["failed broken", "failed broken"] }
    guard case .failed = controller.state else { throw FetchError.diffNotApplicable }
    #expect(controller.fetchedResults.count == 1)
    await #expect(throws: DataStoreError.readOnly) {
      try await store.insert(Town(id: 1, name: "", people: 1))
    }
  }

  @Test("results that come after a suspension end it, and no error of many is lost")
  func suspendedReader() async throws {
    let (_, query, controller, log) = try await followed()
    // The reader waits for this actor with the first of these results.
    for people in 1...2 {
      query.suspend(DataStoreError.readOnly)
      query.enqueue(all: [Town(id: 1, name: "Aba", people: people)])
      query.processPendingChanges()
    }
    for number in 0..<100 { query.report(DataStoreError.missing("\(number)")) }
    query.suspend(DataStoreError.readOnly)
    query.resume()
    try await eventually { log.lines.count { $0.contains("does not exist") } == 100 }
    guard case .following = controller.state else {
      Issue.record("\(controller.state)")
      return
    }
    #expect(controller.fetchedResults.map(\.people) == [2])
  }

  @Test("a store that processes after it rejected does not take the error's place")
  func rejectedBeforeItIsRead() async throws {
    let rejecting = RejectingStore()
    let controller = TownsController(store: rejecting, request: FilterRequest())
    let log = TownLog(controller)
    await #expect(throws: DataStoreError.self) { try await controller.performFetch() }
    #expect(log.take() == ["failed \(DataStoreError.notExecutable)"])
  }

  @Test("of two calls at once the last one is in force, and the first throws")
  func overlapping() async throws {
    let silent = RecordingDataStore()
    let controller = TownsController(store: silent, request: FilterRequest())
    let first = Task { try await controller.performFetch() }
    try await eventually { silent.queries.withLock { $0.count } == 1 }
    let second = Task { try await controller.update(request: FilterRequest { $0.id < 2 }) }
    try await eventually { silent.queries.withLock { $0.count } == 2 }
    await #expect(throws: CancellationError.self) { try await first.value }
    silent.queries.withLock { $0[1] }.enqueue(all: [Town(id: 1, name: "Aba", people: 30)])
    silent.queries.withLock { $0[1] }.processPendingChanges()
    try await second.value
    #expect(controller.fetchedResults.map(\.id) == [1])
  }

  @Test("a fetch whose task is cancelled throws, and does not load for ever")
  func cancelledFetch() async throws {
    let fed = ManualDataStore()
    let controller = TownsController(store: fed, request: FilterRequest())
    let fetch = Task { @MainActor in try await controller.performFetch() }
    try await eventually { fed.query != nil }
    fetch.cancel()
    await #expect(throws: CancellationError.self) { try await fetch.value }
    guard case .initial = controller.state else { throw FetchError.diffNotApplicable }
    #expect(fed.stopped.withLock { $0 } == 1)
  }

  @Test("a cancelled fetch keeps the content, the request and the following of the earlier one")
  func cancelledSecondFetch() async throws {
    let fed = ManualDataStore()
    let controller = TownsController(store: fed, request: FilterRequest { $0.id < 9 })
    let first = Task { @MainActor in try await controller.performFetch() }
    try await eventually { fed.query != nil }
    let query = try #require(fed.query)
    query.enqueue(all: [Town(id: 1, name: "Aba", people: 30)])
    query.processPendingChanges()
    try await first.value
    let second = Task { @MainActor in
      try await controller.update(request: FilterRequest { $0.id < 5 })
    }
    try await eventually { fed.queries.withLock { $0.count } == 2 }
    guard case .loading = controller.state else { throw FetchError.diffNotApplicable }
    query.enqueue(Town(id: 8, name: "Bonn", people: 20), as: .insert)
    query.processPendingChanges()
    try await eventually { controller.fetchedResults.map(\.id) == [1, 8] }
    guard case .loading = controller.state else { throw FetchError.diffNotApplicable }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    guard case .following = controller.state else { throw FetchError.diffNotApplicable }
    #expect(controller.request.includes(Town(id: 8, name: "Bonn", people: 20)) == true)
    #expect(fed.stopped.withLock { $0 } == 1)
    query.enqueue(Town(id: 7, name: "Cork", people: 10), as: .insert)
    query.processPendingChanges()
    try await eventually { controller.fetchedResults.map(\.id) == [1, 8, 7] }
    controller.stop()
    #expect(fed.stopped.withLock { $0 } == 2)
  }

  @Test("stop ends the query that is followed and the one that loads")
  func stopWhileLoading() async throws {
    let fed = ManualDataStore()
    let controller = TownsController(store: fed, request: FilterRequest())
    let first = Task { @MainActor in try await controller.performFetch() }
    try await eventually { fed.query != nil }
    fed.query?.processPendingChanges()
    try await first.value
    let second = Task { @MainActor in try await controller.performFetch() }
    try await eventually { fed.queries.withLock { $0.count } == 2 }
    controller.stop()
    await #expect(throws: CancellationError.self) { try await second.value }
    guard case .initial = controller.state else { throw FetchError.diffNotApplicable }
    #expect(fed.stopped.withLock { $0 } == 2)
    #expect(fed.queries.withLock { $0.allSatisfy(\.isFinished) })
  }

  @Test("a subclass may call the superclass's methods")
  func callingSuper() async throws {
    final class Calling: DataStore<Town, FilterRequest<Town>>, @unchecked Sendable {
      override func execute(_ query: Query) {
        super.execute(query)
        query.enqueue(all: [Town(id: 1, name: "Aba", people: 30)])
        query.processPendingChanges()
      }
      override func stop(_ query: Query) { super.stop(query) }
    }
    let controller = TownsController(store: Calling(), request: FilterRequest())
    try await controller.performFetch()
    #expect(controller.fetchedResults.map(\.name) == ["Aba"])
    let bare = TownsController(
      store: DataStore<Town, FilterRequest<Town>>(), request: FilterRequest())
    await #expect(throws: DataStoreError.notExecutable) { try await bare.performFetch() }
  }

  @Test("an array refuses what does not fit, and changes nothing then")
  func refusals() async throws {
    await #expect(throws: DataStoreError.exists("1")) {
      try await store.save([
        .init(.delete, Town(id: 2, name: "", people: 0)),
        .init(.insert, Town(id: 1, name: "X", people: 0)),
      ])
    }
    await #expect(throws: DataStoreError.missing("9")) {
      try await store.update(Town(id: 9, name: "X", people: 0))
    }
    #expect(store.results.map(\.id) == [1, 2, 3])
  }
}
