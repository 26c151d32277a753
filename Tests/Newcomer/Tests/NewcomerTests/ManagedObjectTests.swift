// Managed classes and a delegate without isolation annotations, in a module of the main actor.

import LiveFetch
import Testing

final class List: ManagedObject, ManagedObjectType {
  static let entityName = "List"
  static let defaultSortDescriptors = [SortTerm.ascending(Key.title)]
  enum Key: String, KeyCodable { case title, itemCount, items }

  @Managed(.title) var title = ""
  @ManagedDerived(.itemCount, from: "items.@count") var itemCount: Int?
  @ManagedToMany(.items) var items: ToManyProxy<Item>
}

final class Item: ManagedObject, ManagedObjectType {
  static let entityName = "Item"
  static let defaultSortDescriptors = [SortTerm.ascending(Key.title)]
  enum Key: String, KeyCodable { case title, done, list }

  @Managed(.title) var title = ""
  @Managed(.done) var done = false
  @ManagedToOne(.list) var list: Fault<List>?

  func validateValue(for key: Key) throws {
    if key == .title, title.isEmpty { throw ValidationFailure(Key.title, "is empty") }
  }

  override func willSave() { if title == "milk" { title = "Milk" } }
}

final class Screen: FetchedResultsControllerDelegate {
  typealias Element = Item
  var titles: [[String]] = []

  func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot) {
    titles.append(controller.fetchedObjects?.map(\.title) ?? [])
  }
}

@Suite(.timeLimit(.minutes(5)))
struct `Managed objects in a module of the main actor` {
  @Test func `are inserted, saved, fetched, and shown by a results controller`() async throws {
    let store = try SampleStore()
    let context = ManagedObjectContext(store: store.store)
    let controller = FetchedResultsController(
      fetchRequest: Item.sortedFetchRequest(where: "%K == FALSE", Item.Key.done), context: context)
    let screen = Screen()
    controller.delegate = screen
    try await controller.performFetch()

    let list: List = context.insertObject()
    list.title = "Groceries"
    let item: Item = context.insertObject()
    item.title = "milk"
    item.list = Fault(list)
    try await context.save()
    for await snapshot in controller.snapshots where snapshot.itemIdentifiers.count == 1 { break }
    #expect(screen.titles == [[], ["Milk"]])

    let other = ManagedObjectContext(store: store.store)
    let found = try await other.fetch(Item.sortedFetchRequest)
    #expect(found.map(\.title) == ["Milk"])
    let owner = try await found.first?.list?.materialize()
    #expect(owner?.title == "Groceries")
    #expect(owner?.itemCount == 1)
    #expect(try await owner?.items.materialize().map(\.objectID) == [item.objectID])
  }

  @Test func `throw an error for a save that is refused`() async throws {
    let context = ManagedObjectContext(store: try SampleStore().store)
    let _: Item = context.insertObject()
    await #expect(throws: ContextError.self) { try await context.save() }
  }
}
