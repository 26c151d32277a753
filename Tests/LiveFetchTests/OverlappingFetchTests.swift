// Overlapping calls of one controller: the last call is in force, and every call returns or throws its own
// outcome.

import LiveFetch
import Synchronization
import TestSupport
import Testing

/// Holds whole fetches back until they are released, by their number.
private final class GatedStore: ObjectStore {
  private struct State {
    var isHolding = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var count = 0
  }

  private let store: any ObjectStore
  private let state = Mutex(State())

  init(_ store: any ObjectStore) { self.store = store }

  var waiting: Int { state.withLock { $0.waiting.count } }
  /// The number of fetches held back so far.
  var count: Int { state.withLock { $0.count } }

  func hold() { state.withLock { $0.isHolding = true } }

  func release(_ number: Int) {
    state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
  }

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    if request["since"] == nil {
      await withCheckedContinuation { continuation in
        let isHeld = state.withLock { state in
          guard state.isHolding else { return false }
          state.waiting[state.count] = continuation
          state.count += 1
          return true
        }
        if !isHeld { continuation.resume() }
      }
    }
    guard !Task.isCancelled else { throw .cancelled }
    return try await store.fetch(request)
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await store.save(request)
  }
}

@MainActor
@Suite("Calls of a controller that overlap", .mayBlock)
struct OverlappingFetchTests {
  private let cities: Cities
  private let store: GatedStore
  private let controller: FetchedResultsController<City>

  init() throws {
    cities = try Cities(.local)
    store = GatedStore(cities.store)
    controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: store))
  }

  private func request(_ predicate: String) -> FetchRequest<City> {
    FetchRequest<City>(where: FetchPredicate(predicate), sortedBy: [.descending("population")])
  }

  /// Starts an update that the store holds back.
  private func update(_ predicate: String) async throws -> Task<Void, any Error> {
    let (request, count) = (request(predicate), store.waiting)
    let task = Task { try await controller.update(fetchRequest: request) }
    try await eventually { store.waiting == count + 1 }
    return task
  }

  private func performFetch() async throws -> Task<Void, any Error> {
    let count = store.waiting
    let task = Task { try await controller.performFetch() }
    try await eventually { store.waiting == count + 1 }
    return task
  }

  private func release(_ order: [Int], pause: Duration = .milliseconds(30)) async throws {
    for number in order {
      store.release(number)
      try await Task.sleep(for: pause)
    }
  }

  private func ending(of task: Task<Void, any Error>) async -> String {
    do {
      try await task.value
      return "done"
    } catch FetchError.superseded {
      return "superseded"
    } catch FetchError.store(let error) {
      return error.code ?? "no code"
    } catch {
      return "\(error)"
    }
  }

  private var isFollowing: Bool { if case .following = controller.state { true } else { false } }

  @Test(
    "of two updates the last one wins, and the first says that it is superseded",
    arguments: [[0, 1], [1, 0]])
  func updates(order: [Int]) async throws {
    try await controller.performFetch()
    store.hold()
    let first = try await update("population > 500")
    let second = try await update("population < 500")
    try await release(order)
    #expect(await ending(of: first) == "superseded")
    #expect(await ending(of: second) == "done")
    #expect(controller.fetchRequest == request("population < 500"))
    #expect(controller.fetchedObjects?.map(\.id) == [2, 5, 4])
    #expect(isFollowing)
    try await cities.save(#"{"update":"City","id":1,"values":{"population":1}}"#)
    try await eventually { controller.fetchedObjects?.map(\.id) == [2, 5, 4, 1] }
  }

  @Test(
    "a fetch that overtakes an update fetches what that asked for, and both end when it is there",
    arguments: [[0, 1], [1, 0]])
  func fetchAfterUpdate(order: [Int]) async throws {
    try await controller.performFetch()
    store.hold()
    let update = try await update("population > 500")
    let fetch = try await performFetch()
    try await release(order)
    #expect(await ending(of: update) == "done")
    #expect(await ending(of: fetch) == "done")
    #expect(controller.fetchRequest == request("population > 500"))
    #expect(controller.fetchedObjects?.map(\.id) == [1, 3])
    #expect(isFollowing)
  }

  @Test("a fetch that is overtaken by a cancelled one fetches again")
  func overtakenByCancelled() async throws {
    store.hold()
    let first = Task { try await controller.performFetch() }
    try await eventually { store.waiting == 1 }
    let second = Task { try await controller.performFetch() }
    try await eventually { store.waiting == 2 }
    second.cancel()
    store.release(0)
    store.release(1)
    await #expect(throws: FetchError.self) { try await second.value }
    try await eventually { store.count == 3 }
    store.release(2)
    try await first.value
    #expect(controller.fetchedObjects?.count == 5)
  }

  @Test("a fetch that is overtaken waits for the last call, and ends as it does")
  func overtakenFetch() async throws {
    store.hold()
    let fetch = try await performFetch()
    let update = try await update("population > 500")
    var isEnded = false
    let watch = Task {
      _ = await fetch.result
      isEnded = true
    }
    try await release([0])
    #expect(!isEnded)
    #expect(controller.fetchedObjects == nil)
    try await release([1])
    #expect(await ending(of: fetch) == "done")
    #expect(await ending(of: update) == "done")
    #expect(controller.fetchedObjects?.map(\.id) == [1, 3])
    await watch.value
  }

  @Test(
    "a refused update leaves the previous request in force, also for the fetch that it overtook")
  func refused() async throws {
    try await controller.performFetch()
    store.hold()
    let fetch = try await performFetch()
    let update = try await update("popluation > 500")
    try await release([1, 0])
    #expect(await ending(of: update) == "unknown-key-path")
    #expect(await ending(of: fetch) == "unknown-key-path")
    #expect(controller.fetchRequest.predicate == nil)
    #expect(controller.fetchedObjects?.count == 5)
    #expect(isFollowing)
  }

  @Test("an update of the request keeps the sections of the previous one")
  func sections() async throws {
    try await controller.performFetch()
    store.hold()
    let request = request("population > 500")
    let first = Task {
      try await controller.update(fetchRequest: request, section: .ascending("country.name"))
    }
    try await eventually { store.waiting == 1 }
    let second = try await update("population < 500")
    try await release([1, 0])
    #expect(await ending(of: first) == "superseded")
    #expect(await ending(of: second) == "done")
    #expect(controller.sections.map(\.name) == ["Japan", "Mali", "Peru"])
  }

  @Test("the last update is in force, in any order of responses", arguments: 1...4)
  func generated(round: Int) async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    let comment = Comment(rawValue: "seed \(seed)")
    var random = SeededRandom(seed: seed)
    store.hold()
    var updates: [Task<Void, any Error>] = []
    var fetches: [Task<Void, any Error>] = []
    var (held, last) = ([Int](), controller.fetchRequest)
    for number in 0..<40 {
      if number % 3 == 2, let index = held.indices.randomElement(using: &random) {
        try await release([held.remove(at: index)], pause: .milliseconds(5))
        continue
      }
      if Bool.random(using: &random) {
        let least = Int.random(in: 0...900, using: &random)
        let predicate = "population > \(least) OR id == \(number)"
        last = request(predicate)
        updates.append(try await update(predicate))
      } else {
        fetches.append(try await performFetch())
      }
      held.append(store.count - 1)
    }
    try await release(held.shuffled(using: &random), pause: .milliseconds(5))
    for fetch in fetches { #expect(await ending(of: fetch) == "done", comment) }
    for update in updates.dropLast() {
      #expect(["done", "superseded"].contains(await ending(of: update)), comment)
    }
    if let update = updates.last { #expect(await ending(of: update) == "done", comment) }
    #expect(controller.fetchRequest == last, comment)
    let fresh = try await ManagedObjectContext(store: cities.store).fetch(last)
    #expect(controller.fetchedObjects == fresh, comment)
    #expect(isFollowing, comment)
  }

  @Test("stop ends the running calls, and nothing is followed afterwards")
  func stopping() async throws {
    store.hold()
    let fetch = try await performFetch()
    let update = try await update("population > 500")
    controller.stop()
    try await release([0, 1])
    #expect(await ending(of: fetch) == "superseded")
    #expect(await ending(of: update) == "superseded")
    #expect(controller.fetchedObjects == nil)
    let again = try await performFetch()
    try await release([2])
    #expect(await ending(of: again) == "done")
    #expect(controller.fetchedObjects?.count == 5)
  }

  @Test("a batch that arrives while a change waits for a save stays loaded")
  func batchDuringChange() async throws {
    let pausing = PausingStore(cities.store)
    let context = ManagedObjectContext(store: pausing)
    var request = ManagedCity.sortedFetchRequest
    request.fetchBatchSize = 2
    let list = FetchedResultsController(fetchRequest: request, context: context)
    try await list.performFetch()
    let token = list.token
    let lima = try await context.materializedObject(ManagedCity.self, with: .integer(3))
    pausing.close(.saves)
    pausing.close(.diffs)
    lima.population = 801
    let save = Task { @MainActor in _ = try await context.save() }
    try await eventually { pausing.waiting(.saves) == 1 }
    // The batch waits for the save, and so does the change after it.
    let load = Task { @MainActor in _ = try await list.load(0..<2) }
    try await Task.sleep(for: .milliseconds(100))
    pausing.open(.diffs)
    try await Task.sleep(for: .milliseconds(100))
    pausing.open(.saves)
    try await save.value
    try await load.value
    try await eventually { list.token != token }
    #expect(list.object(at: Position(section: 0, item: 0))?.name == "Bamako")
    #expect(list.object(at: Position(section: 0, item: 1))?.name == "Cusco")
  }
}

@Suite("The actor of a controller", .mayBlock)
struct ControllerIsolationTests {
  @Test("is its caller's, also if that is an optional one")
  @MainActor func given() async throws {
    func fetch(
      _ controller: FetchedResultsController<City>, isolation: isolated (any Actor)? = #isolation
    ) async throws {
      try await controller.performFetch(isolation: isolation)
    }
    let cities = try Cities(.local)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(), context: ManagedObjectContext(store: cities.store))
    try await fetch(controller)
    var count = 0
    let callbacks = FetchedResultsControllerCallbacks(controller)
    // Traps anywhere else.
    callbacks.didChangeContent = { MainActor.assumeIsolated { count += 1 } }
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await eventually { controller.fetchedObjects?.count == 4 }
    #expect(count == 1)
  }
}
