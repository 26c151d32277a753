// A store, a service and an HTTP server, from the first connection to the last answer.

import ArgumentParser
import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization

/// Serves one store until the process is asked to end.
struct Server {
  let path: String
  var options: ServerOptions
  /// What is printed behind the ready line, given the address.
  var greeting: (String) -> String = { _ in "" }

  mutating func run() throws {
    TerminationSignal.hold(hangUp: true)
    for warning in options.warnings { note(warning) }
    DescriptorLimit.raise()
    TerminationSignal.ignoreOthers()
    // Before the file is opened, which changes it.
    let listener = try listen()
    try options.openAudit()
    let store = try openStore()
    // An error while the file is opened is printed once, by the refusal.
    FailureNotes.begin(path)
    let address = ServedAddress()
    let host: ServiceHost
    let http: HTTPServer
    do {
      host = try serve(store, at: address)
      http = try HTTPServer(options.http, listener: listener, handler: host)
      host.metrics.watch(http)
    } catch {
      store.close()
      throw failure(Self.describe(error, options), .cannotListen)
    }
    announce(store, at: address, port: http.port)
    TerminationSignal.wait(onHangUp: options.readFilesAgain)
    shutDown(host, http)
  }

  /// Ends within the time limit, whatever still runs. What was not answered by then loses its
  /// connection.
  private func shutDown(_ host: ServiceHost, _ http: HTTPServer) {
    let limit = options.shutdownTimeout
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: limit)
      note("did not end within --shutdown-timeout; what was not answered lost its connection")
      _exit(ExitStatus.failed.rawValue)
    }
    host.drain(within: limit)
    host.awaitStreams(seconds: min(1, limit / 20))
    http.stop(grace: min(2, limit / 10))
    host.close()
    LogOutput.errors.finish()
  }

  private func listen() throws -> HTTPListener {
    do {
      return try HTTPListener(options.http)
    } catch {
      throw failure(Self.describe(error, options), .cannotListen)
    }
  }

  private func openStore() throws -> SQLiteStore {
    let store = try openFile()
    do {
      try options.checkRules(of: store.model, path: path)
    } catch {
      store.close()
      throw error
    }
    return store
  }

  private func openFile() throws -> SQLiteStore {
    let model = try options.modelPath.map { try modelAnywhere($0) }
    do throws(StoreError) {
      var storeOptions = options.store(model)
      // Only at the start: a file that is empty later was cut short.
      storeOptions.acceptsEmptyFile = model != nil || options.createsFile
      let store = try SQLiteStore(path: path, options: storeOptions)
      if store.isNewlyFollowed {
        note(
          """
          \(path): added history tables and triggers, and switched to WAL. \
          `livefetch detach \(path)` takes them out again.
          """)
      }
      if store.properties.isReadOnly, !options.isReadOnly {
        note("\(path): the file or its directory may not be written: it is served read-only")
      }
      if SQLiteStore.hasFragileLog {
        store.onExternalCommit { [path] in Self.warnOfFragileLog(path) }
      }
      return store
    } catch {
      throw failure("\(path): \(error.message)", error.exitStatus)
    }
  }

  /// Serves the store, and what takes its place.
  private func serve(
    _ store: SQLiteStore, at address: ServedAddress
  ) throws -> ServiceHost {
    let model = try options.modelPath.map { try modelAnywhere($0) }
    let (path, storeOptions) = (path, options.store(model))
    return try ServiceHost(store, configuration: options.service) { event in
      switch event {
      case .reopened: note("\(path): its tables or the file have changed; opened again")
      case .cannotReopen(let error):
        note("\(path): cannot be opened again: \(error.message); trying again")
      }
    } open: { () throws(StoreError) in
      let store = try SQLiteStore(path: path, options: storeOptions)
      if let text = address.text { store.announce(address: text) }
      return store
    }
  }

  private static func warnOfFragileLog(_ path: String) {
    note(
      """
      another program writes \(path). SQLite \(SQLiteStore.libraryVersion) can damage a write-ahead \
      log that two connections write or checkpoint at the same time; 3.51.3 and later do not.
      """)
  }

  private func announce(_ store: SQLiteStore, at served: ServedAddress, port: Int) {
    let host = options.host.contains(":") ? "[\(options.host)]" : options.host
    let address = "\(options.scheme)://\(host):\(port)"
    served.text = address
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

/// Failures of the file and its disk, for the person who runs the server.
private enum FailureNotes {
  /// Seconds before the same message is printed again: every query may find the same damage.
  private static let pause: UInt64 = 60

  static func begin(_ path: String) {
    // Protects the times at which each was printed last.
    let last = Mutex<[String: UInt64]>([:])
    SQLiteStore.onFailingFile { failure in
      let text = text(failure, path)
      let now = DispatchTime.now().uptimeNanoseconds / 1_000_000_000
      let isNew = last.withLock { last in
        if let before = last[text], now < before + pause { return false }
        last[text] = last.count < 100 ? now : nil
        return true
      }
      if isNew { note("\(path): \(text)") }
    }
  }

  private static func text(_ failure: SQLiteStore.FileFailure, _ path: String) -> String {
    switch failure {
    case .reported(let text): "\(text); `livefetch check \(path)` looks for damage"
    case .lostLog(let text): text
    case .changed(let text): "\(text) Saves are refused until the file can be used again."
    }
  }
}

/// The server's address once it listens; every reopened store announces it.
private final class ServedAddress: Sendable {
  // Protects the text.
  private let address = Mutex<String?>(nil)

  var text: String? {
    get { address.withLock { $0 } }
    set { address.withLock { $0 = newValue } }
  }
}

extension StoreError {
  /// A phrase for users.
  var message: String {
    switch self {
    case .unusable(let reason), .damaged(let reason): reason
    case .busy: "another process holds the file"
    case .overloaded: "too much waits already"
    case .shuttingDown: "the store is being closed"
    case .diskFull: "the disk is full"
    case .readOnly: "the file may not be written"
    case .schemaChanged(let entity): "the table of \(entity) has changed"
    case .queryTimeout, .tooSlow: "a query took too long"
    case .answerTooLarge(let limit): "an answer has more than \(limit) bytes"
    case .storageFailed(let reason), .failed(let reason): reason
    }
  }

  /// Prints the error with the name of the file that it concerns.
  func failure(_ path: String) -> ExitCode { refuse("\(path): \(message)", exitStatus) }

  var exitStatus: ExitStatus {
    switch self {
    case .unusable, .damaged, .busy, .schemaChanged: .unusableStore
    default: .failed
    }
  }
}

/// Runs `body`. A store's error in it is printed with `path` and ends the command.
func reportingErrors<Result>(of path: String, _ body: () throws -> Result) throws -> Result {
  do {
    return try body()
  } catch let error as StoreError {
    throw error.failure(path)
  }
}
