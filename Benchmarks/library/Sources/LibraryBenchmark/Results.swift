// One change among many results of a data store, beside the first fetch of all of them.

import Foundation
import LiveFetch

struct Town: Identifiable, InstanceIdentifiable, Sendable {
  let id: Int
  var people: Int
}

extension Program {
  static func results() async throws {
    let (few, many) = (towns(8_000), towns(100_000))
    try await change("draft", few.draft())
    try await change("store", many)
  }

  private static func towns(_ count: Int) -> ArrayDataStore<Town, FilterRequest<Town>> {
    ArrayDataStore((0..<count).map { Town(id: $0, people: $0 * 10) })
  }

  private static func change(
    _ name: String, _ store: DataStore<Town, FilterRequest<Town>>
  ) async throws {
    let controller = DataStoreResultsController<Town, FilterRequest<Town>>(
      store: store, request: FilterRequest())
    controller.sectionName = { "\($0.id % 8)" }
    controller.itemOrder = { $0.people < $1.people }
    var reported = 0
    controller.controllerDidChangeResults = { _ in reported += 1 }
    let beginning = clock()
    try await controller.performFetch()
    report("\(name), all", since: beginning)
    reported = 0
    let start = clock()
    for number in 1...20 {
      let town = Town(id: number * 300, people: number * 3_000 + 1)
      try await store.save([DataStoreChange(.update, town)])
      while reported < number { await Task.yield() }
    }
    report("\(name), one", since: start, count: 20)
    controller.stop()
  }
}
