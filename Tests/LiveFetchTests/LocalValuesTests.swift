// Values that come from the columns of a file in this process, compared with those of a server's JSON.

import Foundation
import LiveFetch
import TestSupport
import Testing

private struct Cell<Value: Decodable & Sendable>: Decodable, Fetchable {
  static var entityName: String { "Sample" }
  let id: Int
  let value: Value?
}

private final class CellObject<Value: AttributeValue>: ManagedObject, ManagedObjectType {
  static var entityName: String { "Sample" }
  enum Key: String, KeyCodable { case value }

  @Managed(.value) var value: Result<Value?, UnreadableValue> = .success(nil)
}

private final class StrictCellObject<Value: AttributeValue>: ManagedObject, ManagedObjectType {
  static var entityName: String { "Sample" }
  enum Key: String, KeyCodable { case value }

  @Managed(.value) var value: Value?
}

@MainActor
@Suite("Values of a file in this process", .mayBlock)
struct LocalValuesTests {
  /// Every storage class in one column.
  private static func sql(_ type: String) -> String {
    """
    CREATE TABLE Sample(id INTEGER PRIMARY KEY, value \(type));
    WITH v(x) AS (VALUES (NULL), (0), (1), (-7), (300), (9007199254740993), (9223372036854775807),
      (1.0), (-0.0), (0.1), (1e300), (5e-324), (16777217.5), (9e999), (-9e999), (''), ('a'),
      ('ä"\\' || char(10, 31)), ('true'), ('12'), ('1e3'), ('Infinity'), ('2026-01-02T03:04:05Z'),
      ('2026-01-02 03:04:05.25'), ('{"a":[1,null]}'), ('[1,2]'), ('[1'), (x''), (x'000102'),
      ('https://example.org/a'), (x'00112233445566778899aabbccddeeff'))
    INSERT INTO Sample SELECT row_number() OVER (), x FROM v;
    """
  }

  @Test(
    "equal those that a server sends, and have the same errors",
    arguments: [
      "INTEGER", "REAL", "TEXT", "BOOLEAN", "DATETIME", "DECIMAL(10, 2)", "BLOB", "UUID", "JSON",
    ])
  func parity(type: String) async throws {
    let (local, remote) = (
      try OpenedStore(.local, sql: Self.sql(type)), try OpenedStore(.remote, sql: Self.sql(type))
    )
    func same(_ values: (any ObjectStore) async -> [String]) async {
      let expected = await values(remote.store)
      #expect(expected.count >= 31)
      #expect(await values(local.store) == expected)
    }
    func structures<Value: Decodable & Sendable>(_ type: Value.Type) async {
      await same { store in
        await Self.values(Cell<Value>.self, in: store) { "\($0.id) \($0.value as Any)" }
      }
    }
    func objects<Value: AttributeValue>(_ type: Value.Type) async {
      await same { store in
        await Self.values(CellObject<Value>.self, in: store) { "\($0.objectID) \($0.value)" }
      }
      await same { store in
        await Self.values(StrictCellObject<Value>.self, in: store) {
          "\($0.objectID) \($0.value as Any) \(String(describing: $0.value(for: .value)))"
        }
      }
    }
    await structures(Bool.self)
    await structures(String.self)
    await structures(Double.self)
    await structures(Float.self)
    await structures(Int.self)
    await structures(Int8.self)
    await structures(Int64.self)
    await structures(UInt64.self)
    await structures(Decimal.self)
    await structures(Date.self)
    await structures(Data.self)
    await structures(URL.self)
    await structures([Int].self)
    await structures([String: [Int?]].self)
    await objects(Bool.self)
    await objects(String.self)
    await objects(Double.self)
    await objects(Float.self)
    await objects(Int.self)
    await objects(Int16.self)
    await objects(Decimal.self)
    await objects(Date.self)
    await objects(Data.self)
    await objects(UUID.self)
    await objects(URL.self)
    await objects([Int].self)
    await objects(JSON.self)
    withExtendedLifetime((local, remote)) {}
  }

  /// The elements as texts and the reasons of unreadable ones, or the error.
  private static func values<Element: Fetchable>(
    _ type: Element.Type, in store: any ObjectStore, _ text: (Element) -> String
  ) async -> [String] {
    let context = ManagedObjectContext(store: store)
    do {
      let found = try await context.fetch(FetchRequest<Element>(sortedBy: [.ascending("id")]))
      return found.map(text) + context.unreadableObjects.map(\.description)
    } catch {
      return ["\(error)"] + context.unreadableObjects.map(\.description)
    }
  }
}
