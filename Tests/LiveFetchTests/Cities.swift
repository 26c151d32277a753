import Foundation
import HTTPServer
import LiveFetch
import SQLiteStore
import Service
import Testing

/// A plain value out of a store.
struct City: Codable, Fetchable, Identifiable, Hashable {
  static let entityName = "City"
  let id: Int
  var name: String
  var population: Int?
  var country: Int?
}

/// The same scenario runs in process and over HTTP, and has to see the same.
enum Kind: CaseIterable, Sendable {
  case local, remote
  /// The server tells changes by a stream.
  case stream

  var transport: RemoteStore.Transport { self == .stream ? .stream : .longPoll }
}

/// A store of cities of a test's own, gone with the test.
final class Cities: Sendable {
  static let schema = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country_id INTEGER REFERENCES country(id));
    INSERT INTO country VALUES (1, 'Japan'), (2, 'Peru'), (3, 'Mali');
    INSERT INTO City VALUES (1, 'Tokyo', 900, 1), (2, 'Osaka', 300, 1), (3, 'Lima', 800, 2),
      (4, 'Cusco', 40, 2), (5, 'Bamako', 200, 3);
    """

  let store: any ObjectStore
  private let directory: String
  private let end: @Sendable () -> Void

  init(_ kind: Kind) throws {
    let directory = NSTemporaryDirectory() + "livefetch-" + UUID().uuidString
    let path = directory + "/store.sqlite"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try sqlite(path, Self.schema)
    self.directory = directory
    switch kind {
    case .local:
      let local = try LocalStore(path: path)
      store = local
      end = { local.close() }
    case .remote, .stream:
      let file = try SQLiteStore(path: path)
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

  deinit {
    end()
    try? FileManager.default.removeItem(atPath: directory)
  }

  func save(_ changes: String) async throws {
    _ = try await store.save(JSON(parsing: Array(#"{"changes":[\#(changes)]}"#.utf8)))
  }
}
