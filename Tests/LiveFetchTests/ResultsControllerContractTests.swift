// The documented contract of a results controller: calls, positions, windows and state.

import Foundation
import LiveFetch
import Observation
import Synchronization
import TestSupport
import Testing

@MainActor
@Suite("The contract of a results controller", .mayBlock)
struct ResultsControllerContractTests {
  private func controller(
    _ store: any ObjectStore, _ request: FetchRequest<City>, section: SortTerm? = nil
  ) -> FetchedResultsController<City> {
    FetchedResultsController(
      fetchRequest: request, context: ManagedObjectContext(store: store), section: section)
  }

  private func byPopulation(limit: Int? = nil, batch: Int = 0) -> FetchRequest<City> {
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    (request.fetchLimit, request.fetchBatchSize) = (limit, batch)
    return request
  }

  @Test("elements are found by themselves, by id and by Foundation's index paths")
  func places() async throws {
    let cities = try Cities(.local)
    let controller = controller(
      cities.store, byPopulation(), section: .ascending("country.name"))
    try await controller.performFetch()
    let cusco = try #require(controller.object(withID: .integer(4)))
    #expect(cusco.name == "Cusco")
    #expect(controller.indexPath(for: cusco) == Position(section: 2, item: 1))
    #expect(Position(section: 2, item: 1).indexPath == IndexPath(indexes: [2, 1]))
    #expect(controller.object(at: IndexPath(indexes: [2, 1])) == cusco)
    #expect(controller.object(at: IndexPath(indexes: [2])) == nil)
    #expect(controller.object(at: Position(section: -1, item: 0)) == nil)
    let missing = City(id: 77, name: "Ur", population: nil, country: nil)
    #expect(controller.indexPath(for: missing) == nil)
  }

  @Test("a related object's change is seen: its section is another one", arguments: Kind.allCases)
  func relatedObjects(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(
      cities.store, byPopulation(), section: .ascending("country.name"))
    let log = ChangeLog(controller)
    try await controller.performFetch()
    try await cities.save(#"{"update":"country","id":1,"values":{"name":"Zipangu"}}"#)
    try await eventually { log.lines.last == "did" }
    #expect(
      log.lines == [
        "will", "delete section Japan 0", "insert section Zipangu 2", "move Tokyo 0.0 2.0",
        "move Osaka 0.1 2.1", "did",
      ])
  }

  @Test("an update whose sort value changes without changing its place is no move")
  func updatesInPlace() async throws {
    let cities = try Cities(.local)
    let controller = controller(cities.store, byPopulation())
    let log = ChangeLog(controller)
    try await controller.performFetch()
    try await cities.save(#"{"update":"City","id":3,"values":{"population":899}}"#)
    try await eventually { log.lines.count == 3 }
    #expect(log.lines == ["will", "update Lima 0.1 0.1", "did"])
  }

  @Test("a save that the fetch does not show is not reported")
  func silence() async throws {
    let cities = try Cities(.local)
    let controller = controller(
      cities.store, FetchRequest(where: FetchPredicate("population >= 300")))
    let log = ChangeLog(controller)
    try await controller.performFetch()
    try await cities.save(#"{"update":"City","id":4,"values":{"population":41}}"#)
    let receipt = try await cities.save(#"{"delete":"City","id":5}"#)
    try await controller.caughtUp(to: receipt.token)
    #expect(log.lines.isEmpty)
  }

  @Test(
    "another window of a running controller yields insertions and deletions",
    arguments: Kind.allCases)
  func windows(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities.store, byPopulation(limit: 2))
    let log = ChangeLog(controller)
    try await controller.performFetch()
    var request = controller.fetchRequest
    request.fetchOffset = 1
    try await controller.update(fetchRequest: request)
    #expect(log.lines == ["will", "delete Tokyo 0.0 -", "insert Osaka - 0.1", "did"])
    try await cities.save(#"{"update":"City","id":5,"values":{"population":850}}"#)
    try await eventually { log.lines.count == 8 }
    #expect(log.lines.suffix(3) == ["delete Osaka 0.1 -", "insert Bamako - 0.0", "did"])
  }

  @Test("another request keeps the sections, unless it is given other ones")
  func sectionsOfAnotherRequest() async throws {
    let cities = try Cities(.local)
    let controller = controller(
      cities.store, byPopulation(), section: .ascending("country.name"))
    try await controller.performFetch()
    try await controller.update(fetchRequest: byPopulation(limit: 2))
    #expect(controller.sections.map(\.name) == ["Japan"])
    try await controller.update(fetchRequest: byPopulation(), section: nil)
    #expect(controller.sections.map(\.name) == [""])
    try await controller.update(fetchRequest: byPopulation(), section: .descending("name"))
    #expect(controller.sections.map(\.name) == ["Tokyo", "Osaka", "Lima", "Cusco", "Bamako"])
  }

  @Test("changes are buffered before they are first read", .timeLimit(.minutes(3)))
  func changesBeforeReading() async throws {
    let cities = try Cities(.local)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.ascending("name")]),
      context: ManagedObjectContext(store: cities.store))
    try await controller.performFetch()
    let changes = controller.changes
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { controller.fetchedObjects?.count == 4 }
    controller.stop()
    let reading = Task.detached { () -> ContentChange<ObjectID>? in
      for await change in changes { return change }
      return nil
    }
    #expect(await reading.value?.objects.map(\.id) == [.integer(4)])
  }

  @Test("observers are notified once when the content changes")
  func observation() async throws {
    let cities = try Cities(.local)
    let controller = controller(cities.store, byPopulation())
    try await controller.performFetch()
    let changes = Mutex(0)
    withObservationTracking {
      _ = controller.sections
    } onChange: {
      changes.withLock { $0 += 1 }
    }
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await eventually { changes.withLock { $0 } == 1 }
    try await eventually { controller.fetchedObjects?.count == 4 }
  }

  @Test(
    "ids in snapshots are permanent: what was inserted is found by them", arguments: Kind.allCases)
  func permanentIDs(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities.store, FetchRequest(sortedBy: [.ascending("id")]))
    let callbacks = FetchedResultsControllerCallbacks(controller)
    var snapshots: [ResultsSnapshot] = []
    callbacks.didChangeContentWithSnapshot = { snapshots.append($0) }
    try await controller.performFetch()
    try await cities.save(#"{"insert":"City","temporaryID":"t","values":{"name":"试试"}}"#)
    try await eventually { snapshots.count == 2 }
    let id = try #require(snapshots[1].itemIdentifiers.last)
    let later = self.controller(cities.store, FetchRequest(where: .ids([id])))
    try await later.performFetch()
    #expect(later.fetchedObjects?.map(\.name) == ["试试"])
  }

  @Test("a snapshot maps to sections and items of one's own")
  func snapshotsOfOnesOwn() async throws {
    let cities = try Cities(.local)
    let controller = controller(
      cities.store, byPopulation(), section: .ascending("country.name"))
    try await controller.performFetch()
    let old = try #require(controller.snapshot).map(sections: \.name, items: \.description)
    #expect(old.sectionIdentifiers == ["Japan", "Mali", "Peru"])
    #expect(old.itemIdentifiers == ["1", "2", "5", "3", "4"])
    try await cities.save(
      #"{"update":"City","id":2,"values":{"country":2}},{"delete":"City","id":5}"#)
    try await eventually { controller.fetchedObjects?.count == 4 }
    let new = try #require(controller.snapshot).map(sections: \.name, items: \.description)
    #expect(new.itemIdentifiers(inSection: "Peru") == ["3", "2", "4"])
  }

  @Test("a snapshot that maps to equal ids contains each once, at its first position")
  func collisions() {
    let old = DiffableSnapshot<String, Int>(
      sections: [
        .init(id: "a", items: [1, 2, 3]), .init(id: "b", items: [4, 11]),
        .init(id: "c", items: [5]),
      ], reconfigured: [11, 2])
    let mapped = old.map(sections: { $0 == "c" ? "a" : $0 }, items: { $0 % 10 })
    #expect(
      mapped.sections == [.init(id: "a", items: [1, 2, 3, 5]), .init(id: "b", items: [4])])
    #expect(mapped.reconfiguredItemIdentifiers == [1, 2])
    let one = old.map(sections: { _ in 0 }, items: { _ in "x" })
    #expect(one.sections == [.init(id: 0, items: ["x"])])
  }

  @Test("a content whose digest differs is fetched again, which is reported")
  func digests() async throws {
    let cities = try Cities(.local)
    let store = WrongDigestStore(cities.store)
    let controller = controller(store, byPopulation())
    let callbacks = FetchedResultsControllerCallbacks(controller)
    var failures: [String] = []
    callbacks.didFail = { failures.append($0.description) }
    try await controller.performFetch()
    store.wrongDigests.withLock { $0 = 1 }
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await eventually { controller.fetchedObjects?.count == 4 }
    #expect(
      failures == ["a diff did not lead to the store's state, and the result was fetched again"])
    try await cities.save(#"{"delete":"City","id":3}"#)
    try await eventually { controller.fetchedObjects?.map(\.id) == [2, 5, 4] }
    #expect(failures.count == 1)
  }

  @Test("elements come in batches: when they are loaded, or accessed", arguments: Kind.allCases)
  func batches(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities.store, byPopulation(batch: 2))
    try await controller.performFetch()
    #expect(controller.numberOfObjects == 5)
    #expect(controller.fetchedObjects?.isEmpty == true)
    #expect(try await controller.load(1..<3).map(\.name) == ["Lima", "Osaka"])
    #expect(controller.fetchedObjects?.map(\.name) == ["Lima", "Osaka"])
    let tokyo = try await controller.object(loading: .first)
    #expect(tokyo?.name == "Tokyo")
    let log = ChangeLog(controller)
    #expect(controller.object(at: Position(section: 0, item: 4)) == nil)
    try await eventually { log.lines.last == "did" }
    #expect(log.lines == ["will", "update Cusco 0.4 0.4", "did"])
    #expect(controller.sections[0].objects.count == 4)
    #expect(controller.sections[0].numberOfObjects == 5)
    #expect(try await controller.load(0..<99).map(\.id) == [1, 3, 2, 5, 4])
  }

  @Test(
    "loaded elements are kept up to date; others are reported by their ids",
    arguments: Kind.allCases)
  func changesOfBatches(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities.store, byPopulation(batch: 2))
    try await controller.performFetch()
    try await controller.load(0..<2)
    let log = ChangeLog(controller)
    try await cities.save(
      """
      {"update":"City","id":1,"values":{"name":"Edo"}},{"update":"City","id":5,"values":{"name":"B"}},
      {"delete":"City","id":4},{"insert":"City","values":{"id":9,"name":"Kyoto","population":850}}
      """)
    try await eventually { log.lines.last == "did" }
    #expect(
      log.lines == [
        "will", "delete #4 0.4 -", "insert #9 - 0.1", "update Edo 0.0 0.0", "update #5 0.3 0.4",
        "did",
      ])
    #expect(controller.fetchedObjects?.map(\.name) == ["Edo", "Lima"])
  }
}

extension ResultsControllerContractTests {
  @Test("a batched controller does not report values that a loaded element already has")
  func silentBatches() async throws {
    let cities = try Cities(.local)
    let store = PausingStore(cities.store)
    let controller = controller(store, byPopulation(batch: 2))
    try await controller.performFetch()
    let log = ChangeLog(controller)
    store.close(.diffs)
    try await cities.save(
      #"{"update":"City","id":1,"values":{"name":"Edo"}},{"update":"City","id":3,"values":{"name":"L"}}"#
    )
    try await controller.load(0..<1)
    #expect(controller.fetchedObjects?.map(\.name) == ["Edo"])
    store.open(.diffs)
    try await eventually { log.lines.last == "did" }
    #expect(log.lines == ["will", "update #3 0.1 0.1", "did"])
    try await controller.load(0..<5)
    try await cities.save(#"{"update":"City","id":1,"values":{"name":"Tokyo"}}"#)
    try await eventually { log.lines.count == 6 }
    #expect(log.lines.suffix(3) == ["will", "update Tokyo 0.0 0.0", "did"])
  }
}

/// Records the calls of closures.
@MainActor
final class ChangeLog {
  var lines: [String] = []
  private let callbacks: FetchedResultsControllerCallbacks<City>

  init(_ controller: FetchedResultsController<City>) {
    callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.willChangeContent = { [unowned self] in lines.append("will") }
    callbacks.didChangeSection = { [unowned self] section, index, type in
      lines.append("\(type) section \(section.name) \(index)")
    }
    callbacks.didChangeObject = { [unowned self] change, city in
      lines.append(Self.line(change, city?.name ?? "#\(change.id)"))
    }
    callbacks.didChangeContent = { [unowned self] in lines.append("did") }
  }

  static func line<Object>(_ change: ObjectChange<Object>, _ name: String) -> String {
    let places = [change.oldPosition, change.newPosition].map { place in
      place.map { "\($0.section).\($0.item)" } ?? "-"
    }
    return "\(change.type) \(name) \(places[0]) \(places[1])"
  }
}

/// A store that gives a set number of wrong digests.
final class WrongDigestStore: ObjectStore {
  let wrongDigests = Mutex(0)
  private let store: any ObjectStore

  init(_ store: any ObjectStore) { self.store = store }

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    let answer = try await store.fetch(request)
    guard answer["from"] != nil, case .object(let members) = answer else { return answer }
    let isWrong = wrongDigests.withLock { remaining in
      defer { remaining = max(0, remaining - 1) }
      return remaining > 0
    }
    guard isWrong else { return answer }
    return .object(
      members.map { .init(name: $0.name, value: $0.name == "digest" ? .string("0") : $0.value) })
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await store.save(request)
  }
}
