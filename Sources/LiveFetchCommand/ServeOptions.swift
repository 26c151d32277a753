// What `serve` and `demo` both take.

import ArgumentParser
import Foundation
import HTTPServer
import SQLiteStore
import Service

/// The options of a server.
struct ServeOptions: ParsableArguments {
  @Option(help: "The address to listen on. Anything but loopback needs a token.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on; 0 picks a free one.")
  var port = 8080

  @Option(name: .customLong("public"), help: "The directory of the web page.")
  var publicDirectory: String?

  @Option(help: "The bearer token that requests need. [env: LIVEFETCH_TOKEN]")
  var token: String?

  @Option(help: "The origin that browsers may call from, or '*'.")
  var corsOrigin: String?

  @Option(help: "The most items of a snapshot.")
  var maxItems = 10_000

  @Option(help: "Seconds that a query may take.")
  var queryTimeout = 10.0

  @Option(help: "Threads that read and write sockets; as many as there are cores if left out.")
  var workers = max(2, min(16, ProcessInfo.processInfo.activeProcessorCount))

  @Option(help: "The largest body of a request, in bytes.")
  var maxBody = 16 << 20

  @Option(help: "How long a save is safe for: 'full' (power loss) or 'normal' (a crash).")
  var durability = Durability.full

  @Option(help: "How many touched rows the history keeps.")
  var keepHistory = 1_000_000

  @Option(help: "How many bytes the history keeps, about.")
  var keepBytes = 1 << 30

  @Option(help: "How many days the history keeps.")
  var keepDays = 7.0

  @Flag(help: "Serve fetches alone: no saves, no 'since'.")
  var readOnly = false

  @Flag(help: "Answer 'explain=true' with the SQL and SQLite's plan.")
  var explain = false

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port takes a number from 0 to 65535.")
    }
    guard maxItems > 0, queryTimeout > 0, maxBody > 0, keepHistory > 0, keepDays > 0, keepBytes > 0,
      (1...64).contains(workers)
    else { throw ValidationError("Sizes and times must be above zero, --workers at most 64.") }
    guard isLoopback || bearerToken != nil else {
      throw ValidationError(
        "Listening on \(host) needs a token: --token TOKEN or LIVEFETCH_TOKEN in the environment.")
    }
    if let directory = publicDirectory {
      var isDirectory: ObjCBool = false
      guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory),
        isDirectory.boolValue
      else { throw ValidationError("--public: there is no directory '\(directory)'.") }
    }
  }

  /// How long a save is safe for.
  enum Durability: String, ExpressibleByArgument, CaseIterable { case full, normal }

  private var isLoopback: Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.")
  }

  var bearerToken: String? {
    let given = token ?? ProcessInfo.processInfo.environment["LIVEFETCH_TOKEN"]
    return given.flatMap { $0.isEmpty ? nil : $0 }
  }

  var service: ServiceConfiguration {
    var service = ServiceConfiguration()
    service.maxItems = maxItems
    service.bearerToken = bearerToken
    service.corsOrigin = corsOrigin
    service.publicDirectory = publicDirectory
    service.explains = explain
    return service
  }

  var store: SQLiteStoreOptions {
    var store = SQLiteStoreOptions()
    store.queryTimeout = queryTimeout
    store.isReadOnly = readOnly
    store.durability = durability == .full ? .full : .normal
    store.keptPositions = keepHistory
    store.keptSeconds = keepDays * 86_400
    store.keptBytes = keepBytes
    return store
  }

  var http: HTTPServerConfiguration {
    var http = HTTPServerConfiguration()
    http.host = host
    http.port = port
    http.workers = workers
    http.maxBodyBytes = maxBody
    http.renderProblem = { Problem($0).response }
    return http
  }
}
