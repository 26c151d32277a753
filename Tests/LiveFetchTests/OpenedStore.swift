// A store on a temporary file, in process or over HTTP; both are deleted after the test.

import Foundation
import LiveFetch
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

/// The same scenario runs in process and over HTTP, and must have the same results.
enum Kind: CaseIterable, Sendable {
  case local, remote
  /// The server reports changes by a stream.
  case stream

  var transport: RemoteStore.Transport { self == .stream ? .stream : .longPoll }
}

final class OpenedStore: Sendable {
  let store: any ObjectStore
  let path: String
  private let directory: TemporaryDirectory
  private let end: @Sendable () -> Void

  /// - Parameter sql: creates the content of the file before it is opened.
  init(_ kind: Kind, _ options: SQLiteStoreOptions = .init(), sql: String = "") throws {
    directory = try TemporaryDirectory()
    path = try directory.emptyFile()
    try sqlite(path, sql)
    switch kind {
    case .local:
      let local = try LocalStore(path: path, options: options)
      store = local
      end = { local.close() }
    case .remote, .stream:
      let file = try SQLiteStore(path: path, options: options)
      let service = try Service(store: file)
      var configuration = HTTPServerConfiguration()
      configuration.port = 0
      let http = try HTTPServer(configuration, handler: service)
      let address = try #require(URL(string: "http://127.0.0.1:\(http.port)"))
      store = RemoteStore(address, transport: kind.transport)
      end = {
        service.drain()
        http.stop()
        file.close()
      }
    }
  }

  deinit { end() }
}

/// A store with sample data that a test opens.
protocol OpenedSample: Sendable {
  var opened: OpenedStore { get }
}

extension OpenedSample {
  var store: any ObjectStore { opened.store }

  /// Saves as another client.
  @discardableResult
  func save(_ changes: String) async throws -> SaveReceipt {
    try await store.save(JSON(parsing: Array(#"{"changes":[\#(changes)]}"#.utf8)))
  }
}
