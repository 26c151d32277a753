// Small windows over large results: exactness, kept keys and reads.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

@Suite("Windows: a part of a large result is exact, at the cost of that part", .mayBlock)
struct WindowTests {
  @Test(
    "Deep offsets, cursors and totals stay right while many cities come and go", arguments: 0..<2)
  func largeResults(part: Int) throws {
    var diffs = 0
    for number in 0..<3 {
      let simulation = Simulation(seed: UInt64(500 + part * 3 + number), cities: 160)
      for _ in 0..<5 { simulation.join() }
      for _ in 0..<30 { try simulation.round() }
      diffs += simulation.diffs
    }
    #expect(diffs > 40)
  }

  private static func plan(
    _ window: Window, withTotal: Bool = false, selecting: [SelectedValue] = []
  ) -> FetchPlan {
    let population = PropertyPath(root: 0, target: .attribute(1))
    return FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything, order: [OrderTerm(path: population)]),
      window: window, selection: selecting, withTotal: withTotal)
  }

  private func simulation(cities: Int) -> Simulation {
    let simulation = Simulation(seed: 1, cities: 20)
    simulation.store.save { objects in
      objects.cities = [:]
      for id in 1...cities {
        objects.cities[id] = City(name: "c\(id)", population: id * 10, isCapital: nil, country: nil)
      }
    }
    return simulation
  }

  private func follow(_ plan: FetchPlan, _ simulation: Simulation) throws -> Client {
    let token = simulation.store.token
    let held = simulation.store.objects(at: token.position)
      .snapshot(of: plan, at: token, in: simulation.store.model)
    let client = Client(plan: plan, held: held, token: token)
    simulation.clients.append(client)
    try simulation.follow(client)
    return client
  }

  private func save(
    _ simulation: Simulation, _ change: (inout MemoryObjects) -> Void
  ) throws {
    simulation.store.save(change)
    try simulation.inTransaction { _ in }
    try simulation.takeAnswers()
    simulation.checkSilence()
  }

  @Test func aWindowKeepsItsPrefixAndSomeSlack() throws {
    let simulation = simulation(cities: 2_000)
    _ = try follow(Self.plan(Window(limit: 50)), simulation)
    let query = try #require(simulation.queries.queries.values.first)
    #expect(query.ranges[nil]?.keys.count == 66)
    // Cities inserted before the window push others out at its end.
    for round in 0..<20 {
      try save(simulation) { objects in
        for id in 0..<10 {
          objects.cities[10_000 + round * 10 + id] = City(
            name: "new", population: round, isCapital: nil, country: nil)
        }
      }
      for client in simulation.clients where !client.isWaiting { try simulation.follow(client) }
      #expect((query.ranges[nil]?.keys.count ?? 0) <= 142)
    }
    #expect(simulation.store.readCounts.keys.load(ordering: .relaxed) < 200)
  }

  @Test func aSaveThatReversesTheOrderNeedsFewReads() throws {
    let simulation = simulation(cities: 2_000)
    let client = try follow(Self.plan(Window(limit: 10)), simulation)
    let before = simulation.store.readCounts.looks.load(ordering: .relaxed)
    try save(simulation) { objects in
      for id in 1...2_000 { objects.cities[id]?.population = 100_000 - id }
    }
    #expect(
      client.held.sections.flatMap(\.items).first.map { String(decoding: $0, as: UTF8.self) }
        == #"{"id":2000}"#)
    // The former window is at the end now, so all keys must be read.
    #expect(simulation.store.readCounts.looks.load(ordering: .relaxed) - before <= 10)
    #expect(simulation.store.readCounts.keys.load(ordering: .relaxed) < 5_000)
  }

  @Test func windowsOfOneOrderShareItsKeys() throws {
    let simulation = simulation(cities: 500)
    for page in 0..<8 {
      _ = try follow(Self.plan(Window(offset: page * 10, limit: 10)), simulation)
    }
    let query = try #require(simulation.queries.queries.values.first)
    #expect(simulation.queries.queries.count == 1)
    #expect(query.views.count == 8)
    #expect(query.ranges.count == 1)
    #expect((query.ranges[nil]?.keys.count ?? 0) < 200)
  }

  @Test func aTotalIsCountedOnceAndThenKept() throws {
    let simulation = simulation(cities: 300)
    let client = try follow(Self.plan(Window(limit: 5), withTotal: true), simulation)
    for round in 0..<30 {
      try save(simulation) { objects in
        objects.cities[round + 100] = nil
        if round % 3 == 0 {
          objects.cities[5_000 + round] = City(
            name: "x", population: 99_999, isCapital: nil, country: nil)
        }
      }
      #expect(client.held.summary.total == 300 - (round + 1) + (round / 3 + 1))
      if !client.isWaiting { try simulation.follow(client) }
    }
    #expect(simulation.store.readCounts.totals.load(ordering: .relaxed) == 1)
  }

  @Test func aCursorKeepsItsPositionWhenItsItemIsDeletedOrMoved() throws {
    let simulation = simulation(cities: 100)
    let objects = simulation.store.objects(at: simulation.store.token.position)
    let definition = Self.plan(Window()).definition
    let cursor = objects.keys(of: definition)[19]
    let name = SelectedValue(
      key: "name", source: .path(PropertyPath(root: 0, target: .attribute(0))))
    let client = try follow(
      Self.plan(Window(limit: 2, after: cursor), selecting: [name]), simulation)
    let shown = {
      client.held.sections.flatMap(\.items).map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(shown() == ["{\"id\":21,\"name\":\"c21\"}", "{\"id\":22,\"name\":\"c22\"}"])
    // The cursor's own item is deleted, another moves after it, and one is inserted before it.
    try save(simulation) { objects in
      objects.cities[20] = nil
      objects.cities[1]?.population = 205
      objects.cities[500] = City(name: "front", population: 15, isCapital: nil, country: nil)
    }
    #expect(shown() == ["{\"id\":1,\"name\":\"c1\"}", "{\"id\":21,\"name\":\"c21\"}"])
  }
}
