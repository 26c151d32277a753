// A data store's draft: what it shows, its commit, and its parent's changes.

import LiveFetch
import Synchronization
import TestSupport
import Testing

/// Saves to another store at once, and returns when the test allows it.
private final class SlowTowns: DataStore<Town, FilterRequest<Town>>, @unchecked Sendable {
  private let towns: Towns
  private let saving = Mutex<CheckedContinuation<Void, Never>?>(nil)

  init(_ towns: Towns) {
    self.towns = towns
    super.init()
  }

  var isSaving: Bool { saving.withLock { $0 != nil } }

  func endSaving() { saving.withLock { $0 }?.resume() }

  override func execute(_ query: Query) { towns.execute(query) }
  override func stop(_ query: Query) { towns.stop(query) }

  override func save(_ changes: [Change]) async throws {
    try await towns.save(changes)
    await withCheckedContinuation { continuation in saving.withLock { $0 = continuation } }
  }
}

@MainActor
@Suite("A draft", .mayBlock)
struct DataStoreDraftTests {
  let store = Towns([Town(id: 1, name: "Aba", people: 30), Town(id: 2, name: "Bonn", people: 20)])

  private func loaded(
    _ store: DataStore<Town, FilterRequest<Town>>
  ) async throws -> (TownsController, TownLog) {
    let controller = TownsController(
      store: store, request: FilterRequest(), arrangement: .init(itemOrder: { $0.id < $1.id }))
    let log = TownLog(controller)
    try await controller.performFetch()
    _ = log.take()
    return (controller, log)
  }

  @Test("shows its changes, and its parent does not before the commit")
  func committing() async throws {
    let draft = store.draft()
    let (parents, _) = try await loaded(store)
    let (controller, log) = try await loaded(draft)
    try await draft.insert(Town(id: 3, name: "Cork", people: 1))
    try await draft.update(Town(id: 1, name: "Abu", people: 30))
    try await draft.delete(Town(id: 2, name: "Bonn", people: 20))
    try await eventually { controller.fetchedResults.map(\.name) == ["Abu", "Cork"] }
    #expect(draft.changes.map(\.type) == [.insert, .update, .delete])
    #expect(draft.changes.map(\.base?.name) == [nil, "Aba", "Bonn"])
    #expect(parents.fetchedResults.map(\.name) == ["Aba", "Bonn"])
    _ = log.take()
    try await draft.commit()
    #expect(!draft.hasChanges)
    #expect(store.results.map(\.name) == ["Abu", "Cork"])
    try await eventually { parents.fetchedResults.map(\.name) == ["Abu", "Cork"] }
    try await store.insert(Town(id: 4, name: "Deal", people: 1))
    try await eventually { log.lines.last == "did 3" }
    #expect(log.lines == ["will 2", "insert Deal - 0.2", "did 3"])
  }

  @Test("forgets its changes when it is reset")
  func resetting() async throws {
    let draft = store.draft()
    let (controller, log) = try await loaded(draft)
    try await draft.save([
      .init(.delete, Town(id: 2, name: "", people: 0)),
      .init(.insert, Town(id: 3, name: "Cork", people: 1)),
    ])
    try await eventually { log.lines.count == 4 }
    _ = log.take()
    draft.reset()
    try await eventually { log.lines.count == 4 }
    #expect(log.take() == ["will 2", "delete Cork 0.1 -", "insert Bonn - 0.1", "did 2"])
    #expect(controller.fetchedResults.map(\.name) == ["Aba", "Bonn"])
    #expect(store.results.count == 2)
  }

  @Test("keeps its changes where the commit is refused")
  func refusedCommit() async throws {
    let draft = store.draft()
    try await draft.insert(Town(id: 2, name: "Twin", people: 1))
    await #expect(throws: DataStoreError.exists("2")) { try await draft.commit() }
    #expect(draft.changes.map(\.result.name) == ["Twin"])
    #expect(store.results.map(\.name) == ["Aba", "Bonn"])
  }

  @Test("shows its parent's later changes under its own")
  func parentsChanges() async throws {
    let draft = store.draft()
    let (controller, _) = try await loaded(draft)
    try await draft.update(Town(id: 1, name: "Mine", people: 1))
    try await store.update(Town(id: 1, name: "Theirs", people: 1))
    try await store.insert(Town(id: 5, name: "New", people: 1))
    try await eventually { controller.fetchedResults.map(\.name) == ["Mine", "Bonn", "New"] }
    draft.reset()
    try await eventually { controller.fetchedResults.map(\.name) == ["Theirs", "Bonn", "New"] }
  }

  @Test("shows what its parent reports after the committed changes, before the commit returns")
  func changedDuringCommit() async throws {
    let slow = SlowTowns(store)
    let draft = slow.draft()
    let (controller, _) = try await loaded(draft)
    try await draft.update(Town(id: 2, name: "Mine", people: 20))
    let commit = Task { try await draft.commit() }
    try await eventually { slow.isSaving }
    try await store.save([
      .init(.update, Town(id: 2, name: "Theirs", people: 20)),
      .init(.insert, Town(id: 3, name: "New", people: 1)),
    ])
    try await eventually { controller.fetchedResults.map(\.name) == ["Aba", "Mine", "New"] }
    slow.endSaving()
    try await commit.value
    try await eventually { controller.fetchedResults.map(\.name) == ["Aba", "Theirs", "New"] }
  }

  @Test("of a draft commits to the draft, and changes of one result become one")
  func trees() async throws {
    let draft = store.draft()
    let child = draft.draft()
    let (controller, _) = try await loaded(child)
    try await draft.update(Town(id: 1, name: "One", people: 1))
    try await child.update(Town(id: 1, name: "Two", people: 1))
    try await child.insert(Town(id: 7, name: "Seven", people: 1))
    try await child.delete(Town(id: 7, name: "", people: 1))
    try await eventually { controller.fetchedResults.map(\.name) == ["Two", "Bonn"] }
    #expect(child.changes.map(\.type) == [.update])
    try await child.commit()
    #expect(draft.changes.map(\.result.name) == ["Two"])
    #expect(draft.changes.map(\.base?.name) == ["Aba"])
    #expect(store.results.map(\.name) == ["Aba", "Bonn"])
    try await draft.commit()
    #expect(store.results.map(\.name) == ["Two", "Bonn"])
    await #expect(throws: DataStoreError.exists("7")) {
      try await child.insert(Town(id: 7, name: "a", people: 1))
      try await child.insert(Town(id: 7, name: "b", people: 1))
    }
  }
}
