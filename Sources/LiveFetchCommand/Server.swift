// A store, a service and an HTTP server, from the first connection to the last answer.

import ArgumentParser
import FetchModel
import Foundation
import LiveFetchHTTPServer
import LiveFetchThreads
import SQLiteStore
import Service
import Synchronization

/// Serves one store until the process receives SIGTERM or SIGINT.
struct Server {
  /// True while requests are served.
  static let isRunning = Atomic(false)

  let source: StoreLocation
  var options: ServerOptions
  /// Returns the settings as they are now; see ``ServeOptions/reloaded(_:)``.
  let reloaded: @Sendable (ServerOptions) throws -> ServerOptions
  /// Returns the text to print after the ready line, given the address.
  var greeting: (String) -> String = { _ in "" }

  mutating func run() throws {
    TerminationSignal.block(hangUp: true)
    for warning in options.warnings { printError(warning) }
    DescriptorLimit.raise()
    TerminationSignal.ignoreOthers()
    // Before the file is opened, which changes it.
    let listener = try listen()
    try options.openAudit()
    let store = try TerminationSignal.exitingOnSignal { try openStore() }
    // An error while the file is opened is printed once, by the refusal.
    if let path = source.path { FailureMessages.begin(path) }
    // The address, once the server listens; every reopened store announces it.
    let address = SharedValue<String?>(nil)
    let host: ServiceHost
    let http: HTTPServer
    let backups: ScheduledBackups?
    do {
      host = try serve(store, at: address)
      http = try HTTPServer(options.http, listener: listener, handler: host)
      host.metrics.watch(http)
    } catch {
      store.close()
      throw failure(Self.describe(error, options), .unavailable)
    }
    backups = source.path.flatMap { options.backups(of: $0, host.metrics) }
    do {
      try backups?.begin()
    } catch {
      host.close()
      throw error
    }
    announce(store, at: address, port: http.port)
    Self.isRunning.store(true, ordering: .relaxed)
    ServiceManager.notify(.ready)
    let reload = SettingsReload(self, host, address)
    TerminationSignal.wait(hangUp: true) { reload.begin() }
    ServiceManager.notify(.stopping)
    backups?.stop()
    shutDown(host, http, reload)
  }

  /// Shuts down within the time limit. Requests that are unanswered by then lose their connections.
  private func shutDown(_ host: ServiceHost, _ http: HTTPServer, _ reload: SettingsReload) {
    let limit = options.shutdownTimeout
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: limit)
      printError(
        "did not end within --shutdown-timeout; unanswered requests lost their connections")
      LogOutput.errors.finish(seconds: 0.5)
      _exit(ExitStatus.failed.rawValue)
    }
    host.drain(within: limit)
    reload.finish()
    host.awaitStreams(seconds: min(1, limit / 20))
    http.stop(grace: min(2, limit / 10))
    host.close()
    LogOutput.errors.finish(seconds: 1)
    Self.isRunning.store(false, ordering: .relaxed)
  }

  private func listen() throws -> HTTPListener {
    do {
      return try options.inheritedListener ?? HTTPListener(options.http)
    } catch {
      throw failure(Self.describe(error, options), .unavailable)
    }
  }

  private func openStore() throws -> any ReopenableStore {
    let store = try source.open(options)
    do {
      try options.checkRules(of: store.model, path: source.name)
    } catch {
      store.close()
      throw error
    }
    return store
  }

  /// Serves the store, and opens it again when its schema or file has changed.
  private func serve(
    _ store: any ReopenableStore, at address: SharedValue<String?>
  ) throws -> ServiceHost {
    let name = source.name
    let changed =
      source.path == nil ? "its tables have changed" : "its tables or the file have changed"
    let open = source.reopening(options) { address.value }
    return try ServiceHost(store, configuration: options.service) { event in
      switch event {
      case .reopened: printError("\(name): \(changed); opened again")
      case .cannotReopen(let error):
        let reason = error.message.withoutFullStop
        printError("\(name): cannot be opened again: \(reason); trying again")
      }
    } open: { () throws(StoreError) in
      try open()
    }
  }

  private func announce(_ store: any ReopenableStore, at served: SharedValue<String?>, port: Int) {
    let host = options.host.contains(":") ? "[\(options.host)]" : options.host
    let address = "\(options.scheme)://\(host):\(port)"
    served.value = address
    (store as? SQLiteStore)?.announce(address: address)
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

/// Prints failures of the file and its disk on standard error.
private enum FailureMessages {
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
      if isNew { printError("\(path): \(text)") }
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

extension StoreError {
  /// A phrase for users.
  var message: String {
    switch self {
    case .unusable(let reason), .damaged(let reason), .inUse(let reason): reason
    case .busy: "another process has it locked"
    case .overloaded: "too much waits already"
    case .shuttingDown: "the store is being closed"
    case .diskFull: "the disk is full"
    case .readOnly: "it is read only, or the user or role lacks a right to it"
    case .schemaChanged(let entity):
      entity.isEmpty ? "its tables have changed" : "the table of \(entity) has changed"
    case .queryTimeout, .tooSlow: "a query took too long"
    case .answerTooLarge(let limit): "an answer has more than \(limit) bytes"
    case .tooManyTables: "a query joins too many tables"
    case .unsupported(let feature): "\(feature) is not available"
    case .storageFailed(let reason), .failed(let reason): reason
    }
  }

  /// Prints the error with the name of the file that it concerns.
  func failure(_ path: String) -> ExitCode { refuse("\(path): \(message)", exitStatus) }

  var exitStatus: ExitStatus {
    switch self {
    case .unusable, .damaged, .inUse, .busy, .schemaChanged: .unusableStore
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
