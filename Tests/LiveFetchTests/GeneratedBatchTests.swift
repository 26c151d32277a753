// Elements in batches under generated saves, loads and changes of the request: loaded elements are never
// stale, and every change of a loaded element is reported.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("Batches, generated", .mayBlock)
struct GeneratedBatchTests {
  @Test("show what is stored, in sections and windows", arguments: [1, 2, 3, 4])
  func inStep(round: UInt64) async throws {
    let seed = UInt64.random(in: 0...UInt64.max / 2) &+ round
    let screen = try BatchScreen(round % 2 == 0 ? .remote : .local, seed: seed)
    try await screen.run(steps: 40)
    #expect(screen.faults.isEmpty, Comment(rawValue: "seed \(seed)"))
  }
}

/// A screen that shows elements of a batched controller and applies the reported changes.
@MainActor
private final class BatchScreen {
  let cities: Cities
  var random: SeededRandom
  var faults: [String] = []
  private let controller: FetchedResultsController<City>
  private var shown: [ObjectID: City] = [:]
  private var nextID = 10

  init(_ kind: Kind, seed: UInt64) throws {
    cities = try Cities(kind)
    random = SeededRandom(seed: seed)
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    request.fetchBatchSize = 2
    controller = FetchedResultsController(
      fetchRequest: request, context: ManagedObjectContext(store: cities.store),
      sectionKeyPath: "country.name")
  }

  func run(steps: Int) async throws {
    let callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.didChangeObject = { [unowned self] change, city in
      shown[change.id] = change.type == .delete ? nil : city
    }
    try await controller.performFetch()
    for step in 0..<steps {
      switch number(7) {
      case 0: try await controller.performFetch()
      case 1: try await changeRequest()
      case 2: try await load()
      case 3: _ = controller.object(at: Position(section: number(2), item: number(2)))
      case 4:
        async let loading: Void = load()
        try await cities.save(change())
        try await loading
      default: try await cities.save(change())
      }
      try await settle("step \(step)")
    }
    withExtendedLifetime(callbacks) {}
  }

  private func load() async throws {
    let start = number(6)
    for city in try await controller.load(start..<start + number(4)) {
      if controller.object(withID: .integer(Int64(city.id))) == city {
        shown[.integer(Int64(city.id))] = city
      }
    }
  }

  private func changeRequest() async throws {
    var request = controller.fetchRequest
    request.fetchBatchSize = [0, 2, 3].randomElement(using: &random) ?? 2
    request.fetchLimit = [nil, 3, 6].randomElement(using: &random) ?? nil
    request.predicate = Bool.random(using: &random) ? nil : FetchPredicate("population > 150")
    let sections: [SortTerm?] = [nil, .ascending("country.name")]
    try await controller.update(
      fetchRequest: request, section: sections.randomElement(using: &random) ?? nil)
  }

  /// Waits until the content and the shown elements equal those of a new fetch.
  private func settle(_ step: String) async throws {
    var request = controller.fetchRequest
    request.fetchBatchSize = 0
    let fresh = FetchedResultsController(
      fetchRequest: request, context: ManagedObjectContext(store: cities.store),
      section: controller.section)
    try await fresh.performFetch()
    fresh.stop()
    let stored = Dictionary(
      (fresh.fetchedObjects ?? []).map { (ObjectID.integer(Int64($0.id)), $0) }
    ) { $1 }
    if try await becomesTrue(within: .seconds(60), { isInStep(fresh, stored) }) { return }
    faults.append("\(step): \(controller.fetchedObjects ?? []), shown \(shown), not \(stored)")
    shown = [:]
  }

  private func isInStep(
    _ fresh: FetchedResultsController<City>, _ stored: [ObjectID: City]
  ) -> Bool {
    controller.snapshot == fresh.snapshot
      && (controller.fetchedObjects ?? []).allSatisfy { stored[.integer(Int64($0.id))] == $0 }
      && shown.allSatisfy { stored[$0.key] == nil || stored[$0.key] == $0.value }
      && (controller.fetchRequest.fetchBatchSize > 0
        || controller.fetchedObjects?.count == stored.count)
  }

  private func change() -> String {
    let id = 1 + number(nextID - 1)
    switch number(5) {
    case 0:
      nextID += 1
      return
        #"{"insert":"City","values":{"id":\#(nextID),"name":"I\#(nextID)","population":\#(number(9) * 100),"country":\#(1 + number(2))}}"#
    case 1 where id > 5:
      return #"{"delete":"City","where":"id == \#(id)"}"#
    default:
      let values = [
        #""name":"N\#(number(99))""#, #""population":\#(number(9) * 100)"#,
        #""country":\#(1 + number(2))"#,
      ]
      let value = values.randomElement(using: &random) ?? ""
      return #"{"update":"City","where":"id == \#(id)","values":{\#(value)}}"#
    }
  }

  private func number(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }
}
