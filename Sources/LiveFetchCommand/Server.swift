// A store, a service and an HTTP server, from the first connection to the last answer.

import ArgumentParser
import FetchModel
import Foundation
import HTTPServer
import SQLiteStore
import Service

/// Serves one store until the process is asked to end.
struct Server {
  let path: String
  let options: ServerOptions
  /// What is printed behind the ready line, given the address.
  var greeting: (String) -> String = { _ in "" }

  func run() throws {
    TerminationSignal.hold()
    // Before the file is opened, which changes it.
    let listener = try listen()
    let store = try openStore()
    let service: Service
    let http: HTTPServer
    do {
      service = try Service(store: store, configuration: options.service)
      http = try HTTPServer(options.http, listener: listener, handler: service)
    } catch {
      store.close()
      throw failure(Self.describe(error, options), .cannotListen)
    }
    announce(store, port: http.port)
    TerminationSignal.wait()
    service.drain()
    http.stop()
    store.close()
  }

  private func listen() throws -> HTTPListener {
    do {
      return try HTTPListener(options.http)
    } catch {
      throw failure(Self.describe(error, options), .cannotListen)
    }
  }

  private func openStore() throws -> SQLiteStore {
    let model = try options.modelPath.map { try ModelFile(atPath: $0) }
    do throws(StoreError) {
      let store = try SQLiteStore(path: path, options: options.store(model))
      if store.isNewlyFollowed {
        note(
          """
          \(path): added history tables and triggers, and switched to WAL. \
          `livefetch detach \(path)` takes them out again.
          """)
      }
      return store
    } catch {
      throw failure("\(path): \(error.message)", error.exitStatus)
    }
  }

  private func announce(_ store: SQLiteStore, port: Int) {
    let host = options.host.contains(":") ? "[\(options.host)]" : options.host
    let address = "http://\(host):\(port)"
    store.announce(address: address)
    print("LiveFetch listening on \(address)\(greeting(address))")
    fflush(nil)
  }

  private static func describe(_ error: any Error, _ options: ServerOptions) -> String {
    switch error as? HTTPServerError {
    case .cannotResolve(let host): "there is no address \(host)"
    case .cannotListen(let number):
      "cannot listen on \(options.host):\(options.port): \(String(cString: strerror(number)))"
    case .cannotStart, nil: "the system has no threads or descriptors left"
    }
  }
}

extension StoreError {
  /// For a person at a terminal.
  var message: String {
    switch self {
    case .unusable(let reason): reason
    case .busy: "another process holds the file"
    case .diskFull: "the disk is full"
    case .readOnly: "the file may not be written"
    case .schemaChanged(let entity): "the table of \(entity) has changed"
    case .queryTimeout, .tooSlow: "a query took too long"
    case .failed(let reason): reason
    }
  }

  var exitStatus: ExitStatus {
    switch self {
    case .unusable, .busy, .schemaChanged: .unusableStore
    default: .failed
    }
  }
}
