// SIGHUP at a running server → its settings and their files, read again and applied.

import ArgumentParser
import Foundation
import LiveFetchThreads
import Service
import Synchronization

/// Applies changed settings to a running server, on a thread of its own: while the store cannot be opened
/// again, the server still ends on SIGTERM.
final class SettingsReload: Sendable {
  private let source: StoreLocation
  private let host: ServiceHost
  /// The address of the server.
  private let address: SharedValue<String?>
  private let reloaded: @Sendable (ServerOptions) throws -> ServerOptions
  /// The settings in use. Only the queue changes them.
  private let options: Mutex<ServerOptions>
  private let queue = DispatchQueue(label: "livefetch.reload")

  init(_ server: Server, _ host: ServiceHost, _ address: SharedValue<String?>) {
    source = server.source
    self.host = host
    self.address = address
    reloaded = server.reloaded
    options = Mutex(server.options)
  }

  /// Begins to read the settings again, after the reloads that have begun before. If they are invalid,
  /// the server keeps its current ones.
  func begin() {
    queue.async { [self] in
      let running = options.withLock { $0 }
      guard let newer = read(running) else {
        return printError("the settings from before stay in use")
      }
      if !newer.changesThatNeedRestart.isEmpty {
        printError(
          "take effect at the next start: \(newer.changesThatNeedRestart.joined(separator: ", "))")
      }
      let changes = newer.changes(since: running)
      let acceptsRules = host.hasChangedRules
      guard !changes.isEmpty || acceptsRules else { return }
      host.reload(
        newer.service(of: source), open: source.reopening(newer) { [address] in address.value })
      options.withLock { $0 = newer }
      if acceptsRules { printError("the access rules are in use again, as the tables are now") }
      if !changes.isEmpty { printError("read again: \(changes.joined(separator: ", "))") }
    }
  }

  /// Waits until the reloads that have begun are over. Call it after the host was drained.
  func finish() { queue.sync {} }

  /// Returns the settings as they are now; nil if they cannot be used, which is reported.
  private func read(_ running: ServerOptions) -> ServerOptions? {
    running.readFilesAgain()
    do {
      let newer = try reloaded(running)
      try newer.checkAccess(to: source.argument, at: running.host)
      if let model = host.model { try newer.checkRules(of: model, path: source.name) }
      return newer
    } catch {
      // Files that cannot be used have been reported.
      if let error = error as? ValidationError { printError(error.message) }
      return nil
    }
  }
}
