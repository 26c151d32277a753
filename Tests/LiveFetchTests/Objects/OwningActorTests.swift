// An actor that owns a context and its controllers, and the events of a context as a sequence.

import LiveFetch
import TestSupport
import Testing

/// Owns what follows a store.
private actor OwningScreen {
  private var controllers: [FetchedResultsController<SampleCities.City>] = []
  private var cities: DataStoreResultsController<City, FetchRequest<City>>?
  private var tokens: [ObservationToken] = []
  private(set) var isShown = false

  func show(_ store: any ObjectStore) async throws {
    let context = ManagedObjectContext(store: store)
    var request = SampleCities.City.sortedFetchRequest
    controllers.append(FetchedResultsController(fetchRequest: request, context: context))
    controllers.append(FetchedResultsController(fetchRequest: request, context: context))
    controllers[1].includesPendingChanges = true
    request.fetchBatchSize = 2
    controllers.append(FetchedResultsController(fetchRequest: request, context: context))
    for controller in controllers { try await controller.performFetch() }
    let cities = DataStoreResultsController(
      store: ObjectDataStore<City>(store), request: FetchRequest<City>())
    self.cities = cities
    try await cities.performFetch()
    tokens.append(context.observe(ObjectsDidChange.self) { _ in })
    let city: SampleCities.City = context.insertObject()
    city.name = "Nara"
    isShown = true
    for await change in context.events(ObjectsDidChange.self) where change.isEmpty { break }
  }
}

@MainActor
@Suite("An actor that owns controllers", .mayBlock)
struct OwningActorTests {
  typealias City = SampleCities.City

  @Test("is released with its last user, although its fetches are followed")
  func released() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    weak var owner: OwningScreen?
    do {
      let screen = OwningScreen()
      owner = screen
      let showing = Task { try await screen.show(sample.store) }
      let isShown = try await becomesTrue(within: .seconds(60)) { await screen.isShown }
      #expect(isShown)
      showing.cancel()
      try await showing.value
    }
    try await eventually { owner == nil }
  }

  @Test("a second loop over the same events ends, and a cancelled one ends the sequence")
  func secondLoop() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let events = context.events(ObjectsDidChange.self)
    var names: [String] = []
    var isReading = false
    let first = Task { @MainActor in
      isReading = true
      for await change in events { names += change.inserted(City.self).map(\.name) }
    }
    try await eventually { isReading }
    let second = Task { @MainActor in
      var count = 0
      for await _ in events { count += 1 }
      return count
    }
    #expect(await second.value == 0)
    let city: City = context.insertObject()
    city.name = "Nara"
    try await eventually { names == ["Nara"] }
    first.cancel()
    await first.value
    let other: City = context.insertObject()
    other.name = "Kobe"
    for await change in events { names += change.inserted(City.self).map(\.name) }
    #expect(names == ["Nara"])
  }

  @Test("completes objects of subentities although another fetch runs during a save")
  func subentities() async throws {
    let sample = try await SampleStore(.local, "heroes")
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let hero: Heroes.Hero = context.insertObject()
    (hero.name, hero.power) = ("Ada", 7)
    try await context.save()
    let fresh = ManagedObjectContext(store: store)
    let (humans, teams) = (
      FetchedResultsController(
        fetchRequest: FetchRequest<Heroes.Human>(sortedBy: [.ascending("name")]), context: fresh),
      FetchedResultsController(
        fetchRequest: FetchRequest<Heroes.Team>(sortedBy: [.ascending("name")]), context: fresh)
    )
    let bert: Heroes.Hero = fresh.insertObject()
    bert.name = "Bert"
    store.close(.saves)
    let saving = Task { @MainActor in _ = try await fresh.save() }
    try await eventually { store.waiting(.saves) == 1 }
    let first = Task { @MainActor in try await humans.performFetch() }
    try await Task.sleep(for: .milliseconds(50))
    let second = Task { @MainActor in try await teams.performFetch() }
    try await Task.sleep(for: .milliseconds(50))
    store.open(.saves)
    try await saving.value
    try await first.value
    try await second.value
    #expect(humans.unreadableObjects.isEmpty)
    #expect(humans.fetchedObjects?.map(\.name).prefix(1) == ["Ada"])
  }
}
