// A remote store repeats saves whose responses the network lost.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A save whose response is lost", .mayBlock)
struct RemoteSaveTests {
  private func count(_ name: String, in fixture: FaultFixture) async throws -> Int64? {
    let request = #"{"entity":"City","as":"count","where":"name == '\#(name)'"}"#
    return try await fixture.direct.fetch(JSON(parsing: Array(request.utf8)))["total"]?.integer
  }

  private let insert = #"{"changes":[{"insert":"City","values":{"name":"Ur","population":1}}]}"#

  private func json(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }

  @Test("is repeated, and executed once", arguments: [0, 10, 180])
  func once(responseBytes: Int) async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    fixture.proxy.set(.cutOnce(after: responseBytes))
    let receipt = try await fixture.store.save(json(insert))
    #expect(receipt.inserted == 1)
    #expect(try await count("Ur", in: fixture) == 1)
    #expect(fixture.proxy.requests.count == 2)
  }

  @Test(
    "throws an error with the last status if every attempt fails, and may be repeated by its key"
  )
  func lost() async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    fixture.proxy.set(.cut(after: 0))
    do {
      _ = try await fixture.store.save(json(insert), idempotencyKey: "one")
      Issue.record("saved")
    } catch ObjectStoreError.unreachable(let unavailability) {
      #expect(unavailability.status == nil)
      #expect(unavailability.code == nil)
    }
    fixture.proxy.set(.answer("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"))
    do {
      _ = try await fixture.store.save(json(insert), idempotencyKey: "one")
      Issue.record("saved")
    } catch ObjectStoreError.unreachable(let unavailability) {
      #expect(unavailability.status == 502)
    }
    fixture.proxy.set(.none)
    let receipt = try await fixture.store.save(json(insert), idempotencyKey: "one")
    #expect(receipt.inserted == 1)
    #expect(try await count("Ur", in: fixture) == 1)
  }

  @Test("is executed once if its context saves again")
  func savedAgain() async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    let context = ManagedObjectContext(store: fixture.store)
    let ur: ManagedCity = context.insertObject()
    ur.name = "Ur"
    fixture.proxy.set(.cut(after: 0))
    await #expect(throws: ContextError.self) { try await context.save() }
    #expect(context.hasChanges)
    fixture.proxy.set(.none)
    #expect(try await context.save()?.inserted == 1)
    #expect(try await count("Ur", in: fixture) == 1)
    #expect(!ur.objectID.isTemporary)
  }

  @Test("is executed once if its context has other changes when it saves again")
  func savedAgainWithOthers() async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    let context = ManagedObjectContext(store: fixture.store)
    let ur: ManagedCity = context.insertObject()
    (ur.name, ur.population) = ("Ur", 1)
    fixture.proxy.set(.cut(after: 0))
    await #expect(throws: ContextError.self) { try await context.save() }
    fixture.proxy.set(.none)
    ur.population = 2
    let uruk: ManagedCity = context.insertObject()
    uruk.name = "Uruk"
    let receipt = try #require(try await context.save())
    #expect(receipt.inserted == 1 && receipt.updated == 1)
    #expect(!context.hasChanges && !ur.objectID.isTemporary && !uruk.objectID.isTemporary)
    #expect(try await count("Ur", in: fixture) == 1)
    #expect(try await count("Uruk", in: fixture) == 1)
    let fresh = ManagedObjectContext(store: fixture.direct)
    let request = ManagedCity.sortedFetchRequest(where: "name == 'Ur'")
    #expect(try await fresh.fetch(request).map(\.population) == [2])
  }

  @Test("is executed once if a draft commits again, or a batch is made again")
  func committedAgain() async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    let draft = ObjectDataStore<City>(fixture.store).draft()
    try await draft.insert(City(id: 99, name: "Ur", population: 1, country: nil))
    fixture.proxy.set(.cut(after: 0))
    await #expect(throws: ObjectStoreError.self) { try await draft.commit() }
    #expect(draft.hasChanges)
    fixture.proxy.set(.none)
    try await draft.commit()
    #expect(!draft.hasChanges)
    #expect(try await count("Ur", in: fixture) == 1)

    let context = ManagedObjectContext(store: fixture.store)
    func rename() async throws -> Int {
      try await context.batchUpdate(
        ManagedCity.self, where: FetchPredicate("name == 'Ur'"), set: [.name: "Uruk"])
    }
    fixture.proxy.set(.cut(after: 0))
    await #expect(throws: ContextError.self) { try await rename() }
    #expect(try await count("Uruk", in: fixture) == 1)
    fixture.proxy.set(.none)
    // The response to the first request: made again, it would find nothing to rename.
    #expect(try await rename() == 1)

    func populate(_ population: Int) async throws -> Int {
      try await context.batchUpdate(
        ManagedCity.self, where: FetchPredicate("name == 'Uruk'"), set: [.population: population])
    }
    fixture.proxy.set(.cut(after: 0))
    await #expect(throws: ContextError.self) { try await populate(5) }
    fixture.proxy.set(.none)
    #expect(try await populate(6) == 1)
    // After another save, the same values are set again.
    #expect(try await populate(5) == 1)
    let request = #"{"entity":"City","as":"count","where":"population == 5"}"#
    let found = try await fixture.direct.fetch(JSON(parsing: Array(request.utf8)))
    #expect(found["total"]?.integer == 1)
  }

  @Test("is not repeated if the server refused it, but if the server was overloaded")
  func refused() async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    let twice = #"{"changes":[{"insert":"City","values":{"id":1,"name":"Ur"}}]}"#
    await #expect(throws: ObjectStoreError.self) { try await fixture.store.save(json(twice)) }
    #expect(fixture.proxy.requests.count == 1)
    fixture.proxy.set(
      .answer(
        "HTTP/1.1 503 Busy\r\nContent-Length: 44\r\n\r\n"
          + #"{"code":"overloaded","detail":"Later, ok??"}"#))
    do {
      _ = try await fixture.store.save(json(insert))
      Issue.record("saved")
    } catch ObjectStoreError.unreachable(let unavailability) {
      #expect(unavailability.code == "overloaded")
    }
    #expect(fixture.proxy.requests.count == 2)
  }
}
