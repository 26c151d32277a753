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
      let few = try await Self.time(of: change, 500, isolation: domain)
      let many = try await Self.time(of: change, 2_000, isolation: domain)
      ratio = min(ratio, many / few)
    }
    #expect(ratio < 8)
  }

  @Test("of one change does not grow with the objects in memory", arguments: [false, true])
  func smallChange(inChild: Bool) async throws {
    let domain = ThreadActor()
    var ratios = [Double](repeating: .infinity, count: 3)
    for _ in 0..<3 where ratios.contains(where: { $0 >= 4 }) {
      let few = try await Self.times(inChild, beside: 250, isolation: domain)
      let many = try await Self.times(inChild, beside: 4_000, isolation: domain)
      for kind in 0..<3 { ratios[kind] = min(ratios[kind], many[kind] / few[kind]) }
    }
    #expect(ratios.allSatisfy { $0 < 4 }, "\(ratios)")
  }

  /// The times of saves of one update, one insert and one delete.
  ///
  /// - Parameter inChild: true for changes in a child context, which its parent saves.
  private static func times(
    _ inChild: Bool, beside count: Int, isolation: isolated ThreadActor
  ) async throws -> [Double] {
    let root = ManagedObjectContext(store: NumberingStore())
    let context = inChild ? ManagedObjectContext(parent: root) : root
    var items: [ToDo.Item] = []
    for _ in 0..<count { items.append(context.insertObject()) }
    try await context.save()
    try await root.save()
    var times: [Double] = []
    for kind in 0..<3 {
      let start = threadTime()
      for item in items.prefix(50) {
        switch kind {
        case 0: item.title = "changed"
        case 1: items.append(context.insertObject())
        default: context.delete(item)
        }
        try await context.save()
        try await root.save()
      }
      times.append((threadTime() - start) / .seconds(1))
      #expect(!context.hasChanges && !root.hasChanges)
    }
    return times
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
