// Opens a store, serves it over HTTP until a signal arrives, and shuts down within `--shutdown-timeout`. Promises:
// every request gets its response, except those that are unfinished when that time has passed.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import LiveFetchThreads
import SQLiteStore
import Service
import Synchronization

/// Serves one store until the process receives SIGTERM or SIGINT.
struct Server {
  /// True while requests are served. Then ``printError(_:)`` does not block.
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
    // Before the file is opened, which changes it: if the port is in use, the file stays unchanged.
    let listener = try listen()
    try options.openAudit()
    let store = try TerminationSignal.exitingOnSignal { try openStore() }
    // After the file was opened: `openStore` prints the error that it throws.
    if let path = source.path { FailureMessages.begin(path) }
    // nil until the server listens. Each opening of the file announces the address to other programs.
    let address = SharedValue<String?>(nil)
    let host: ServiceHost
    let http: HTTPServer
    do {
      host = try serve(store, at: address)
      http = try HTTPServer(options.http, listener: listener, handler: host)
      host.metrics.watch(http)
    } catch {
      store.close()
      throw failure(Self.describe(error, options), .unavailable)
    }
    let backups = source.path.flatMap { options.backups(of: $0, host.metrics) }
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

  /// Shuts down. If that takes longer than the time limit, the process exits, and unfinished requests get no
  /// response.
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
    return try ServiceHost(store, configuration: options.service(of: source)) { event in
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

/// Prints failures of the served file and its disk on standard error.
private enum FailureMessages {
  /// Seconds before the same message is printed again: every query may find the same damage.
  private static let pause: UInt64 = 60
  /// The maximum number of different messages that are printed within a pause.
  private static let maxKept = 100

  static func begin(_ path: String) {
    // Protects the times at which the messages were printed last, in seconds.
    let last = Mutex<[String: UInt64]>([:])
    SQLiteStore.onFailingFile { failure in
      let text = text(failure, path)
      let now = DispatchTime.now().uptimeNanoseconds / 1_000_000_000
      let isNew = last.withLock { last in
        if let before = last[text], now < before + pause { return false }
        if last.count >= maxKept { last = last.filter { now < $0.value + pause } }
        guard last.count < maxKept else { return false }
        last[text] = now
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
