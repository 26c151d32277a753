// A service over a temporary file: requests enter, responses and streams leave, without sockets.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization
import TestSupport
import Testing

/// The stores over which the tests of the contract run.
enum TestedStore {
  /// True if each served file is copied into a PostgreSQL database, which is served in its place.
  static let isPostgres =
    ProcessInfo.processInfo.environment["LIVEFETCH_TESTED_STORE"] == "postgres"
}

extension Trait where Self == ConditionTrait {
  /// A test of files, or of tokens that other databases of the tests' server change.
  static var onlyForFiles: Self { .disabled(if: TestedStore.isPostgres) }
}

/// An SQLite file of one test, served without sockets and deleted after the test; or a PostgreSQL
/// database with the same tables and rows.
final class ServedFile {
  /// Deleted with the last server of the same file.
  let directory: TemporaryDirectory
  let path: String
  private(set) var store: any ReopenableStore
  private(set) var service: Service
  private var configuration: ServiceConfiguration
  private var options: SQLiteStoreOptions
  /// nil for a file.
  private let database: TestedDatabase?

  /// A query has ten minutes unless the settings say something else: no load makes it 504.
  init(
    _ sql: String, options: SQLiteStoreOptions = .init(),
    configuration: ServiceConfiguration = .init()
  ) throws {
    directory = try TemporaryDirectory()
    path = try directory.emptyFile()
    self.options = options.withLongQueries
    self.configuration = configuration.withLongQueries
    try SQLiteShell.run(sql, path: path)
    database = TestedStore.isPostgres ? try TestedDatabase(copying: path) : nil
    store = try Self.open(path, database, self.options)
    service = try Service(store: store, configuration: self.configuration)
  }

  /// Serves the file of another server, which must be stopped, with none of its state.
  init(_ sql: String, adopting other: ServedFile) throws {
    directory = other.directory
    path = other.path
    database = other.database
    options = SQLiteStoreOptions().withLongQueries
    configuration = ServiceConfiguration().withLongQueries
    if !sql.isEmpty { try other.runExternally(sql) }
    store = try Self.open(path, database, options)
    service = try Service(store: store, configuration: configuration)
  }

  private static func open(
    _ path: String, _ database: TestedDatabase?, _ options: SQLiteStoreOptions
  ) throws -> any ReopenableStore {
    try database?.open(options) ?? SQLiteStore(path: path, options: options)
  }

  deinit { stop() }

  func stop() {
    service.drain()
    store.close()
  }

  /// Ends the server and starts another one on the same file.
  ///
  /// - Parameters:
  ///   - maxItems: the other maximum of items of a snapshot; nil for the same.
  ///   - model: the other model; nil for the same.
  func restart(
    maxItems: Int? = nil, model: ModelFile? = nil,
    whileDown change: (ServedFile) throws -> Void = { _ in }
  ) throws {
    stop()
    try change(self)
    configuration.maxItems = maxItems ?? configuration.maxItems
    options.model = model ?? options.model
    store = try Self.open(path, database, options)
    service = try Service(store: store, configuration: configuration)
  }

  /// Changes the file as another program would.
  func runExternally(_ sql: String) throws {
    guard let database else { return try SQLiteShell.run(sql, path: path) }
    try database.run(sql)
  }

  /// The first column of a query's rows, as texts.
  func texts(_ sql: String) throws -> [String] {
    guard let database else { return try sqlite(path, sql) }
    return try database.texts(sql)
  }

  /// Migrates the store to another version of its model. The server must be stopped.
  func migrate(
    to model: ModelFile, options: MigrationOptions = .init(),
    progress: (Int, Int, String) -> Void = { _, _, _ in }
  ) throws(StoreError) -> MigrationPlan {
    guard let database else {
      return try SQLiteStore.migrate(path: path, to: model, options: options, progress: progress)
    }
    return try database.migrate(to: model, options, progress)
  }

  /// Stores an API key. Returns false if it was there.
  func addAPIKey(_ record: APIKeyRecord) throws -> Bool {
    try database?.addAPIKey(record) ?? SQLiteStore.addAPIKey(record, path: path)
  }

  /// Revokes an API key. Returns nil if it was not there.
  func revokeAPIKey(_ name: String) throws -> APIKeyRecord? {
    guard let database else { return try SQLiteStore.revokeAPIKey(name, path: path) }
    return try database.revokeAPIKey(name)
  }

  /// Waits until the server has detected all commits of other programs.
  func settle() throws {
    let isSettled = try eventually(within: .seconds(300)) {
      store.newestToken.position >= (try database?.position() ?? filePosition())
    }
    #expect(isSettled)
  }

  private func filePosition() throws -> HistoryPosition {
    try SQLiteStore.status(path: path).history?.token.position ?? HistoryPosition(0)
  }

  /// Sends a request and waits for the response.
  func ask(
    _ method: String = "GET", _ target: String, body: String? = nil,
    headers: [(name: String, value: String)] = []
  ) throws -> Answer {
    try #require(begin(method, target, body: body, headers: headers).wait())
  }

  /// The response to a `GET` request.
  func ask(_ target: String, headers: [(name: String, value: String)] = []) throws -> Answer {
    try ask("GET", target, headers: headers)
  }

  /// Sends a request; its response is read later.
  func begin(
    _ method: String = "GET", _ target: String, body: String? = nil,
    headers: [(name: String, value: String)] = [], address: String = ""
  ) -> Pending {
    Pending.begin(service, method, target, body: body, headers: headers, address: address)
  }
}

/// A response.
struct Answer {
  let status: Int
  let headers: [(name: String, value: String)]
  let bytes: [UInt8]

  var text: String { String(decoding: bytes, as: UTF8.self) }
  var json: JSON { (try? JSON(parsing: bytes)) ?? .null }
  var code: String? { json["code"]?.string }

  /// The failures of a refused save.
  func errors() throws -> [JSON] { try #require(json["errors"]?.elements, "\(text)") }

  /// The items of all sections of a snapshot.
  var items: [JSON] {
    (json["sections"]?.elements ?? []).flatMap { $0["items"]?.elements ?? [] }
  }

  subscript(header: String) -> String? {
    headers.last { $0.name.lowercased() == header.lowercased() }?.value
  }
}

/// A response that may not have arrived.
final class Pending: Sendable {
  /// Sends a request to `handler`.
  static func begin(
    _ handler: some HTTPHandler, _ method: String, _ target: String, body: String? = nil,
    headers: [(name: String, value: String)] = [], address: String = ""
  ) -> Pending {
    let json = body == nil ? [] : [(name: "Content-Type", value: "application/json")]
    let request = HTTPRequest(
      method: method, target: target, headers: headers + json, body: Array((body ?? "").utf8),
      remoteAddress: address)
    return begin(handler, request)
  }

  static func begin(_ handler: some HTTPHandler, _ request: HTTPRequest) -> Pending {
    let pending = Pending()
    handler.handle(request, HTTPExchange { pending.receive($0) })
    return pending
  }

  private let answer = Mutex<AnyHTTPResponse?>(nil)
  private let arrived = DispatchSemaphore(value: 0)

  fileprivate func receive(_ given: AnyHTTPResponse) {
    answer.withLock { $0 = given }
    arrived.signal()
  }

  var isThere: Bool { answer.withLock { $0 != nil } }

  func wait(seconds: Double = 300) -> Answer? {
    guard arrived.wait(timeout: .now() + seconds) == .success else { return nil }
    arrived.signal()
    switch answer.withLock({ $0 }) {
    case .response(let response)?:
      return Answer(
        status: response.status, headers: response.headers, bytes: response.body.bytes)
    case .prepared(let prepared)?:
      return Answer(status: prepared.status, headers: prepared.headers, bytes: prepared.body)
    case .stream(let status, let headers, _)?:
      return Answer(status: status, headers: headers, bytes: [])
    case nil: return nil

    }
  }

  /// The response's stream.
  var stream: HTTPStream? {
    if case .stream(_, _, let stream) = answer.withLock({ $0 }) { stream } else { nil }
  }
}

extension SQLiteStoreOptions {
  /// With ten minutes for a query in place of the default.
  fileprivate var withLongQueries: SQLiteStoreOptions {
    var options = self
    if queryTimeout == SQLiteStoreOptions().queryTimeout { options.queryTimeout = 600 }
    return options
  }
}

extension ServiceConfiguration {
  /// With ten minutes for a query in place of the default.
  fileprivate var withLongQueries: ServiceConfiguration {
    var configuration = self
    if queryTimeout == ServiceConfiguration().queryTimeout { configuration.queryTimeout = 600 }
    return configuration
  }
}
