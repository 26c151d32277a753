// A service over a PostgreSQL database: requests enter and responses leave, without sockets.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

@testable import PostgresStore

/// The copy of a file, which a ``ServedFile`` serves in its place.
final class TestedDatabase {
  private let server: PostgresServer
  private let target: String
  private let connection: PostgresConnection

  init(copying path: String) throws {
    server = try PostgresServer.takeIdle()
    target = try server.newDatabase(copying: path)
    connection = try PostgresConnection(target)
  }

  deinit {
    connection.close()
    server.giveBack()
  }

  func open(_ options: SQLiteStoreOptions) throws -> PostgresStore {
    var own = PostgresStoreOptions()
    own.queryTimeout = options.queryTimeout
    own.maxResponseBytes = options.maxResponseBytes
    own.isReadOnly = options.isReadOnly
    own.connections = 4
    own.model = options.model
    return try PostgresStore(target, options: own)
  }

  func migrate(
    to model: ModelFile, _ options: MigrationOptions, _ progress: (Int, Int, String) -> Void
  ) throws(StoreError) -> MigrationPlan {
    try PostgresStore.migrate(target, to: model, options: options, progress: progress)
  }

  func run(_ sql: String) throws { try connection.execute(sql) }

  func texts(_ sql: String) throws -> [String] {
    let result = try connection.query(sql)
    return (0..<result.rowCount).map { result.text($0, 0) }
  }

  func addAPIKey(_ record: APIKeyRecord) throws -> Bool {
    try PostgresStore.addAPIKey(record, to: target)
  }

  func revokeAPIKey(_ name: String) throws -> APIKeyRecord? {
    try PostgresStore.revokeAPIKey(name, in: target)
  }

  func position() throws -> HistoryPosition {
    let position = try HistoryTransaction.read([], on: connection) {
      (transaction) throws(PostgresError) in transaction.position
    }
    return HistoryPosition(position.snapshot)
  }
}

/// A database of one test, served without sockets. Other programs write it.
final class ServedDatabase {
  let target: String
  let store: PostgresStore
  private let service: Service
  private let connection: PostgresConnection

  /// - Parameter model: The text of a model file, whose tables are created.
  init(_ sql: String, model: String? = nil) throws {
    target = try PostgresServer.shared().newDatabase()
    connection = try PostgresConnection(target)
    try connection.execute(sql)
    var options = PostgresStoreOptions()
    options.queryTimeout = 600
    options.model = try model.map { try ModelFile(parsing: Array($0.utf8)) }
    store = try PostgresStore(target, options: options)
    var configuration = ServiceConfiguration()
    configuration.queryTimeout = 600
    configuration.explains = true
    service = try Service(store: store, configuration: configuration)
  }

  deinit {
    service.drain()
    store.close()
  }

  /// Changes the database as another program would.
  func runExternally(_ sql: String) throws { try connection.execute(sql) }

  /// Waits until the server has detected all commits of other programs.
  func settle() throws {
    let position = try HistoryTransaction.read([], on: connection) {
      (transaction) throws(PostgresError) in transaction.position
    }
    let isSettled = eventually(within: .seconds(300)) {
      store.newestToken.position >= HistoryPosition(position.snapshot)
    }
    #expect(isSettled)
  }

  /// Sends a request; its response is read later.
  func begin(_ method: String, _ target: String, body: String? = nil) -> Pending {
    Pending.begin(service, method, target, body: body)
  }

  /// Sends a request and waits for the response.
  func ask(_ target: String) throws -> Answer { try ask("GET", target) }

  func ask(_ method: String, _ target: String, body: String? = nil) throws -> Answer {
    try #require(begin(method, target, body: body).wait())
  }
}
