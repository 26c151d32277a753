// A results controller waits until its result contains a save.

import Foundation
import LiveFetch
import Synchronization
import TestSupport
import Testing

@MainActor
@Suite("A controller that catches up with a token", .mayBlock)
struct CatchingUpTests {
  private func controller(_ cities: Cities) async throws -> FetchedResultsController<City> {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(
        where: FetchPredicate("population >= 200"), sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: cities.store))
    try await controller.performFetch()
    return controller
  }

  @Test("shows the save when the call returns", arguments: Kind.allCases)
  func shown(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = try await controller(cities)
    for id in [1, 3, 2] {
      let receipt = try await cities.save(#"{"delete":"City","id":\#(id)}"#)
      try await controller.caughtUp(to: receipt.token)
      #expect(controller.object(withID: .integer(Int64(id))) == nil)
    }
    #expect(controller.fetchedObjects?.map(\.name) == ["Bamako"])
  }

  @Test("returns for a save that does not change its result", arguments: Kind.allCases)
  func unaffected(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = try await controller(cities)
    let receipt = try await cities.save(
      #"{"update":"City","id":4,"values":{"population":41}}"#)
    try await controller.caughtUp(to: receipt.token)
    #expect(controller.fetchedObjects?.count == 4)
  }

  @Test("returns when a store that does not have the save yet has it")
  func lagging() async throws {
    let cities = try Cities(.local)
    try await catchUp(with: LaggingStore(cities.store), cities)
  }

  @Test(
    "returns when a store that could not be reached once can be reached again",
    .timeLimit(.minutes(3)))
  func flaky() async throws {
    let cities = try Cities(.local)
    try await catchUp(with: LaggingStore(cities.store, .unreachable), cities)
  }

  private func catchUp(with store: LaggingStore, _ cities: Cities) async throws {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(where: FetchPredicate("population >= 200")),
      context: ManagedObjectContext(store: store))
    try await controller.performFetch()
    let receipt = try await cities.save(#"{"update":"City","id":4,"values":{"population":41}}"#)
    try await controller.caughtUp(to: receipt.token)
    #expect(store.hasLagged)
    #expect(controller.fetchedObjects?.count == 4)
  }

  @Test("throws the error of a fetch that was refused")
  func refusedFetch() async throws {
    let cities = try Cities(.local)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(where: FetchPredicate("nothing == 1")),
      context: ManagedObjectContext(store: cities.store))
    await #expect(throws: FetchError.self) { try await controller.performFetch() }
    let receipt = try await cities.save(#"{"delete":"City","id":1}"#)
    await #expect(throws: FetchError.self) { try await controller.caughtUp(to: receipt.token) }
  }

  @Test("throws for a text that is not a token, when it is cancelled, and after stop")
  func refusals() async throws {
    let cities = try Cities(.local)
    let controller = try await controller(cities)
    let token = try #require(controller.token)
    await #expect(throws: FetchError.self) { try await controller.caughtUp(to: "yesterday") }
    let epoch = try #require(token.split(separator: "-").first)
    let cancelled = Task { try await controller.caughtUp(to: "\(epoch)-999999-00000000") }
    cancelled.cancel()
    await #expect(throws: FetchError.self) { try await cancelled.value }
    controller.stop()
    await #expect(throws: FetchError.self) { try await controller.caughtUp(to: token) }
  }
}

/// A store that answers the first request for an immediate diff as if nothing had changed since the
/// token, or as if it could not be reached; its stream is silent then.
private final class LaggingStore: ObjectStore {
  enum Fault { case oldToken, unreachable }

  private let store: any ObjectStore
  private let fault: Fault
  private let lag = Mutex(false)

  /// True once a request was answered with the old token, or failed.
  var hasLagged: Bool { lag.withLock { $0 } }

  init(_ store: any ObjectStore, _ fault: Fault = .oldToken) {
    (self.store, self.fault) = (store, fault)
  }

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    if fault == .unreachable, request["wait"] == .number("25.0") {
      try? await Task.sleep(for: .seconds(86_400))
      throw .cancelled
    }
    let answer = try await store.fetch(request)
    guard request["wait"] == .number("0"), let since = request["since"],
      case .object(let members) = answer,
      !lag.withLock({ hasLagged in
        defer { hasLagged = true }
        return hasLagged
      })
    else { return answer }
    if fault == .unreachable { throw .unreachable(ServiceUnavailable("busy", status: 503)) }
    return .object(members.map { $0.name == "to" ? .init(name: "to", value: since) : $0 })
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await store.save(request)
  }
}
