// Controllers of managed objects, events of a context, observers; in process and over HTTP alike.

import LiveFetch
import TestSupport
import Testing

/// Records a delegate's calls about cities.
private final class CityLog: FetchedResultsControllerDelegate {
  typealias Element = SampleCities.City
  var lines: [String] = []

  func controller(
    _ controller: Controller, didChange object: SampleCities.City, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) { lines.append("\(type) \(object.name) \(object.population ?? 0)") }
}

@MainActor
@Suite("Observing managed objects", .mayBlock)
struct ObservingTests {
  typealias City = SampleCities.City
  typealias Country = SampleCities.Country

  @Test(
    "a controller shows the unique instances and changes them in place", arguments: Kind.allCases)
  func controllers(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let controller = FetchedResultsController(
      fetchRequest: City.sortedFetchRequest, context: context, sectionKeyPath: "country.name")
    let log = CityLog()
    controller.delegate = log
    try await controller.performFetch()
    #expect(controller.sections.map(\.name) == ["Japan", "Peru"])
    #expect(controller.object(at: .first) === osaka)
    let unsaved: City = context.insertObject()
    unsaved.name = "Aa"
    osaka.population = 1
    try await sample.save(
      #"{"update":"City","id":\#(try #require(ids["osaka"])),"values":{"name":"Ōsaka","population":2}}"#
    )
    try await eventually { log.lines.count == 1 }
    // The edit stays, and the unsaved value is not shown.
    #expect(log.lines == ["move Ōsaka 1"])
    #expect(controller.object(at: Position(section: 0, item: 1)) === osaka)
    #expect(osaka.changedValues() == [.population: .number("1")])
    context.rollback()
    #expect(osaka.population == 2)
  }

  @Test(
    "a controller in batches makes managed objects as they are asked for", arguments: Kind.allCases)
  func batches(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    var request = City.sortedFetchRequest
    request.fetchBatchSize = 2
    let controller = FetchedResultsController(fetchRequest: request, context: context)
    try await controller.performFetch()
    #expect(context.registeredObjects.isEmpty)
    #expect(try await controller.load(0..<2).map(\.name) == ["Cusco", "Osaka"])
    #expect(context.registeredObjects.count == 2)
  }

  @Test("an observer that is refused reports the reason once, and ends")
  func failures() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    var changes: [ManagedObjectObserver<City>.Change] = []
    var failures: [String] = []
    let observer = ManagedObjectObserver(osaka) { changes.append($0) }
    observer.didFail = { failures.append($0.description) }
    try await sample.save(
      #"{"update":"City","id":\#(try #require(ids["osaka"])),"values":{"population":7}}"#)
    try await eventually { changes == [.update] }
    try #require(sample.store as? LocalStore).close()
    try await eventually { failures == ["cancelled"] }
    #expect(observer.isEnded)
    let late = ManagedObjectObserver(osaka) { changes.append($0) }
    late.didFail = { failures.append($0.description) }
    try await eventually { failures == ["cancelled", "cancelled"] }
    #expect(late.isEnded && changes == [.update])
  }

  @Test("a context reports changes and saves as typed events")
  func events() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    var lines: [String] = []
    let tokens = [
      context.observe(ObjectsDidChange.self) { change in
        lines.append(
          "changed \(change.inserted(City.self).map(\.name)) \(change.updated(City.self).map(\.name))"
            + " \(change.deleted(City.self).map(\.name)) \(change.inserted(Country.self).count)")
      },
      context.observe(WillSave.self) { event in
        lines.append("will save \(event.context.insertedObjects.count)")
      },
      context.observe(DidSave.self) { event in
        lines.append(
          "did save \(event.inserted(City.self).map(\.name)) \(event.updated(City.self).count)"
            + " \(event.deleted(City.self).count)")
      },
    ]
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    let city: City = context.insertObject()
    city.name = "Nara"
    osaka.population = 5
    context.delete(cusco)
    context.processPendingChanges()
    context.processPendingChanges()
    #expect(lines == [#"changed ["Nara"] ["Osaka"] ["Cusco"] 0"#])
    lines = []
    try await context.save()
    #expect(lines.first == "will save 1")
    #expect(lines.last == #"did save ["Nara"] 1 1"#)
    lines = []
    for token in tokens { token.cancel() }
    city.name = "Heijō"
    try await context.save()
    #expect(lines.isEmpty)
  }

  @Test("events are a sequence as well")
  func sequences() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    var iterator = context.events(DidSave.self).makeAsyncIterator()
    for name in ["Nara", "Kobe"] {
      let city: City = context.insertObject()
      city.name = name
      try await context.save()
    }
    var names: [[String]] = []
    for _ in 0..<2 {
      names.append(
        await iterator.next(isolation: #isolation)?.inserted(City.self).map(\.name) ?? [])
    }
    #expect(names == [["Nara"], ["Kobe"]])
    var saves = context.events(WillSave.self).makeAsyncIterator()
    let city: City = context.insertObject()
    city.name = "Uji"
    try await context.save()
    #expect(await saves.next(isolation: #isolation)?.context === context)
  }

  @Test("a sequence of events ends with its context; a cancelled observer hears nothing more")
  func ends() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    var context: ManagedObjectContext? = ManagedObjectContext(store: sample.store)
    let events = try #require(context).events(DidSave.self)
    let reader = Task { @MainActor in
      var count = 0
      for await _ in events { count += 1 }
      return count
    }
    var heard = 0
    var second: ObservationToken?
    let first = try #require(context).observe(WillSave.self) { _ in second?.cancel() }
    second = try #require(context).observe(WillSave.self) { _ in heard += 1 }
    let city: City = try #require(context).insertObject()
    city.name = "Nara"
    _ = try await context?.save()
    first.cancel()
    context = nil
    #expect(await reader.value == 1)
    #expect(heard == 0)
  }

  @Test("an observer of a new object that is never saved ends", arguments: [true, false])
  func neverSaved(isDeleted: Bool) async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let nara: City = context.insertObject()
    var changes: [ManagedObjectObserver<City>.Change] = []
    let observer = ManagedObjectObserver(nara) { changes.append($0) }
    nara.name = "Nara"
    context.processPendingChanges()
    #expect(changes.isEmpty && !observer.isEnded)
    if isDeleted { context.delete(nara) } else { context.rollback() }
    context.processPendingChanges()
    #expect(changes == [.delete] && observer.isEnded)
  }

  /// An owner of a token that is released by its last user, on any thread.
  @MainActor
  private final class Screen {
    var token: ObservationToken?
  }

  @Test("observers may be released on other threads while events are sent")
  func releasedElsewhere() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    var calls = 0
    let releases = (0..<2000).map { _ in
      let screen = Screen()
      screen.token = context.observe(ObjectsDidChange.self) { _ in calls += 1 }
      return Task.detached { withExtendedLifetime(screen) {} }
    }
    for _ in 0..<100 {
      context.delete(context.insertObject(City.self))
      context.processPendingChanges()
    }
    for release in releases { await release.value }
    try await eventually {
      calls = 0
      context.delete(context.insertObject(City.self))
      context.processPendingChanges()
      return calls == 0
    }
  }

  @Test("a child's save reports the deletion of an object that is new in its parent")
  func deletionInChild() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let parent = ManagedObjectContext(store: sample.store)
    let nara: City = parent.insertObject()
    nara.name = "Nara"
    let child = ManagedObjectContext(parent: parent)
    let twin = try #require(
      try await child.fetch(City.sortedFetchRequest(where: "name == 'Nara'")).first)
    var deleted: [Int] = []
    let token = child.observe(DidSave.self) { deleted.append($0.deletedObjects.count) }
    child.delete(twin)
    try await child.save()
    #expect(deleted == [1])
    #expect(parent.insertedObjects.isEmpty)
    token.cancel()
  }

  @Test(
    "an observer follows one object, changed by this program or another", arguments: Kind.allCases)
  func observer(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try #require(ids["osaka"])
    let city = try await context.materializedObject(City.self, with: osaka)
    var received: [String] = []
    let observer = ManagedObjectObserver(city) { change in
      switch change {
      case .update: received.append("update \(city.name)")
      case .delete: received.append("delete")
      }
    }
    // The first change is reported once: as a change, or by the observer's first fetch.
    try await sample.save(#"{"update":"City","id":\#(osaka),"values":{"name":"Ōsaka"}}"#)
    try await eventually { received == ["update Ōsaka"] }
    city.name = "Naniwa"
    try await context.save()
    try await eventually { received.count == 2 }
    #expect(received.last == "update Naniwa")
    try await sample.save(#"{"delete":"City","id":\#(osaka)}"#)
    try await eventually { received.count == 3 }
    #expect(received.last == "delete")
    #expect(observer.isEnded)
  }

  @Test(
    "an object that another client deleted is deleted, and one that left has its values, when its controller reports it",
    arguments: Kind.allCases)
  func departures(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    let controller = FetchedResultsController(
      fetchRequest: City.sortedFetchRequest(where: "population > 1000"), context: context)
    try await controller.performFetch()
    var seen: [String] = []
    let callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.didChangeObject = { change, city in
      seen.append(
        "\(change.type) \(city?.name ?? "") \(city?.population ?? 0) \(city?.isDeleted == true)")
    }
    try await sample.save(
      #"{"update":"City","id":\#(try #require(ids["cusco"])),"values":{"population":7}}"#)
    try await eventually { seen.count == 1 }
    #expect(cusco.population == 7)
    try await sample.save(#"{"delete":"City","id":\#(try #require(ids["osaka"]))}"#)
    try await eventually { seen.count == 2 }
    #expect(seen == ["delete Cusco 7 false", "delete Osaka 2700000 true"])
    #expect(osaka.isDeleted && osaka.managedObjectContext == nil)
    #expect(!cusco.isDeleted)
    withExtendedLifetime(callbacks) {}
  }

  @Test("an observer of unsaved values reports a change of another client once")
  func onceEach() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try #require(ids["osaka"])
    let city = try await context.materializedObject(City.self, with: osaka)
    var (plain, pending): ([String], [String]) = ([], [])
    let observers = [
      ManagedObjectObserver(city) { plain.append("\($0) \(city.name)") },
      ManagedObjectObserver(city, includesPendingChanges: true) {
        pending.append("\($0) \(city.name)")
      },
    ]
    try await sample.save(#"{"update":"City","id":\#(osaka),"values":{"name":"Ōsaka"}}"#)
    try await eventually { plain.count == 1 && pending.count == 1 }
    city.name = "Naniwa"
    context.processPendingChanges()
    #expect(pending == ["update Ōsaka", "update Naniwa"])
    try await context.save()
    try await eventually { plain.count == 2 }
    for name in ["Edo", "Nara"] {
      try await sample.save(#"{"update":"City","id":\#(osaka),"values":{"name":"\#(name)"}}"#)
      try await eventually { plain.last == "update \(name)" && pending.last == "update \(name)" }
    }
    try await Task.sleep(for: .milliseconds(100))
    // The context's own save may be reported as well.
    #expect(
      pending.filter { $0 != "update Naniwa" } == ["update Ōsaka", "update Edo", "update Nara"])
    withExtendedLifetime(observers) {}
  }

  @Test(
    "an observer ends when its object matches its default predicate no more",
    arguments: Kind.allCases)
  func leaving(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "todo")
    let context = ManagedObjectContext(store: sample.store)
    let item: ToDo.OpenItem = context.insertObject()
    item.title = "Sweep"
    var received: [ManagedObjectObserver<ToDo.OpenItem>.Change] = []
    let observer = ManagedObjectObserver(item) { received.append($0) }
    try await context.save()
    let id = try #require(item.objectID.permanentID)
    try await Task.sleep(for: .milliseconds(100))
    try await sample.save(#"{"update":"Item","id":\#(id),"values":{"done":true}}"#)
    try await eventually { received.contains(.delete) }
    #expect(observer.isEnded)
    #expect(try await context.count(FetchRequest<ToDo.Item>()) == 1, "it is still there")
  }
}
