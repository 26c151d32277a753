// The cost of one change among many results, in calls of closures and of `hash(into:)`, and the
// parity of single changes with a fetch of everything.

import LiveFetch
import Synchronization
import TestSupport
import Testing

/// An id that counts how often ids are hashed.
private struct CountedID: Hashable, Codable, Sendable {
  static let hashes = Atomic(0)
  let value: Int

  init(value: Int) { self.value = value }
  init(from decoder: any Decoder) throws {
    value = try decoder.singleValueContainer().decode(Int.self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }

  func hash(into hasher: inout Hasher) {
    Self.hashes.add(1, ordering: .relaxed)
    hasher.combine(value)
  }
}

private struct Village: Identifiable, InstanceIdentifiable, Fetchable, Codable, Hashable, Sendable {
  static let entityName = "Village"
  let id: CountedID
  var people: Int
  var land: String { "\(id.value % 8)" }

  init(_ id: Int, people: Int) {
    self.id = CountedID(value: id)
    self.people = people
  }
}

private typealias Villages = ArrayDataStore<Village, FilterRequest<Village>>
private typealias VillageStore = DataStore<Village, FilterRequest<Village>>

@MainActor
@Suite("One change among many results of a data store", .mayBlock, .serialized)
struct DataStoreScalingTests {
  @Test("calls few closures and hashes few ids, in the store and in a draft")
  func operationCounts() async throws {
    let array = Villages((0..<64_000).map { Village($0, people: $0 * 10) })
    for store in [array as VillageStore, array.draft()] {
      var calls = 0
      let controller = DataStoreResultsController<Village, FilterRequest<Village>>(
        store: store, request: FilterRequest())
      controller.sectionName = { village in
        calls += 1
        return village.land
      }
      controller.itemOrder = { left, right in
        calls += 1
        return left.people < right.people
      }
      var lines: [String] = []
      controller.controllerDidChangeResults = { change in
        lines = change.objects.map { ChangeLog.line($0, "\($0.object.id.value)") }
      }
      try await controller.performFetch()
      for (change, expected) in [
        (DataStoreChange(.update, Village(16, people: 161)), "update 16 0.2 0.2"),
        (DataStoreChange(.update, Village(16, people: 560_001)), "move 16 0.2 0.7000"),
        (DataStoreChange(.update, Village(16, people: 160)), "move 16 0.7000 0.2"),
        (DataStoreChange(.insert, Village(64_001, people: -1)), "insert 64001 - 1.0"),
        (DataStoreChange(.delete, Village(64_001, people: -1)), "delete 64001 1.0 -"),
      ] {
        (calls, lines) = (0, [])
        CountedID.hashes.store(0, ordering: .relaxed)
        try await store.save([change])
        try await eventually { !lines.isEmpty }
        #expect(lines == [expected])
        #expect(calls < 200)
        #expect(CountedID.hashes.load(ordering: .relaxed) < 400)
      }
    }
  }

  @Test("over a file calls few closures and hashes few ids, wherever the file puts the result")
  func operationCountsOverFile() async throws {
    let model = try ModelFile(
      parsing: Array(
        #"""
        {"version":"1","entities":[{"name":"Village","attributes":[
          {"name":"people","type":"Integer 64","optional":false}]}]}
        """#.utf8))
    let file = try LocalStore.inMemory(model, (1...4000).map { Village($0, people: $0 * 10) })
    let objects = ObjectDataStore<Village>(file)
    for store in [objects, objects.draft()] {
      var (calls, lines) = (0, [String]())
      let controller = DataStoreResultsController(
        store: store, request: FetchRequest<Village>(sortedBy: [.ascending("people")]))
      controller.filter = { village in
        calls += 1
        return village.people >= 0
      }
      controller.controllerDidChangeResults = { change in
        lines = change.objects.map { ChangeLog.line($0, "\($0.object.id.value)") }
      }
      try await controller.performFetch()
      for (changes, expected) in [
        ([DataStoreChange(.update, Village(16, people: 161))], ["update 16 0.15 0.15"]),
        ([.init(.update, Village(16, people: 35_001))], ["move 16 0.15 0.3499"]),
        ([.init(.update, Village(16, people: 160))], ["move 16 0.3499 0.15"]),
        ([.init(.insert, Village(4001, people: 5))], ["insert 4001 - 0.0"]),
        (
          [.init(.delete, Village(4001, people: 5)), .init(.update, Village(2, people: 45))],
          ["delete 4001 0.0 -", "move 2 0.2 0.3"]
        ),
        ([.init(.update, Village(2, people: 20))], ["move 2 0.3 0.1"]),
      ] {
        (calls, lines) = (0, [])
        CountedID.hashes.store(0, ordering: .relaxed)
        // Not through the draft, which keeps its changes.
        try await objects.save(changes)
        try await eventually { !lines.isEmpty }
        #expect(lines == expected)
        #expect(calls < 50)
        #expect(CountedID.hashes.load(ordering: .relaxed) < 200)
      }
      controller.stop()
    }
  }

  @Test("leads to the same content as a fetch of a file, and in a draft over it")
  func parityOverFile() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let cities = try Cities(.local)
    let store = ObjectDataStore<City>(cities.store)
    let draft = store.draft()
    var requests = [FetchRequest<City>(sortedBy: [.descending("population")])]
    requests.append(FetchRequest(where: FetchPredicate("population < 60"), sortedBy: []))
    requests.append(requests[0])
    requests[2].fetchLimit = 4
    var followers: [DataStoreResultsController<City, FetchRequest<City>>] = []
    for source in [store, draft] {
      for request in requests {
        for arrangement in [
          ResultArrangement<City>(), .init(itemOrder: { $0.name < $1.name }, limit: 7),
        ] {
          let controller = DataStoreResultsController(
            store: source, request: request, arrangement: arrangement)
          try await controller.performFetch()
          followers.append(controller)
        }
      }
    }
    var saved = 0
    for step in 0..<30 {
      let source = Int.random(in: 0..<4, using: &random) == 0 ? draft : store
      if Int.random(in: 0..<12, using: &random) == 0 {
        draft.reset()
      } else {
        // The draft cannot know that an id is taken, so it inserts others.
        let base = source === draft ? 50 : 0
        for change in Self.cityChanges(&random, insertedFrom: base) {
          if (try? await source.save([change])) != nil { saved += 1 }
        }
      }
      for follower in followers {
        let fresh = DataStoreResultsController(
          store: follower.store, request: follower.request, arrangement: follower.arrangement)
        try await fresh.performFetch()
        try await eventually { follower.fetchedResults == fresh.fetchedResults }
        #expect(follower.fetchedResults == fresh.fetchedResults, "seed \(seed), step \(step)")
        guard follower.fetchedResults == fresh.fetchedResults else { return }
      }
    }
    #expect(saved > 5, "seed \(seed)")
  }

  private static func cityChanges(
    _ random: inout SeededRandom, insertedFrom base: Int
  ) -> [DataStoreChange<City>] {
    (0..<Int.random(in: 1...6, using: &random)).map { _ in
      let types: [DataStoreChangeType] = [.insert, .insert, .update, .update, .delete]
      let type = types.randomElement(using: &random) ?? .update
      let city = City(
        id: Int.random(in: 1..<16, using: &random) + (type == .insert ? base : 0),
        name: "C\(Int.random(in: 0..<9, using: &random))",
        population: Int.random(in: 0..<99, using: &random), country: 1)
      return DataStoreChange(type, city)
    }
  }

  // With the first seed a draft inserts a result that its store has, and its own draft deletes it.
  @Test(
    "leads to the same content as a fetch, in a store, a draft and a draft of the draft",
    arguments: [5_373_566_154_041_762_208, UInt64.random(in: 0...UInt64.max)])
  func parity(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let array = Towns((0..<20).map { Town(id: $0, name: "T\($0)", people: $0) })
    let draft = array.draft()
    let inner = draft.draft()
    let stores: [DataStore<Town, FilterRequest<Town>>] = [array, draft, inner]
    let arrangements: [ResultArrangement<Town>] = [
      .init(), .init(sectionName: { $0.land }, itemOrder: { $0.people < $1.people }),
      .init(filter: { $0.people % 3 > 0 }, itemOrder: { $0.name > $1.name }, limit: 9, offset: 2),
    ]
    var followers: [TownsController] = []
    for store in stores {
      for arrangement in arrangements {
        let controller = TownsController(
          store: store, request: FilterRequest(where: { $0.people < 90 }),
          arrangement: arrangement)
        try await controller.performFetch()
        followers.append(controller)
      }
    }
    var saved = 0
    for step in 0..<80 {
      let store = try #require(stores.randomElement(using: &random))
      switch Int.random(in: 0..<20, using: &random) {
      case 0: try? await draft.commit()
      case 1: try? await inner.commit()
      case 2: draft.reset()
      case 3: inner.reset()
      default: if (try? await store.save(Self.changes(&random))) != nil { saved += 1 }
      }
      for follower in followers {
        let fresh = TownsController(
          store: follower.store, request: follower.request, arrangement: follower.arrangement)
        try await fresh.performFetch()
        // A store over another one may still receive what the other one reports.
        try await eventually { follower.fetchedResults == fresh.fetchedResults }
        #expect(
          follower.fetchedResults == fresh.fetchedResults, "seed \(seed), step \(step)")
        guard follower.fetchedResults == fresh.fetchedResults else { return }
      }
    }
    #expect(saved > 5, "seed \(seed)")
  }

  private static func changes(_ random: inout SeededRandom) -> [DataStoreChange<Town>] {
    var ids: Set<Int> = []
    return (0..<Int.random(in: 1...3, using: &random)).compactMap { _ in
      let id = Int.random(in: 0..<30, using: &random)
      guard ids.insert(id).inserted else { return nil }
      let town = Town(
        id: id, name: "T\(Int.random(in: 0..<9, using: &random))",
        people: Int.random(in: 0..<95, using: &random),
        land: ["A", "B", "C"].randomElement(using: &random) ?? "A")
      let types: [DataStoreChangeType] = [.insert, .update, .update, .delete]
      return DataStoreChange(types.randomElement(using: &random) ?? .update, town)
    }
  }

  private static let towns = (1...3).map { Town(id: $0, name: "T\($0)", people: $0) }

  /// A controller whose fetch waits for the query, to which three towns were added.
  private func threeTowns() async throws -> (
    TownsController, ManualDataStore.Query, Task<Void, any Error>
  ) {
    let store = ManualDataStore()
    let controller = TownsController(store: store, request: FilterRequest())
    let fetching = Task { try await controller.performFetch() }
    try await eventually { store.query != nil }
    let query = try #require(store.query)
    query.enqueue(all: Self.towns)
    return (controller, query, fetching)
  }

  @Test("that deletes a result and inserts it again puts it at the end")
  func insertedAgain() async throws {
    let (controller, query, fetching) = try await threeTowns()
    query.processPendingChanges()
    try await fetching.value
    for _ in 0..<10 {
      query.enqueue(Self.towns[0], as: .delete)
      query.enqueue(Self.towns[0], as: .insert)
    }
    query.processPendingChanges()
    try await eventually { controller.fetchedResults.map(\.id) == [2, 3, 1] }
    #expect(controller.fetchedResults.map(\.id) == [2, 3, 1])
  }

  @Test("after all results, in the first batch, takes a deleted result out of them")
  func deletedAtOnce() async throws {
    let (controller, query, fetching) = try await threeTowns()
    query.enqueue(Self.towns[1], as: .delete)
    query.processPendingChanges()
    try await fetching.value
    #expect(controller.fetchedResults.map(\.id) == [1, 3])
  }

  @Test("a subclass without execute is refused; one that keeps the query is not")
  func missingExecute() async throws {
    final class Forgetful: DataStore<Town, FilterRequest<Town>>, @unchecked Sendable {}
    for store in [Forgetful(), Forgetful().draft()] {
      let controller = TownsController(store: store, request: FilterRequest())
      await #expect(throws: DataStoreError.notExecutable) { try await controller.performFetch() }
    }
    final class Late: DataStore<Town, FilterRequest<Town>>, @unchecked Sendable {
      override func execute(_ query: Query) {
        super.execute(query)
        Task {
          await Task.yield()
          query.enqueue(all: [Town(id: 1, name: "Aba", people: 30)])
          query.processPendingChanges()
        }
      }
    }
    let controller = TownsController(store: Late(), request: FilterRequest())
    try await controller.performFetch()
    #expect(controller.fetchedResults.map(\.name) == ["Aba"])
  }
}
