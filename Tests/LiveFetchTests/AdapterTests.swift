// An adapter forwards a controller's callbacks to a delegate that may be replaced or released.

import LiveFetch
import TestSupport
import Testing

@MainActor
private final class CitiesScreen {
  var lines: [String] = []
}

extension CitiesScreen: @MainActor FetchedResultsControllerDelegate {
  typealias Element = City

  func controllerWillChangeContent(_ controller: FetchedResultsController<City>) {
    lines.append("will")
  }

  func controller(
    _ controller: FetchedResultsController<City>, didChange object: City, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) { lines.append("\(type) \(object.name)") }

  func controllerDidChangeContent(_ controller: FetchedResultsController<City>) {
    lines.append("did")
  }
}

/// A delegate that receives only snapshots.
private final class SnapshotScreen: FetchedResultsControllerDelegate {
  typealias Element = City
  var snapshots = 0
  var others = 0

  func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot) {
    snapshots += 1
  }

  func controllerDidChangeContent(_ controller: Controller) { others += 1 }
}

@MainActor
private final class CitiesAdapter: FetchedResultsControllerAdapter<CitiesScreen> {}

private final class CountingAdapter: FetchedResultsControllerAdapter<SnapshotScreen> {
  var changes = 0

  override func controllerDidChangeContent(_ controller: Controller) {
    changes += 1
    super.controllerDidChangeContent(controller)
  }
}

/// A delegate that is not isolated to an actor.
private final class PlainScreen: FetchedResultsControllerDelegate {
  typealias Element = City
  var lines: [String] = []

  func controller(
    _ controller: Controller, didChange object: City, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) { lines.append("\(type) \(object.name)") }
}

private final class OverridingAdapter: FetchedResultsControllerAdapter<PlainScreen> {
  var calls: [String] = []

  override func controller(
    _ controller: FetchedResultsController<City>, didChange object: City, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {
    calls.append("\(type) \(object.name)!")
    super.controller(
      controller, didChange: object, at: indexPath, for: type, newIndexPath: newIndexPath)
  }
}

@MainActor
@Suite("An adapter", .mayBlock)
struct AdapterTests {
  private func controller(_ cities: Cities) -> FetchedResultsController<City> {
    FetchedResultsController(
      fetchRequest: FetchRequest(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: cities.store))
  }

  @Test("passes every callback on, typed, to the delegate it has at the time")
  func passingOn() async throws {
    let cities = try Cities(.local)
    let adapter = CitiesAdapter(controller(cities))
    try await adapter.performFetch()
    let first = CitiesScreen()
    adapter.delegate = first
    try await cities.save(#"{"update":"City","id":4,"values":{"name":"Qosqo"}}"#)
    try await eventually { first.lines == ["will", "update Qosqo", "did"] }
    let second = CitiesScreen()
    adapter.delegate = second
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { second.lines == ["will", "delete Qosqo", "did"] }
    #expect(first.lines.count == 3)
  }

  @Test("holds its delegate weakly")
  func weakness() async throws {
    let cities = try Cities(.local)
    var screen: CitiesScreen? = CitiesScreen()
    let adapter = CitiesAdapter(controller(cities), delegate: screen)
    #expect(adapter.delegate != nil)
    screen = nil
    #expect(adapter.delegate == nil)
    try await adapter.performFetch()
    #expect(adapter.controller.fetchedObjects?.count == 5)
  }

  @Test("a delegate that takes snapshots gets them alone through an adapter too")
  func snapshots() async throws {
    let cities = try Cities(.local)
    let screen = SnapshotScreen()
    let adapter = CountingAdapter(controller(cities), delegate: screen)
    try await adapter.performFetch()
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { screen.snapshots == 2 }
    #expect(screen.others == 0)
    #expect(adapter.changes == 0)
  }

  @Test("a subclass overrides its delegate's calls, and receives them itself without one")
  func overriding() async throws {
    let cities = try Cities(.local)
    let screen = PlainScreen()
    let adapter = OverridingAdapter(controller(cities), delegate: screen)
    try await adapter.performFetch()
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { screen.lines.count == 1 }
    #expect(adapter.calls == ["delete Cusco!"])
    adapter.delegate = nil
    try await cities.save(#"{"delete":"City","id":3}"#)
    try await eventually { adapter.calls == ["delete Cusco!", "delete Lima!"] }
    #expect(screen.lines == ["delete Cusco"])
  }

  @Test("closures receive the kind of callbacks that is set")
  func closures() async throws {
    let cities = try Cities(.local)
    let controller = controller(cities)
    let callbacks = FetchedResultsControllerCallbacks(controller)
    var calls: [String] = []
    callbacks.didChangeContentWithDifference = { calls.append("difference \($0.count)") }
    callbacks.didChangeContent = { calls.append("did") }
    callbacks.sectionIndexTitle = { _ in "*" }
    try await controller.performFetch()
    #expect(calls == ["difference 5"])
    #expect(controller.sectionIndexTitles == ["*"])
    callbacks.didChangeContentWithDifference = nil
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { calls == ["difference 5", "did"] }
  }

  @Test("a closure shows the content at once, and each change, which may be animated")
  func showing() async throws {
    let cities = try Cities(.local)
    let controller = controller(cities)
    try await controller.performFetch()
    var shown: [String] = []
    let callbacks = FetchedResultsControllerCallbacks(controller) { snapshot, isChange in
      shown.append("\(snapshot.itemIdentifiers.count) \(isChange)")
    }
    #expect(shown == ["5 false"])
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { shown == ["5 false", "4 true"] }
    withExtendedLifetime(callbacks) {}
  }
}
