// A service host over a temporary file, which reopens it as the program does.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization
import TestSupport
import Testing

/// A temporary SQLite file behind a ``ServiceHost``, as the program serves it, without sockets.
final class HostedFile {
  let directory: TemporaryDirectory
  let path: String
  let host: ServiceHost

  convenience init(
    _ sql: String, options: SQLiteStoreOptions = .init(),
    configuration: ServiceConfiguration = .init()
  ) throws {
    let directory = try TemporaryDirectory()
    try SQLiteShell.run(sql, path: directory.file("store.sqlite"))
    try self.init(directory, options, configuration)
  }

  /// Serves the file of another host, which has ended, after `script` was run on it.
  convenience init(restarting old: HostedFile, after script: String) throws {
    old.stop()
    try old.shell(script)
    try self.init(old.directory, .init(), .init())
  }

  private init(
    _ directory: TemporaryDirectory, _ options: SQLiteStoreOptions,
    _ configuration: ServiceConfiguration
  ) throws {
    self.directory = directory
    let path = directory.file("store.sqlite")
    self.path = path
    let count = Count()
    self.count = count
    host = try ServiceHost(
      try SQLiteStore(path: path, options: options), configuration: configuration,
      onEvent: { event in if case .reopened = event { count.add() } },
      open: { () throws(StoreError) in try SQLiteStore(path: path, options: options) })
  }

  private final class Count: Sendable {
    private let number = Mutex(0)
    func add() { number.withLock { $0 += 1 } }
    var value: Int { number.withLock { $0 } }
  }

  private let count: Count

  deinit { stop() }

  private let isStopped = Mutex(false)

  private func stop() {
    let isFirst = isStopped.withLock { isStopped in
      defer { isStopped = true }
      return !isStopped
    }
    guard isFirst else { return }
    host.drain()
    host.close()
  }

  /// Returns how often the store was reopened, once that is `wanted` or after a time limit.
  func reopenings(atLeast wanted: Int) -> Int {
    _ = eventually(within: .seconds(300)) { count.value >= wanted }
    return count.value
  }

  /// Runs a script in the `sqlite3` program.
  @discardableResult
  func shell(_ script: String) throws -> String { try Sqlite3.run(script, path) }

  func begin(
    _ method: String = "GET", _ target: String, body: String? = nil,
    headers: [(name: String, value: String)] = []
  ) -> Pending {
    Pending.begin(host, method, target, body: body, headers: headers)
  }

  func ask(
    _ method: String = "GET", _ target: String, body: String? = nil,
    headers: [(name: String, value: String)] = []
  ) throws -> Answer {
    try #require(begin(method, target, body: body, headers: headers).wait())
  }

  func ask(_ target: String) throws -> Answer { try ask("GET", target) }

  /// The newest token.
  func token() throws -> String { try #require(ask("/v1").json["token"]?.string) }

  /// Opens a stream: by `POST` if it has a body.
  func stream(
    _ target: String, body: String? = nil, lastEvent: String? = nil
  ) throws -> EventReader {
    var headers = [(name: "Accept", value: "text/event-stream")]
    if let lastEvent { headers.append((name: "Last-Event-ID", value: lastEvent)) }
    let pending = begin(body == nil ? "GET" : "POST", target, body: body, headers: headers)
    _ = pending.wait()
    return EventReader(try #require(pending.stream))
  }
}
