// Generated changes of an object graph: after each save, the objects in memory equal those that a new
// context fetches, in process and over HTTP alike.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
private final class Graph {
  let sample: SampleStore
  let context: ManagedObjectContext
  var lists: [ToDo.List] = []
  var items: [ToDo.Item] = []
  var generator: SeededRandom
  var made = 0
  /// Added to a list since the last save.
  var joined: Set<ToDo.Item> = []

  init(_ kind: Kind, seed: UInt64) async throws {
    sample = try await SampleStore(kind, "todo")
    context = ManagedObjectContext(store: sample.store)
    generator = SeededRandom(seed: seed)
  }

  /// One change, in this context or by another client.
  func change() async throws {
    lists.removeAll(where: \.isDeleted)
    items.removeAll(where: \.isDeleted)
    made += 1
    switch Int.random(in: 0..<12, using: &generator) {
    case 0, 1:
      let list: ToDo.List = context.insertObject()
      list.title = "List \(made)"
      lists.append(list)
    case 2, 3, 4:
      let item: ToDo.Item = context.insertObject()
      item.title = "Item \(made)"
      if let list = lists.randomElement(using: &generator) { item.list = Fault(list) }
      items.append(item)
    case 5: items.randomElement(using: &generator)?.done.toggle()
    case 6: items.randomElement(using: &generator)?.due = Date(timeIntervalSince1970: Double(made))
    case 7:
      if let item = items.randomElement(using: &generator), !joined.contains(item) {
        item.list = lists.randomElement(using: &generator).map { Fault($0) }
      }
    case 8:
      // Both sides of a relationship are not edited in one save.
      if let item = items.randomElement(using: &generator), item.changedValues()[.list] == nil,
        joined.insert(item).inserted
      {
        lists.randomElement(using: &generator)?.items.insert(item)
      }
    case 9: if let item = items.randomElement(using: &generator) { context.delete(item) }
    case 10:
      if made % 3 == 0, let list = lists.randomElement(using: &generator) { context.delete(list) }
    default:
      let stored = lists.compactMap { $0.isInserted ? nil : $0.objectID.permanentID }
      let owner = stored.randomElement(using: &generator).map(\.description) ?? "null"
      try await sample.save(
        #"{"insert":"Item","values":{"title":"Foreign \#(made)","list":\#(owner)}}"#)
    }
  }

  /// The values of the objects in memory, sorted by kind and id.
  func state() -> [String] {
    let known = lists.filter { !$0.isDeleted }.map { list in
      "list \(list.objectID) \(list.title) \(list.itemCount ?? -1)"
        + " \(list.items.ids?.map(\.description).sorted().joined(separator: ",") ?? "unknown")"
    }
    let others = items.filter { !$0.isDeleted }.map { item in
      "item \(item.objectID) \(item.title) \(item.done) \(item.due?.timeIntervalSince1970 ?? 0)"
        + " \(item.list?.id.description ?? "-")"
    }
    return (known + others).sorted()
  }

  /// The values that a new context fetches of the same objects.
  func truth() async throws -> [String] {
    let fresh = ManagedObjectContext(store: sample.store)
    let other = try await Graph(fresh, sample)
    let mine = Set(lists.map { "list \($0.objectID)" } + items.map { "item \($0.objectID)" })
    return other.state().filter { line in
      mine.contains(line.split(separator: " ").prefix(2).joined(separator: " "))
    }
  }

  private init(_ context: ManagedObjectContext, _ sample: SampleStore) async throws {
    self.sample = sample
    self.context = context
    generator = SeededRandom(seed: 0)
    var request = ToDo.List.sortedFetchRequest
    request.relationshipsToPrefetch = ["items"]
    lists = try await context.fetch(request)
    items = try await context.fetch(ToDo.Item.sortedFetchRequest)
  }
}

@MainActor
@Suite("Generated changes of objects", .mayBlock)
struct GeneratedObjectsTests {
  @Test(
    "leave the objects in memory equal to those that a new context fetches",
    arguments: Kind.allCases)
  func consistency(kind: Kind) async throws {
    let given = ProcessInfo.processInfo.environment["LIVEFETCH_SEED"].flatMap(UInt64.init)
    let seed = given ?? UInt64.random(in: 0...UInt64.max)
    let graph = try await Graph(kind, seed: seed)
    for round in 0..<40 {
      for _ in 0..<Int.random(in: 1...6, using: &graph.generator) { try await graph.change() }
      if round % 9 == 8 {
        graph.context.rollback()
        graph.lists.removeAll { $0.managedObjectContext == nil }
        graph.items.removeAll { $0.managedObjectContext == nil }
        try await graph.context.mergeChanges()
      } else {
        if try await graph.context.save() == nil { try await graph.context.mergeChanges() }
      }
      graph.joined = []
      for list in graph.lists where !list.isDeleted { try await list.items.materialize() }
      let (here, there) = (graph.state(), try await graph.truth())
      let differing = Set(here).symmetricDifference(there).sorted()
      try #require(differing.isEmpty, "seed \(seed), round \(round)")
    }
  }

  @Test("an object that is saved is the one that a controller shows", arguments: Kind.allCases)
  func controllers(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "todo")
    let context = ManagedObjectContext(store: sample.store)
    let controller = FetchedResultsController(
      fetchRequest: ToDo.Item.sortedFetchRequest, context: context)
    try await controller.performFetch()
    var items: Set<ToDo.Item> = []
    for number in 0..<30 {
      let item: ToDo.Item = context.insertObject()
      item.title = "Item \(number)"
      items.insert(item)
      try await context.save()
    }
    try await eventually { controller.fetchedObjects?.count == 30 }
    #expect(Set(controller.fetchedObjects ?? []) == items)
  }
}
