// The cost of saves of many changes in a data store, in comparisons and hashes of ids.

import LiveFetch
import Synchronization
import Testing

/// An id that counts how often ids are compared and hashed.
private struct CountedNumber: Hashable, Sendable {
  static let operations = Atomic(0)
  let value: Int

  static func == (left: Self, right: Self) -> Bool {
    operations.add(1, ordering: .relaxed)
    return left.value == right.value
  }

  func hash(into hasher: inout Hasher) {
    Self.operations.add(1, ordering: .relaxed)
    hasher.combine(value)
  }
}

private struct Hamlet: Identifiable, InstanceIdentifiable, Sendable {
  let id: CountedNumber
  var people: Int

  init(_ id: Int, people: Int) {
    self.id = CountedNumber(value: id)
    self.people = people
  }
}

private typealias Hamlets = ArrayDataStore<Hamlet, FilterRequest<Hamlet>>

@Suite("A save of many changes in a data store", .serialized)
struct DataStoreSaveCostTests {
  @Test("takes few comparisons and hashes of ids for each result and change")
  func operations() async throws {
    let store = Hamlets((0..<2000).map { Hamlet($0, people: $0) })
    var changes = (0..<1000).map { DataStoreChange(.update, Hamlet($0, people: 1)) }
    changes += (1000..<2000).map { DataStoreChange(.delete, Hamlet($0, people: 0)) }
    changes += (2000..<3000).map { DataStoreChange(.insert, Hamlet($0, people: 2)) }
    CountedNumber.operations.store(0, ordering: .relaxed)
    try await store.save(changes)
    #expect(CountedNumber.operations.load(ordering: .relaxed) < 100_000)
    #expect(store.results.count == 2000)
    #expect(
      store.results.map(\.people) == Array(repeating: 1, count: 1000)
        + .init(repeating: 2, count: 1000))
  }

  @Test("in a draft, one after the other, take few comparisons and hashes of ids each")
  func draft() async throws {
    let store = Hamlets((0..<2000).map { Hamlet($0, people: $0) })
    let draft = store.draft()
    CountedNumber.operations.store(0, ordering: .relaxed)
    for id in 0..<1000 { try await draft.save([.init(.update, Hamlet(id, people: 1))]) }
    for id in 2000..<3000 { try await draft.save([.init(.insert, Hamlet(id, people: 2))]) }
    for id in 2999..<3100 { try await draft.save([.init(.delete, Hamlet(id, people: 0))]) }
    #expect(CountedNumber.operations.load(ordering: .relaxed) < 100_000)
    #expect(draft.changes.count == 2099)
    #expect(draft.changes.map(\.result.id.value).prefix(1000) == Array(0..<1000)[...])
    #expect(draft.changes.map(\.result.id.value)[1000..<1999] == Array(2000..<2999)[...])
    #expect(draft.changes.suffix(100).map(\.type) == Array(repeating: .delete, count: 100))
  }

  @Test("merges the changes of a result in a draft, and keeps the order of the others")
  func mergedChanges() async throws {
    let draft = Hamlets([Hamlet(1, people: 1), Hamlet(2, people: 2)]).draft()
    try await draft.save([.init(.insert, Hamlet(3, people: 3))])
    try await draft.save([.init(.update, Hamlet(1, people: 10))])
    try await draft.save([.init(.insert, Hamlet(4, people: 4))])
    try await draft.save([
      .init(.delete, Hamlet(3, people: 3)), .init(.delete, Hamlet(1, people: 0)),
    ])
    try await draft.save([
      .init(.update, Hamlet(4, people: 40)), .init(.insert, Hamlet(3, people: 5)),
    ])
    #expect(draft.changes.map(\.result.id.value) == [1, 4, 3])
    #expect(draft.changes.map(\.type) == [.delete, .insert, .insert])
    #expect(draft.changes.map(\.result.people) == [0, 40, 5])
    await #expect(throws: DataStoreError.self) {
      try await draft.save([
        .init(.update, Hamlet(4, people: 41)), .init(.update, Hamlet(1, people: 0)),
      ])
    }
    #expect(draft.changes.map(\.result.people) == [0, 40, 5])
  }

  @Test("applies changes of one result in their order, and none if one is refused")
  func order() async throws {
    let store = Hamlets([Hamlet(1, people: 1), Hamlet(2, people: 2)])
    try await store.save([
      .init(.insert, Hamlet(3, people: 3)), .init(.update, Hamlet(3, people: 30)),
      .init(.delete, Hamlet(1, people: 0)), .init(.insert, Hamlet(1, people: 10)),
    ])
    #expect(store.results.map(\.id.value) == [2, 3, 1])
    #expect(store.results.map(\.people) == [2, 30, 10])
    for refused: DataStoreChange<Hamlet> in [
      .init(.insert, Hamlet(2, people: 0)), .init(.update, Hamlet(9, people: 0)),
      .init(.delete, Hamlet(9, people: 0)),
    ] {
      await #expect(throws: DataStoreError.self) {
        try await store.save([.init(.delete, Hamlet(3, people: 0)), refused])
      }
    }
    #expect(store.results.map(\.id.value) == [2, 3, 1])
  }
}
