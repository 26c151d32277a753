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
@Suite("An observer made while nobody answers", .mayBlock)
struct RemoteObserverTests {
  private func observed(
    _ transport: RemoteStore.Transport, until count: Int, _ change: (FaultBed) async throws -> Void
  ) async throws -> [String] {
    let bed = try await FaultBed(transport, isFollowing: false)
    let context = ManagedObjectContext(store: bed.store)
    let town = try await context.materializedObject(ObservedTown.self, with: .integer(1))
    bed.proxy.set(.refused)
    var received: [String] = []
    let observer = ManagedObjectObserver(town) { received.append("\($0) \(town.population ?? 0)") }
    try await change(bed)
    try await Task.sleep(for: .milliseconds(150))
    #expect(received.isEmpty)
    bed.proxy.set(.none)
    try await eventually(seconds: 10) { received.count == 1 }
    if count > 1 {
      try await bed.grow(1, to: 77)
      try await eventually(seconds: 10) { received.count == 2 }
    }
    #expect(observer.isEnded == (count == 1))
    return received
  }

  @Test("tells what happened meanwhile, and follows", arguments: RemoteStore.Transport.all)
  func update(transport: RemoteStore.Transport) async throws {
    let received = try await observed(transport, until: 2) { try await $0.grow(1, to: 5000) }
    #expect(received == ["update 5000", "update 77"])
  }

  @Test("tells that the object went meanwhile", arguments: RemoteStore.Transport.all)
  func delete(transport: RemoteStore.Transport) async throws {
    let received = try await observed(transport, until: 1) {
      try await $0.save(#"{"delete":"City","id":1}"#)
    }
    #expect(received == ["delete 900"])
  }
}
