// Deletions of new objects that obtained permanent ids before their save.

import LiveFetch
import TestSupport
import Testing

/// A store that is neither read nor written.
private struct UnusedStore: ObjectStore {
  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    throw .notUnderstood("unused")
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    throw .notUnderstood("unused")
  }
}

@Suite("A new object with a permanent id", .mayBlock, .serialized)
struct ObtainedIDTests {
  @Test("is deleted in a time that does not grow with the number of new objects")
  func growth() async throws {
    let domain = ThreadActor()
    var ratio = Double.infinity
    for _ in 0..<3 where ratio >= 8 {
      let few = try await Self.time(of: 1_000, isolation: domain)
      let many = try await Self.time(of: 4_000, isolation: domain)
      ratio = min(ratio, many / few)
    }
    #expect(ratio < 8)
  }

  /// The time in which `count` objects are deleted.
  private static func time(
    of count: Int, isolation: isolated ThreadActor
  ) async throws -> Double {
    let context = ManagedObjectContext(store: UnusedStore())
    let list: ToDo.List = context.insertObject()
    var items: [ManagedObject] = []
    for _ in 0..<count {
      let item: ToDo.Item = context.insertObject()
      item.list = Fault(list)
      items.append(item)
    }
    context.obtainPermanentIDs(for: items)
    let start = threadTime()
    for item in items { context.delete(item) }
    let end = threadTime()
    #expect(context.insertedObjects == [list])
    return (end - start) / .seconds(1)
  }

  @MainActor
  @Test("leaves the values of other objects when it is deleted", arguments: [true, false])
  func references(obtainsFirst: Bool) {
    let context = ManagedObjectContext(store: UnusedStore())
    let list: ToDo.List = context.insertObject()
    let item: ToDo.Item = context.insertObject()
    let objects: [ManagedObject] = [list, item]
    if obtainsFirst { context.obtainPermanentIDs(for: objects) }
    item.list = Fault(list)
    list.items.insert(item)
    if !obtainsFirst { context.obtainPermanentIDs(for: objects) }
    #expect(!list.objectID.isTemporary && !item.objectID.isTemporary)
    context.delete(item)
    #expect(list.items.contains(item) == false)
    let other: ToDo.Item = context.insertObject()
    other.list = Fault(list)
    context.delete(list)
    #expect(other.list == nil)
    #expect(context.insertedObjects == [other])
  }
}
