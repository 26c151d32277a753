// A results controller receives every save, in process and over HTTP alike.

import LiveFetch
import TestSupport
import Testing

/// Records a delegate's calls.
private final class Log: FetchedResultsControllerDelegate {
  typealias Element = City
  var lines: [String] = []

  func controllerWillChangeContent(_ controller: Controller) {
    lines.append("will \(controller.fetchedObjects?.count ?? 0)")
  }

  func controller(
    _ controller: Controller, didChange section: FetchedSection<City>, atSectionIndex index: Int,
    for type: SectionChangeType
  ) { lines.append("\(type) section \(section.name) at \(index)") }

  func controller(
    _ controller: Controller, didChange object: City, at position: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {
    let places = [position, newIndexPath].map { place in
      place.map { "\($0.section).\($0.item)" } ?? "-"
    }
    lines.append("\(type) \(object.name) \(places[0]) \(places[1])")
  }

  func controllerDidChangeContent(_ controller: Controller) {
    lines.append("did \(controller.fetchedObjects?.count ?? 0)")
  }
}

/// Receives only snapshots.
private final class SnapshotLog: FetchedResultsControllerDelegate {
  typealias Element = City
  var snapshots: [ResultsSnapshot] = []
  var others = 0
  var onSnapshot: (FetchedResultsController<City>) -> Void = { _ in }

  func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot) {
    snapshots.append(snapshot)
    onSnapshot(controller)
  }

  func controllerWillChangeContent(_ controller: Controller) { others += 1 }
  func controllerDidChangeContent(_ controller: Controller) { others += 1 }
}

/// Receives only differences.
private final class DifferenceLog: FetchedResultsControllerDelegate {
  typealias Element = City
  var differences: [CollectionDifference<ObjectID>] = []
  var others = 0

  func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>
  ) { differences.append(difference) }

  func controllerWillChangeContent(_ controller: Controller) { others += 1 }
}

@MainActor
private func controller(
  _ cities: Cities, where predicate: FetchPredicate? = nil, sort: String = "-population",
  section: String? = nil, limit: Int? = nil
) -> FetchedResultsController<City> {
  let term =
    sort.hasPrefix("-")
    ? SortTerm.descending(String(sort.dropFirst())) : SortTerm.ascending(sort)
  var request = FetchRequest<City>(where: predicate, sortedBy: [term])
  request.fetchLimit = limit
  return FetchedResultsController(
    fetchRequest: request, context: ManagedObjectContext(store: cities.store),
    section: section.map { .ascending($0) })
}

@MainActor
@Suite("A results controller", .mayBlock)
struct FetchedResultsControllerTests {
  @Test("fetches nothing by itself, and everything in performFetch", arguments: Kind.allCases)
  func fetching(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities, section: "country.name")
    #expect(controller.fetchedObjects == nil)
    #expect(controller.sections.isEmpty)
    try await controller.performFetch()
    #expect(controller.sections.map(\.name) == ["Japan", "Mali", "Peru"])
    #expect(
      controller.sections.map { $0.objects.map(\.name) } == [
        ["Tokyo", "Osaka"], ["Bamako"], ["Lima", "Cusco"],
      ])
    #expect(controller.sectionIndexTitles == ["J", "M", "P"])
    #expect(controller.section(forSectionIndexTitle: "P", at: 2) == 2)
    #expect(controller.object(at: Position(section: 2, item: 1))?.name == "Cusco")
    #expect(controller.object(at: Position(section: 2, item: 2)) == nil)
    #expect(controller.position(of: .integer(5)) == Position(section: 1, item: 0))
  }

  @Test("reports each change between will and did, sections first", arguments: Kind.allCases)
  func eachChange(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities, section: "country.name")
    let log = Log()
    controller.delegate = log
    try await controller.performFetch()
    #expect(log.lines.isEmpty)
    try await cities.save(
      """
      {"update":"City","id":2,"values":{"population":1000}},
      {"update":"City","id":3,"values":{"name":"Ciudad de los Reyes"}},
      {"delete":"City","id":5},
      {"insert":"City","values":{"id":9,"name":"Sapporo","population":1,"country":1}}
      """)
    try await eventually { log.lines.count == 7 }
    #expect(
      log.lines == [
        "will 5", "delete section Mali at 1", "delete Bamako 1.0 -", "insert Sapporo - 0.2",
        "move Osaka 0.1 0.0", "update Ciudad de los Reyes 2.0 1.0", "did 5",
      ])
    #expect(controller.sections.map { $0.objects.map(\.id) } == [[2, 1, 9], [3, 4]])
  }

  @Test("a delegate that takes snapshots gets them alone", arguments: Kind.allCases)
  func snapshots(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities)
    let log = SnapshotLog()
    controller.delegate = log
    try await controller.performFetch()
    #expect(log.snapshots.map(\.itemIdentifiers) == [[1, 3, 2, 5, 4].map { .integer($0) }])
    try await cities.save(#"{"update":"City","id":4,"values":{"name":"Qosqo"}}"#)
    try await eventually { log.snapshots.count == 2 }
    #expect(log.snapshots[1].reconfiguredItemIdentifiers == [.integer(4)])
    #expect(log.snapshots[1].itemIdentifiers == log.snapshots[0].itemIdentifiers)
    #expect(log.others == 0)
  }

  @Test("a delegate that takes differences gets them alone", arguments: Kind.allCases)
  func differences(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities)
    let log = DifferenceLog()
    controller.delegate = log
    try await controller.performFetch()
    let before = [1, 3, 2, 5, 4].map { ObjectID.integer($0) }
    #expect(log.differences.map { [ObjectID]().applying($0) } == [before])
    try await cities.save(#"{"update":"City","id":4,"values":{"population":1000}}"#)
    try await eventually { log.differences.count == 2 }
    #expect(before.applying(log.differences[1]) == [4, 1, 3, 2, 5].map { .integer($0) })
    #expect(log.others == 0)
  }

  @Test("fetching again inside the snapshot method neither loops nor crashes")
  func fetchingInside() async throws {
    let cities = try Cities(.local)
    let controller = controller(cities)
    let log = SnapshotLog()
    var fetches = 0
    log.onSnapshot = { controller in
      Task { @MainActor in
        fetches += 1
        try await controller.performFetch()
      }
    }
    controller.delegate = log
    try await controller.performFetch()
    try await eventually { fetches == 1 }
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { fetches == 2 }
    try await controller.performFetch()
    #expect(log.snapshots.count == 2)
    #expect(fetches == 2)
  }

  @Test("a window refills", arguments: Kind.allCases)
  func window(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities, limit: 2)
    let log = Log()
    controller.delegate = log
    try await controller.performFetch()
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await eventually { log.lines.count == 4 }
    #expect(log.lines == ["will 2", "delete Tokyo 0.0 -", "insert Osaka - 0.1", "did 2"])
  }

  @Test("an object updated out of the predicate is deleted once", arguments: Kind.allCases)
  func leaving(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities, where: FetchPredicate("population >= %ld", 300))
    let log = Log()
    controller.delegate = log
    try await controller.performFetch()
    try await cities.save(#"{"update":"City","id":3,"values":{"population":1}}"#)
    try await eventually { log.lines.count == 3 }
    #expect(log.lines == ["will 3", "delete Lima 0.1 -", "did 2"])
  }

  @Test("another request yields a difference", arguments: Kind.allCases)
  func anotherRequest(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities)
    let log = Log()
    controller.delegate = log
    try await controller.performFetch()
    var request = controller.fetchRequest
    request.predicate = FetchPredicate("population < 500")
    request.sortDescriptors = [.ascending("name")]
    try await controller.update(fetchRequest: request)
    #expect(
      log.lines == [
        "will 5", "delete Lima 0.1 -", "delete Tokyo 0.0 -", "move Osaka 0.2 0.2", "did 3",
      ])
    try await cities.save(#"{"update":"City","id":1,"values":{"population":7}}"#)
    try await eventually { log.lines.count == 8 }
    #expect(log.lines.suffix(3) == ["will 3", "insert Tokyo - 0.3", "did 4"])
  }

  @Test("a refused request throws, and the previous one stays in force", arguments: Kind.allCases)
  func refused(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = controller(cities)
    let log = Log()
    controller.delegate = log
    try await controller.performFetch()
    var request = controller.fetchRequest
    request.predicate = FetchPredicate("popluation > 1")
    do {
      try await controller.update(fetchRequest: request)
      Issue.record("it was not refused")
    } catch {
      guard case .store(let error) = error else { throw error }
      #expect(error.code == "unknown-key-path")
    }
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await eventually { log.lines.count == 3 }
    #expect(controller.fetchRequest.predicate == nil)
  }

  @Test("snapshots are a sequence; a slow reader gets the newest and all that changed")
  func snapshotSequence() async throws {
    let cities = try Cities(.local)
    let controller = controller(cities)
    try await controller.performFetch()
    var iterator = controller.snapshots.makeAsyncIterator()
    #expect(await iterator.next()?.itemIdentifiers == [1, 3, 2, 5, 4].map { .integer($0) })
    try await cities.save(#"{"update":"City","id":4,"values":{"name":"Qosqo"}}"#)
    try await eventually { controller.object(at: Position(section: 0, item: 4))?.name == "Qosqo" }
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await eventually { controller.fetchedObjects?.count == 4 }
    let snapshot = try #require(await iterator.next())
    #expect(snapshot.itemIdentifiers == [3, 2, 5, 4].map { .integer($0) })
    #expect(snapshot.reconfiguredItemIdentifiers == [.integer(4)])
  }

  @Test("changes are a sequence; a slow reader gets them as one")
  func changeSequence() async throws {
    let cities = try Cities(.local)
    let controller = controller(cities)
    try await controller.performFetch()
    var iterator = controller.changes.makeAsyncIterator()
    try await cities.save(#"{"update":"City","id":4,"values":{"population":1000}}"#)
    try await eventually { controller.object(at: .first)?.id == 4 }
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await eventually { controller.fetchedObjects?.count == 4 }
    let change = try #require(await iterator.next())
    #expect(
      change.objects == [
        ObjectChange(.delete, .integer(1), from: .first, to: nil),
        ObjectChange(.move, .integer(4), from: Position(section: 0, item: 4), to: .first),
      ])
  }
}
