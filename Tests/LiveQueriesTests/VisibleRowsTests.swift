// Saves of many objects: the rows that are read for windows.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

@Suite("After a save of many objects, a fetch reads only those that its windows show", .mayBlock)
struct VisibleRowsTests {
  private static func path(_ attribute: Int) -> PropertyPath {
    PropertyPath(root: 0, target: .attribute(attribute))
  }

  /// Cities by their population, shown with their names.
  private static func plan(_ window: Window) -> FetchPlan {
    FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything, order: [OrderTerm(path: path(1))]),
      window: window, selection: [SelectedValue(key: "name", source: .path(path(0)))])
  }

  private func simulation() -> Simulation {
    let simulation = Simulation(seed: 1, maxLoggedChanges: 5_000)
    simulation.store.save { objects in
      objects.cities = [:]
      for id in 1...1_000 {
        objects.cities[id] = City(name: "c\(id)", population: id * 10, isCapital: nil, country: nil)
      }
    }
    return simulation
  }

  private func client(_ window: Window, _ simulation: Simulation, at token: Token) -> Client {
    let plan = Self.plan(window)
    let held = simulation.store.objects(at: token.position)
      .snapshot(of: plan, at: token, in: simulation.store.model)
    let client = Client(plan: plan, held: held, token: token)
    simulation.clients.append(client)
    return client
  }

  private func save(_ simulation: Simulation, _ change: (inout MemoryObjects) -> Void) throws {
    simulation.store.save(change)
    try simulation.inTransaction { _ in }
    try simulation.takeAnswers()
    simulation.checkSilence()
    for client in simulation.clients where !client.isWaiting { try simulation.follow(client) }
  }

  private func shown(_ client: Client) -> [String] {
    client.held.sections.flatMap(\.items).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("A save that renames a thousand cities reads those of the window")
  func renamed() throws {
    let simulation = simulation()
    let client = client(Window(limit: 3), simulation, at: simulation.store.token)
    try simulation.follow(client)
    let before = simulation.store.readCounts.rows.load(ordering: .relaxed)
    try save(simulation) { objects in
      for id in 1...1_000 { objects.cities[id]?.name = "d\(id)" }
    }
    #expect(
      shown(client) == [
        #"{"id":1,"name":"d1"}"#, #"{"id":2,"name":"d2"}"#, #"{"id":3,"name":"d3"}"#,
      ])
    // A ``KeyRange`` keeps `need + max(16, need / 4)` keys: 19 for three items. Their rows are read
    // before and after.
    #expect(simulation.store.readCounts.rows.load(ordering: .relaxed) - before <= 38)
  }

  @Test("A client of another window gets the changes of the objects there")
  func anotherWindow() throws {
    let simulation = simulation()
    let start = simulation.store.token
    try simulation.follow(client(Window(limit: 3), simulation, at: start))
    try save(simulation) { objects in
      for id in 500...1_000 { objects.cities[id]?.name = "d\(id)" }
    }
    let other = client(Window(offset: 600, limit: 2), simulation, at: start)
    try simulation.follow(other)
    #expect(shown(other) == [#"{"id":601,"name":"d601"}"#, #"{"id":602,"name":"d602"}"#])
    #expect(other.answers == 1)
  }

  @Test("The old row of an object outside all windows is not used as its new row")
  func oldRows() throws {
    let simulation = simulation()
    let client = client(Window(limit: 3), simulation, at: simulation.store.token)
    try simulation.follow(client)
    try save(simulation) { $0.cities[30]?.population = 301 }
    try save(simulation) { objects in
      for id in 1...1_000 { objects.cities[id]?.name = "d\(id)" }
    }
    try save(simulation) { objects in
      for id in 1..<30 { objects.cities[id] = nil }
    }
    #expect(shown(client).first == #"{"id":30,"name":"d30"}"#)
    try save(simulation) { $0.cities[30]?.name = "c30" }
    #expect(shown(client).first == #"{"id":30,"name":"c30"}"#)
  }

  @Test("An object that moves into the window while a thousand are renamed has its new name")
  func movedIn() throws {
    let simulation = simulation()
    let client = client(Window(limit: 2), simulation, at: simulation.store.token)
    try simulation.follow(client)
    try save(simulation) { objects in
      for id in 1...1_000 { objects.cities[id]?.name = "d\(id)" }
      objects.cities[700]?.population = 15
      objects.cities[1] = nil
    }
    #expect(shown(client) == [#"{"id":700,"name":"d700"}"#, #"{"id":2,"name":"d2"}"#])
  }

  @Test("Any fetch stays exact while many cities change at once", arguments: 0..<3)
  func generated(part: Int) throws {
    var diffs = 0
    for number in 0..<2 {
      let simulation = Simulation(
        seed: UInt64(700 + part * 2 + number), cities: 400, maxLoggedChanges: 5_000)
      for _ in 0..<6 { simulation.join() }
      for _ in 0..<25 {
        change(simulation)
        try simulation.round()
      }
      diffs += simulation.diffs
    }
    #expect(diffs > 40)
  }

  private func change(_ simulation: Simulation) {
    let random = Int.random(in: 0..<1_000, using: &simulation.generator.random)
    let ids = simulation.store.objects(at: simulation.store.token.position).cities.keys
      .filter { $0 % 4 != random % 4 }
    simulation.store.save { objects in
      for id in ids {
        switch random % 5 {
        case 0: objects.cities[id]?.name = "n\(random)"
        case 1: objects.cities[id]?.isCapital = random % 2 == 0
        case 2: objects.cities[id]?.population = (id + random) % 10
        case 3: objects.cities[id]?.country = 1 + (id + random) % 4
        default: objects.countries[1 + id % 4]?.name = "m\(random)"
        }
      }
      if random % 3 == 0, let id = ids.first { objects.cities[id] = nil }
    }
  }
}
