// Delayed responses: diffs that arrive after a later save of the context, and edits of objects during their
// save.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A delayed response", .mayBlock)
struct DelayedResponseTests {
  typealias City = SampleCities.City

  /// Records the population that an object shows at each reported change.
  private final class Populations: FetchedResultsControllerDelegate {
    typealias Element = City
    var received: [Int?] = []

    func controller(
      _ controller: Controller, didChange object: City, at indexPath: Position?,
      for type: ObjectChangeType, newIndexPath: Position?
    ) { received.append(object.population) }
  }

  @Test("with a diff keeps the values that the context saved since", arguments: [false, true])
  func lateDiff(isChild: Bool) async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let store = PausingStore(sample.store)
    let top = ManagedObjectContext(store: store)
    let context = isChild ? ManagedObjectContext(parent: top) : top
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    let controller = FetchedResultsController(
      fetchRequest: City.sortedFetchRequest, context: context)
    let log = Populations()
    controller.delegate = log
    try await controller.performFetch()
    store.close(.diffs)
    for population in 1...2 {
      cusco.population = population
      try await context.save()
      if isChild { try await top.save() }
      try await eventually { store.waiting(.diffs) > 0 }
    }
    store.open(.diffs)
    try await eventually { log.received.count == 2 }
    #expect(log.received == [2, 2])
    cusco.population = 3
    try await context.save()
    if isChild { try await top.save() }
    #expect(cusco.population == 3)
  }

  @Test("with a diff still applies another client's save of another property")
  func lateDiffOfOthers() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let id = try #require(ids["cusco"])
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let controller = FetchedResultsController(
      fetchRequest: City.sortedFetchRequest, context: context)
    try await controller.performFetch()
    let cusco = try #require(controller.object(withID: id))
    store.close(.diffs)
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"name":"Qosqo"}}"#)
    cusco.population = 2
    try await context.save()
    #expect(cusco.name == "Qosqo")
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"latitude":-13.5}}"#)
    store.open(.diffs)
    try await eventually { cusco.latitude == -13.5 }
    #expect(cusco.population == 2 && cusco.name == "Qosqo")
  }

  @Test("is no conflict for a loop of saves under a controller", arguments: Kind.allCases)
  func loop(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let controller = FetchedResultsController(
      fetchRequest: City.sortedFetchRequest(where: "population >= 0"), context: context)
    try await controller.performFetch()
    let id = try #require(ids["cusco"])
    let cusco = try #require(controller.object(withID: id))
    for population in 0..<100 {
      cusco.population = population
      try await context.save()
      try #require(cusco.population == population)
      if population % 3 == 0 { await Task.yield() }
    }
    try await eventually { controller.token != nil && !context.hasChanges }
    #expect(cusco.population == 99)
  }

  // MARK: - To a fetch

  /// Starts a fetch of all cities whose response waits, for their names and populations.
  private func fetching(
    _ context: ManagedObjectContext, _ store: PausingStore
  ) async throws -> Task<[String], any Error> {
    store.close(.snapshots)
    let fetch = Task { @MainActor in
      try await context.fetch(City.sortedFetchRequest).map { "\($0.name) \($0.population ?? -1)" }
    }
    try await eventually { store.waiting(.snapshots) == 1 }
    return fetch
  }

  @Test("to a fetch is requested again after a merge, which had none of its objects")
  func fetchDuringMerge() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    _ = try await context.fetch(SampleCities.Country.sortedFetchRequest)
    let fetch = try await fetching(context, store)
    try await sample.save(
      #"{"update":"City","id":\#(try #require(ids["osaka"])),"values":{"population":5}}"#)
    try await context.mergeChanges()
    store.open(.snapshots)
    #expect(try await fetch.value == ["Cusco 430000", "Osaka 5", "Tokyo 9700000"])
  }

  @Test("to a fetch does not bring back an object that the context deleted and saved since")
  func fetchDuringDeletion() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let id = try #require(ids["cusco"])
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let cusco = try await context.materializedObject(City.self, with: id)
    let fetch = try await fetching(context, store)
    context.delete(cusco)
    try await context.save()
    store.open(.snapshots)
    #expect(try await fetch.value == ["Osaka 2700000", "Tokyo 9700000"])
    #expect(context.registeredObject(City.self, with: id) == nil)
  }

  // MARK: - During a save

  private func fixture() async throws -> (SampleStore, PausingStore, ManagedObjectContext) {
    let (sample, _) = try await SampleCities.store(.local)
    let store = PausingStore(sample.store)
    return (sample, store, ManagedObjectContext(store: store))
  }

  /// Starts a save of the context whose response waits.
  private func saving(
    _ context: ManagedObjectContext, _ store: PausingStore
  ) async throws -> Task<Void, any Error> {
    store.close(.saves)
    let save = Task { @MainActor in _ = try await context.save() }
    try await eventually { store.waiting(.saves) == 1 }
    return save
  }

  private func names(_ sample: SampleStore) async throws -> [String] {
    try await ManagedObjectContext(store: sample.store).fetch(City.sortedFetchRequest).map(\.name)
  }

  @Test("a new object that is deleted while it is saved is deleted by the next save")
  func deletedWhileInserted() async throws {
    let (sample, store, context) = try await fixture()
    let nara: City = context.insertObject()
    nara.name = "Nara"
    let save = try await saving(context, store)
    context.delete(nara)
    #expect(nara.isDeleted && context.hasChanges)
    store.open(.saves)
    try await save.value
    #expect(nara.isDeleted && context.deletedObjects == [nara])
    #expect(try await names(sample) == ["Cusco", "Nara", "Osaka", "Tokyo"])
    try await context.save()
    #expect(try await names(sample) == ["Cusco", "Osaka", "Tokyo"])
    #expect(!context.hasChanges && nara.managedObjectContext == nil)
  }

  @Test(
    "a new object that is deleted, or rolled back, while its save is refused is gone",
    arguments: [true, false])
  func goneWhileRefused(isDeleted: Bool) async throws {
    let (sample, store, context) = try await fixture()
    let second: SampleCities.Country = context.insertObject()
    (second.code, second.name) = ("JP", "Japan")
    let save = try await saving(context, store)
    if isDeleted { context.delete(second) } else { context.rollback() }
    store.open(.saves)
    await #expect(throws: ContextError.self) { try await save.value }
    #expect(!context.hasChanges && second.managedObjectContext == nil)
    #expect(second.isDeleted == isDeleted)
    #expect(try await context.save() == nil)
    #expect(try await names(sample) == ["Cusco", "Osaka", "Tokyo"])
  }

  @Test(
    "a rollback while a new object is saved leaves it as it was sent", arguments: [true, false])
  func rolledBackWhileInserted(isDeleted: Bool) async throws {
    let (sample, store, context) = try await fixture()
    let nara: City = context.insertObject()
    (nara.name, nara.population, nara.latitude) = ("Nara", 7, 34.5)
    let save = try await saving(context, store)
    nara.population = 8
    // A value that cannot be stored.
    nara.latitude = .nan
    if isDeleted { context.delete(nara) }
    context.rollback()
    #expect(nara.population == 7 && nara.latitude == 34.5 && !nara.isDeleted)
    store.open(.saves)
    try await save.value
    #expect(!nara.objectID.isTemporary && nara.managedObjectContext === context)
    #expect(!context.hasChanges && nara.population == 7)
    nara.population = 9
    try await context.save()
    #expect(try await names(sample) == ["Cusco", "Nara", "Osaka", "Tokyo"])
  }

  @Test("a value inserted after a rollback is not taken for one that was sent")
  func valuesAfterRollback() async throws {
    let (sample, store, context) = try await fixture()
    try context.insert(SampleCities.PlainCity(id: nil, name: "Nara", population: nil))
    let save = try await saving(context, store)
    context.rollback()
    try context.insert(SampleCities.PlainCity(id: nil, name: "Kobe", population: nil))
    store.open(.saves)
    try await save.value
    try await context.save()
    #expect(try await names(sample) == ["Cusco", "Kobe", "Nara", "Osaka", "Tokyo"])
  }

  @Test("a value that is set back, and a member that is removed again, stay unsaved")
  func setBack() async throws {
    let (sample, store, context) = try await fixture()
    let cities = try await context.fetch(City.sortedFetchRequest)
    let japan = try #require(
      await context.fetch(SampleCities.Country.sortedFetchRequest(where: "code == 'JP'")).first)
    let (cusco, osaka) = (cities[0], cities[1])
    try await japan.cities.materialize()
    osaka.population = 1
    japan.cities.insert(cusco)
    let save = try await saving(context, store)
    osaka.population = 2_700_000
    japan.cities.remove(cusco)
    store.open(.saves)
    try await save.value
    #expect(osaka.population == 2_700_000 && context.hasChanges)
    try await context.save()
    #expect(!context.hasChanges)
    let other = ManagedObjectContext(store: sample.store)
    let inJapan = try await other.fetch(City.sortedFetchRequest(where: "country.code == 'JP'"))
    #expect(inJapan.map(\.name) == ["Osaka", "Tokyo"])
    #expect(inJapan.map(\.population) == [2_700_000, 9_700_000])
  }

  @Test("what is rolled back during its save is reported when the save has ended")
  func rolledBack() async throws {
    let (sample, store, context) = try await fixture()
    defer { withExtendedLifetime(sample) {} }
    let cities = try await context.fetch(City.sortedFetchRequest)
    let (cusco, osaka) = (cities[0], cities[1])
    osaka.population = 1
    context.delete(cusco)
    let save = try await saving(context, store)
    context.rollback()
    #expect(osaka.population == 2_700_000 && !cusco.isDeleted)
    var changes: [ObjectsDidChange] = []
    let token = context.observe(ObjectsDidChange.self) { changes.append($0) }
    context.processPendingChanges()
    changes = []
    store.open(.saves)
    try await save.value
    #expect(osaka.population == 1 && cusco.isDeleted && !context.hasChanges)
    #expect(changes.flatMap(\.deletedObjects) == [cusco])
    #expect(changes.flatMap(\.refreshedObjects).contains(osaka))
    token.cancel()
  }

  @Test("a new object whose save ends during a count is counted once")
  func countedDuringSave() async throws {
    let (sample, store, context) = try await fixture()
    defer { withExtendedLifetime(sample) {} }
    let nara: City = context.insertObject()
    nara.name = "Nara"
    let save = try await saving(context, store)
    store.close(.snapshots)
    let count = Task { @MainActor in try await context.count(City.sortedFetchRequest) }
    try await eventually { store.waiting(.snapshots) == 1 }
    store.open(.saves)
    store.open(.snapshots)
    try await save.value
    #expect(try await count.value == 4)
  }

  // MARK: - A history that cannot be read

  @Test(
    "another client's save is merged once the history can be read again",
    arguments: [
      ObjectStoreError.unreachable(ServiceUnavailable("no network")),
      .refused(Problem(503, "overloaded", "Overloaded", "There is no room for this request.")),
    ])
  func unreadHistory(failure: ObjectStoreError) async throws {
    let (sample, store, context) = try await fixture()
    let cities = try await context.fetch(City.sortedFetchRequest)
    let tokyo = cities[2]
    let id = try #require(tokyo.objectID.permanentID)
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"population":5}}"#)
    store.failHistory(failure)
    context.delete(cities[0])
    try await context.save()
    #expect(tokyo.population == 9_700_000)
    #expect(
      try await context.batchUpdate(
        City.self, where: FetchPredicate("name == 'Osaka'"), set: [.population: 7]) == 1)
    store.failHistory(nil)
    try await context.mergeChanges()
    #expect(tokyo.population == 5)
    #expect(cities[1].population == 7)
  }

  @Test("derived values that could not be read after their save are read by the next fetch")
  func unreadEffects() async throws {
    let sample = try await SampleStore(.local, "todo")
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let list: ToDo.List = context.insertObject()
    list.title = "Home"
    let item: ToDo.Item = context.insertObject()
    (item.title, item.list) = ("Sweep", Fault(list))
    store.failFetches(.unreachable(ServiceUnavailable("no network")))
    try await context.save()
    #expect(list.itemCount == nil)
    store.failFetches(nil)
    _ = try await context.fetch(ToDo.Item.sortedFetchRequest)
    #expect(list.itemCount == 1)
  }

  @Test("saves after an expired history are merged")
  func expiredHistory() async throws {
    let (sample, store, context) = try await fixture()
    let tokyo = try await context.fetch(City.sortedFetchRequest)[2]
    let id = try #require(tokyo.objectID.permanentID)
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"population":5}}"#)
    store.failHistory(.tokenExpired)
    try await context.mergeChanges()
    #expect(tokyo.population == 5)
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"population":6}}"#)
    store.failHistory(nil)
    try await context.mergeChanges()
    #expect(tokyo.population == 6)
  }

  @Test("a refresh that discards changes discards them in child contexts too")
  func discarded() async throws {
    let (sample, _, context) = try await fixture()
    defer { withExtendedLifetime(sample) {} }
    let osaka = try await context.fetch(City.sortedFetchRequest)[1]
    osaka.population = 1
    let child = ManagedObjectContext(parent: context)
    let twin = try await child.fetch(City.sortedFetchRequest(where: "name == 'Osaka'"))[0]
    #expect(twin.population == 1)
    try await context.refresh(osaka, mergeChanges: false)
    #expect(osaka.population == 2_700_000 && twin.population == 2_700_000)
    #expect(!context.hasChanges && !child.hasChanges)
  }
}
