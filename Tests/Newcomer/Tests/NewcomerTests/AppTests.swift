// The first steps of an app, as the documentation describes them: structures and managed classes over a
// file and over a server, changes of other clients, conflicts, and a server that cannot be reached.

import Foundation
import LiveFetch
import Observation
import Testing

/// A structure with the values that a list shows.
struct ListRow: Codable, Fetchable, Identifiable, Sendable {
  static let entityName = "List"
  let id: Int
  var title: String
  var itemCount: Int?
}

nonisolated extension ListRow: InstanceIdentifiable {}

/// A row of ``List`` without what the store computes.
struct CannedList: Codable, Fetchable {
  static let entityName = "List"
  let id: Int
  let title: String
}

nonisolated struct Tally: Decodable, Sendable {
  let items: Int
  let last: String
}

/// The first live list of the manual, in a program without an actor.
@concurrent func printLists(path: String) async throws {
  let store = try LocalStore(path: path)
  let request = FetchRequest<ListRow>(
    where: FetchPredicate("title != %@", ""), sortedBy: [.descending("title")])
  for try await snapshot in store.live(request) {
    for list in snapshot.elements { print(list.title, list.itemCount ?? 0) }
    print("---")
  }
}

@Suite(.timeLimit(.minutes(5)))
struct `An app over a file` {
  @Test func `shows values of related objects and the changes of other contexts`() async throws {
    let sample = try SampleStore()
    let context = ManagedObjectContext(store: sample.store)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ListRow>(sortedBy: [.ascending("title")]), context: context)
    try await controller.performFetch()
    let writer = ManagedObjectContext(store: sample.store)
    let list: List = writer.insertObject()
    list.title = "Groceries"
    let item: Item = writer.insertObject()
    item.title = "Tea"
    item.list = Fault(list)
    try await writer.save()
    for await snapshot in controller.snapshots where snapshot.numberOfItems == 1 { break }
    #expect(controller.fetchedObjects?.first?.title == "Groceries")
    #expect(controller.fetchedObjects?.first?.itemCount == 1)
  }

  @Test func `shows structures by a data store`() async throws {
    let sample = try SampleStore()
    let lists = ObjectDataStore<ListRow>(sample.store)
    let controller = DataStoreResultsController(
      store: lists, request: FetchRequest<ListRow>(sortedBy: [.ascending("title")]))
    try await lists.insert(ListRow(id: 7, title: "Groceries"))
    try await controller.performFetch()
    #expect(controller.fetchedResults.map(\.title) == ["Groceries"])
  }

  @Test func `shows what is not saved yet in a live list`() async throws {
    let sample = try SampleStore()
    let context = ManagedObjectContext(store: sample.store)
    let controller = FetchedResultsController(
      fetchRequest: Item.sortedFetchRequest, context: context)
    controller.includesPendingChanges = true
    try await controller.performFetch()
    let item: Item = context.insertObject()
    item.title = "Tea"
    for await snapshot in controller.snapshots where snapshot.numberOfItems == 1 { break }
    #expect(controller.fetchedObjects?.map(\.title) == ["Tea"])
    #expect(item.isInserted)
  }

  @Test func `reads rows by SQL`() async throws {
    let sample = try SampleStore()
    let context = ManagedObjectContext(store: sample.store)
    for title in ["Tea", "Cocoa"] {
      let item: Item = context.insertObject()
      item.title = title
    }
    try await context.save()
    let tallies = try await sample.store.rows(
      "SELECT count(*) AS items, max(title) AS last FROM Item WHERE title <> ?", "Coffee",
      as: Tally.self)
    #expect(tallies.map(\.items) == [2])
    #expect(tallies.map(\.last) == ["Tea"])
  }

  @Test func `shows rows of a store in memory, as a preview does`() async throws {
    let store = try LocalStore.inMemory(
      ModelFile(of: [List.self]), [CannedList(id: 1, title: "Groceries")])
    let results: LiveResults<ListRow> = store.live(FetchRequest<ListRow>())
    var titles: [[String]] = []
    for try await snapshot in results {
      titles.append(snapshot.elements.map(\.title))
      break
    }
    #expect(titles == [["Groceries"]])
  }

  @Test func `finds a conflict and resolves it`() async throws {
    let sample = try SampleStore()
    let mine = ManagedObjectContext(store: sample.store)
    let item: Item = mine.insertObject()
    item.title = "Tea"
    try await mine.save()
    let theirs = ManagedObjectContext(store: sample.store)
    let same = try #require(try await theirs.fetch(Item.sortedFetchRequest).first)
    same.title = "Coffee"
    try await theirs.save()

    item.title = "Cocoa"
    do {
      try await mine.save()
      Issue.record("a conflict is found")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      let conflict = try #require(refusal.conflicts.first)
      #expect(conflict.stored == .string("Coffee"))
      #expect(conflict.given == .string("Cocoa"))
    }
    try await mine.refresh(item, mergeChanges: true)
    try await mine.save()
    let titles = try await theirs.fetch(FetchRequest<Item>()).map(\.title)
    #expect(titles == ["Cocoa"])
  }

  @Test func `redraws a view that shows an object when the object changes`() async throws {
    let sample = try SampleStore()
    let context = ManagedObjectContext(store: sample.store)
    let item: Item = context.insertObject()
    item.title = "Tea"
    try await context.save()
    func row(_ value: some Identifiable) -> AnyHashable { AnyHashable(value.id) }
    #expect(row(item) == row(item))
    let redraws = Counter()
    withObservationTracking {
      #expect(item.title == "Tea")
    } onChange: {
      redraws.increment()
    }
    item.title = "Coffee"
    #expect(redraws.value == 1)
  }
}

/// Counts from any isolation domain.
nonisolated final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0
  var value: Int { lock.withLock { count } }
  func increment() { lock.withLock { count += 1 } }
}

@Suite(
  .timeLimit(.minutes(5)),
  .enabled(if: ServedStore.program != nil, "needs `swift build` of the server before"))
struct `An app over a server` {
  @Test(arguments: [RemoteStore.Transport.longPoll, .stream])
  func `shows changes and saves as over a file`(transport: RemoteStore.Transport) async throws {
    let served = try await ServedStore()
    let store = RemoteStore(served.address, transport: transport)
    let context = ManagedObjectContext(store: store)
    let item: Item = context.insertObject()
    item.title = "milk"
    try await context.save()
    let controller = FetchedResultsController(
      fetchRequest: Item.sortedFetchRequest(where: "%K == FALSE", Item.Key.done), context: context)
    let screen = Screen()
    controller.delegate = screen
    try await controller.performFetch()
    let other = ManagedObjectContext(store: RemoteStore(served.address))
    let same = try #require(try await other.fetch(Item.sortedFetchRequest).first)
    same.done = true
    try await other.save()
    for await snapshot in controller.snapshots where snapshot.numberOfItems == 0 { break }
    #expect(screen.titles == [["Milk"], []])
  }

  @Test func `keeps its content while the server is away, and goes on when it is back`()
    async throws
  {
    let served = try await ServedStore()
    let store = RemoteStore(served.address)
    #expect(store.transport == .stream)
    let context = ManagedObjectContext(store: store)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ListRow>(sortedBy: [.ascending("title")]), context: context)
    let list: List = context.insertObject()
    list.title = "Groceries"
    try await context.save()
    try await controller.performFetch()
    served.stop()
    while true {
      if case .offline = controller.state { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(controller.fetchedObjects?.map(\.title) == ["Groceries"])
    list.title = "Shopping"
    do {
      try await context.save()
      Issue.record("nobody answers")
    } catch {
      guard case .store(let reason) = error else { throw error }
      #expect(reason.unavailability != nil)
    }
    try await served.restart()
    try await context.save()
    for await _ in controller.snapshots {
      if controller.fetchedObjects?.first?.title == "Shopping" { break }
    }
    #expect(controller.fetchedObjects?.map(\.title) == ["Shopping"])
  }

  @Test func `shows the last list at the next start without a server, and sends what waits`()
    async throws
  {
    let served = try await ServedStore()
    let storage = MemoryStorage()
    var store = try OfflineStore(RemoteStore(served.address), storage: storage)
    let request = FetchRequest<ListRow>(sortedBy: [.ascending("title")])
    var counts: [Int] = []
    for try await snapshot in store.live(request) {
      counts.append(snapshot.elements.count)
      break
    }
    #expect(counts == [0])
    store.close()
    served.stop()

    store = try OfflineStore(RemoteStore(served.address), storage: storage)
    let waiting = store
    let save = Task {
      let context = ManagedObjectContext(store: waiting)
      let list: List = context.insertObject()
      list.title = "Groceries"
      return try await context.save()
    }
    var marks: [Bool] = []
    for try await snapshot in store.live(request) {
      if marks.isEmpty { try await served.restart() }
      marks.append(snapshot.isStored)
      if snapshot.elements.map(\.title) == ["Groceries"] { break }
    }
    #expect(marks.first == true)
    #expect(marks.last == false)
    // A save that waits in the queue has no receipt.
    if let receipt = try await save.value { #expect(receipt.inserted == 1) }
    while !store.queuedSaves.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    store.close()
  }
}
