// Observers of objects whose server cannot be reached.

import Foundation
import LiveFetch
import TestSupport
import Testing

/// A city as an object.
private final class ObservedTown: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  enum Key: String, KeyCodable { case name, population }

  @Managed(.name) var name = ""
  @Managed(.population) var population: Int?
}

@MainActor
@Suite("An observer created while the server is unreachable", .mayBlock)
struct RemoteObserverTests {
  private func observed(
    _ transport: RemoteStore.Transport, until count: Int,
    _ change: (FaultFixture) async throws -> Void
  ) async throws -> [String] {
    let fixture = try await FaultFixture(transport, isFollowing: false)
    let context = ManagedObjectContext(store: fixture.store)
    let town = try await context.materializedObject(ObservedTown.self, with: .integer(1))
    fixture.proxy.set(.refused)
    var received: [String] = []
    let observer = ManagedObjectObserver(town) { received.append("\($0) \(town.population ?? 0)") }
    try await change(fixture)
    try await Task.sleep(for: .milliseconds(150))
    #expect(received.isEmpty)
    fixture.proxy.set(.none)
    try await eventually(seconds: 10) { received.count == 1 }
    if count > 1 {
      try await fixture.grow(1, to: 77)
      try await eventually(seconds: 10) { received.count == 2 }
    }
    #expect(observer.isEnded == (count == 1))
    return received
  }

  @Test("reports the changes made meanwhile, and follows", arguments: RemoteStore.Transport.all)
  func update(transport: RemoteStore.Transport) async throws {
    let received = try await observed(transport, until: 2) { try await $0.grow(1, to: 5000) }
    #expect(received == ["update 5000", "update 77"])
  }

  @Test("reports that the object was deleted meanwhile", arguments: RemoteStore.Transport.all)
  func delete(transport: RemoteStore.Transport) async throws {
    let received = try await observed(transport, until: 1) {
      try await $0.save(#"{"delete":"City","id":1}"#)
    }
    #expect(received == ["delete 900"])
  }
}
