// The processor time of saves by the number of changed objects. Four times as many objects take
// four times as long where the time is linear, and sixteen times as long where it is quadratic.

import LiveFetch
import Synchronization
import TestSupport
import Testing

@Suite("The time of a context's save", .mayBlock, .serialized)
struct SaveScalingTests {
  /// A kind of change, made to `count` objects.
  enum Change: CaseIterable {
    case insert, update, delete, deleteUnsaved, rollBack, addMembers, removeMembers, findMembers
  }

  @Test("grows in proportion to the number of changes", arguments: Change.allCases)
  func growth(change: Change) async throws {
    let domain = ThreadActor()
    var ratio = Double.infinity
    for _ in 0..<3 where ratio >= 8 {
      let few = try await Self.time(of: change, 1_000, isolation: domain)
      let many = try await Self.time(of: change, 4_000, isolation: domain)
      ratio = min(ratio, many / few)
    }
    #expect(ratio < 8)
  }

  /// A save of one change, beside many objects in memory.
  enum SmallChange: CaseIterable {
    case insert, update, delete
  }

  @Test(
    "of one change does not grow with the objects in memory", arguments: SmallChange.allCases,
    [false, true])
  func smallChange(_ change: SmallChange, inChild: Bool) async throws {
    let domain = ThreadActor()
    var ratio = Double.infinity
    for _ in 0..<3 where ratio >= 4 {
      let few = try await Self.time(of: change, inChild, beside: 500, isolation: domain)
      let many = try await Self.time(of: change, inChild, beside: 8_000, isolation: domain)
      ratio = min(ratio, many / few)
    }
    #expect(ratio < 4)
  }

  /// - Parameter inChild: true for changes in a child context, which its parent saves.
  private static func time(
    of change: SmallChange, _ inChild: Bool, beside count: Int, isolation: isolated ThreadActor
  ) async throws -> Double {
    let root = ManagedObjectContext(store: NumberingStore())
    let context = inChild ? ManagedObjectContext(parent: root) : root
    var items: [ToDo.Item] = []
    for _ in 0..<count { items.append(context.insertObject()) }
    try await context.save()
    try await root.save()
    let start = threadTime()
    for item in items.prefix(50) {
      switch change {
      case .insert: items.append(context.insertObject())
      case .update: item.title = "changed"
      case .delete: context.delete(item)
      }
      try await context.save()
      try await root.save()
    }
    let end = threadTime()
    #expect(!context.hasChanges && !root.hasChanges)
    return (end - start) / .seconds(1)
  }

  private static func time(
    of change: Change, _ count: Int, isolation: isolated ThreadActor
  ) async throws -> Double {
    let context = ManagedObjectContext(store: NumberingStore())
    let list: ToDo.List = context.insertObject()
    var items: [ToDo.Item] = []
    func insert() {
      for _ in 0..<count {
        let item: ToDo.Item = context.insertObject()
        item.list = Fault(list)
        items.append(item)
      }
    }
    if change != .insert { insert() }
    if change == .removeMembers || change == .findMembers {
      for item in items { list.items.insert(item) }
    }
    if change != .deleteUnsaved, change != .rollBack { try await context.save() }
    let start = threadTime()
    switch change {
    case .insert: insert()
    case .update: for item in items { item.title = "changed" }
    case .delete, .deleteUnsaved: for item in items { context.delete(item) }
    case .rollBack: context.rollback()
    case .addMembers: for item in items { list.items.insert(item) }
    case .removeMembers: for item in items.prefix(count / 4) { list.items.remove(item) }
    case .findMembers: for item in items { #expect(list.items.contains(item) == true) }
    }
    try await context.save()
    let end = threadTime()
    #expect(!context.hasChanges)
    return (end - start) / .seconds(1)
  }
}

/// Accepts every save and numbers the inserts. It cannot be read from.
private final class NumberingStore: ObjectStore {
  // Protects the last id.
  private let lastID = Mutex<Int64>(0)

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    throw .unreachable(ServiceUnavailable("reads nothing"))
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    var ids: [String: ObjectID] = [:]
    if case .array(let changes)? = request["changes"] {
      for name in changes.compactMap({ $0["temporaryID"]?.string }) {
        ids[name] = .integer(
          lastID.withLock { id in
            id += 1
            return id
          })
      }
    }
    return SaveReceipt(token: "1", ids: ids)
  }
}
