// Where the values of a fetch are decoded.

import Foundation
import LiveFetch
import Synchronization
import TestSupport
import Testing

@MainActor
@Suite("Values of a large result", .mayBlock, .serialized)
struct ValueDecodingTests {
  /// Counts its decodings on the main thread and elsewhere.
  private struct Row: Decodable, Fetchable, Identifiable {
    static let entityName = "row"
    static let places = Mutex((main: 0, other: 0))
    let id: Int
    let name: String

    enum CodingKeys: String, CodingKey { case id, name }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      id = try values.decode(Int.self, forKey: .id)
      name = try values.decode(String.self, forKey: .name)
      let isMain = Thread.isMainThread
      Self.places.withLock { if isMain { $0.main += 1 } else { $0.other += 1 } }
    }
  }

  /// A `Decodable` type that its own method creates.
  private struct OwnRow: Decodable, Fetchable {
    static let entityName = "row"
    let name: String

    static func materialize(
      _ item: Item, in context: ManagedObjectContext
    ) throws(MaterializationError) -> OwnRow { OwnRow(name: "\(item.id)") }
  }

  private func context() throws -> (OpenedStore, ManagedObjectContext) {
    let opened = try OpenedStore(
      .local,
      sql: """
        CREATE TABLE row(id INTEGER PRIMARY KEY, name TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        INSERT INTO row SELECT i, 'r' || i FROM n;
        UPDATE row SET name = NULL WHERE id = 7;
        """)
    return (opened, ManagedObjectContext(store: opened.store))
  }

  @Test("are decoded outside of the caller's actor, in their order")
  func fetch() async throws {
    let (opened, context) = try context()
    Row.places.withLock { $0 = (0, 0) }
    let rows = try await context.fetch(FetchRequest<Row>(sortedBy: [.ascending("id")]))
    #expect(rows.map(\.id) == (1...500).filter { $0 != 7 })
    #expect(context.unreadableObjects.map(\.id) == [.integer(7)])
    #expect(Row.places.withLock { $0.main } <= 1)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Row>(sortedBy: [.descending("id")]), context: context)
    Row.places.withLock { $0 = (0, 0) }
    try await controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.id) == (1...500).reversed().filter { $0 != 7 })
    #expect(controller.unreadableObjects.map(\.id) == [.integer(7)])
    #expect(Row.places.withLock { $0.main } <= 1)
    withExtendedLifetime(opened) {}
  }

  private struct OwnedRow: Decodable, Fetchable {
    static let entityName = "row"
    let id: Int
    let owner: String?

    enum CodingKeys: String, CodingKey {
      case id
      case owner = "owner.name"
    }
  }

  @Test("an optional property whose key is a key path that was not selected is an error, not nil")
  func keyPath() async throws {
    let (opened, context) = try context()
    do {
      _ = try await context.fetch(FetchRequest<OwnedRow>(sortedBy: [.ascending("id")]))
      Issue.record("it was made")
    } catch {
      guard case .materialization(let error) = error else { throw error }
      #expect(error.reason == "`owner.name` was not fetched")
    }
    withExtendedLifetime(opened) {}
  }

  @Test("a type with its own `materialize` is created by it")
  func ownMethod() async throws {
    let (opened, context) = try context()
    let rows = try await context.fetch(FetchRequest<OwnRow>(sortedBy: [.ascending("id")]))
    #expect(rows.prefix(3).map(\.name) == ["1", "2", "3"])
    #expect(rows.count == 500)
    withExtendedLifetime(opened) {}
  }
}
