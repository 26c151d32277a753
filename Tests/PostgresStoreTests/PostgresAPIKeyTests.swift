// API keys in a PostgreSQL database.

import FetchModel
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: API keys", .mayBlock)
struct PostgresAPIKeyTests {
  private static func key(_ id: String, _ name: String) -> APIKeyRecord {
    APIKeyRecord(
      id: id, name: name, digest: [0, 1, 255], scopes: ["read", "write"], roles: ["a\"b"],
      userID: "ann", created: 1_700_000_000.25, expires: 1_900_000_000)
  }

  @Test("a key is stored with all its values, and a server finds it")
  func stored() throws {
    let target = try PostgresServer.shared().newDatabase()
    #expect(try PostgresStore.apiKeys(target).isEmpty)
    #expect(try PostgresStore.addAPIKey(Self.key("k1", "app"), to: target))
    var plain = APIKeyRecord(id: "k2", name: "all", digest: [], scopes: [], created: 1)
    #expect(try PostgresStore.addAPIKey(plain, to: target))
    #expect(try PostgresStore.apiKeys(target) == [plain, Self.key("k1", "app")])
    let store = try PostgresStore(target)
    defer { store.close() }
    #expect(try store.apiKeys() == [plain, Self.key("k1", "app")])
    plain.name = "app"
    #expect(try !PostgresStore.addAPIKey(plain, to: target))
  }

  @Test("keys whose times are of another type are refused, not valid for ever")
  func unknownTimes() throws {
    let target = try PostgresServer.shared().newDatabase()
    #expect(try PostgresStore.addAPIKey(Self.key("k1", "app"), to: target))
    let connection = try PostgresConnection(target)
    try connection.execute("ALTER TABLE livefetch.key ALTER expires TYPE numeric")
    connection.close()
    #expect(throws: StoreError.failed("PostgreSQL: a time in livefetch.key")) {
      try PostgresStore.apiKeys(target)
    }
  }

  @Test("a revoked key stays, and its name is free again; an unknown one is not revoked")
  func revoked() throws {
    let target = try PostgresServer.shared().newDatabase()
    #expect(try PostgresStore.addAPIKey(Self.key("k1", "app"), to: target))
    #expect(try PostgresStore.revokeAPIKey("none", in: target) == nil)
    #expect(try PostgresStore.revokeAPIKey("app", in: target)?.id == "k1")
    #expect(try PostgresStore.revokeAPIKey("k1", in: target) == nil)
    #expect(try PostgresStore.addAPIKey(Self.key("k2", "app"), to: target))
    let keys = try PostgresStore.apiKeys(target)
    #expect(keys.map(\.id) == ["k1", "k2"])
    #expect(keys.map { $0.revoked != nil } == [true, false])
    #expect(try PostgresStore.detach(target))
    #expect(try PostgresStore.apiKeys(target).isEmpty)
  }
}
