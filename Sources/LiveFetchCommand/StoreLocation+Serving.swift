// The store of a server: opened at the start, and again when its schema has changed.

import FetchModel
import PostgresStore
import SQLiteStore

extension StoreLocation {
  /// Opens the store when the server starts, and prints warnings.
  func open(_ options: ServerOptions) throws -> any ReopenableStore {
    do {
      switch self {
      case .file(let path): return try open(path, options)
      case .database(let target): return try open(target, options)
      }
    } catch let error as StoreError {
      switch error {
      // Transient: this exit status makes a service manager start the program again.
      case .busy, .inUse: throw failure("\(name): \(error.message)", .failed)
      default: throw error.failure(name)
      }
    }
  }

  /// Returns the function that opens the store again.
  ///
  /// - Parameter serverAddress: Returns the address of the server once it listens.
  func reopening(
    _ options: ServerOptions, serverAddress: @escaping @Sendable () -> String?
  ) -> @Sendable () throws(StoreError) -> any ReopenableStore {
    switch self {
    case .file(let path):
      let options = options.store
      return { () throws(StoreError) in
        let store = try SQLiteStore(path: path, options: options)
        if let address = serverAddress() { store.announce(address: address) }
        return store
      }
    case .database(let target):
      let options = options.database
      return { () throws(StoreError) in try PostgresStore(target.text, options: options) }
    }
  }

  private func open(_ path: String, _ options: ServerOptions) throws -> SQLiteStore {
    var storeOptions = options.store
    // Only at the start: a file that is empty later was truncated.
    storeOptions.acceptsEmptyFile = options.model != nil || options.createsFile
    let store = try SQLiteStore(path: path, options: storeOptions)
    if let message = Self.message(of: store.historySetup, path) {
      printError("\(path): \(message)")
    }
    if store.properties.isReadOnly, !options.isReadOnly {
      printError("\(path): the file or its directory may not be written: it is served read-only")
    }
    if SQLiteStore.mayCorruptSharedWAL {
      store.onExternalCommit { Self.warnOfSharedWAL(path) }
    }
    return store
  }

  private func open(_ target: DatabaseTarget, _ options: ServerOptions) throws -> PostgresStore {
    let store = try PostgresStore(target.text, options: options.database)
    if !store.newlyTracked.isEmpty {
      printError(
        """
        \(name): added the schema livefetch, and triggers to \
        \(store.newlyTracked.joined(separator: ", ")). `livefetch detach` removes them.
        """)
    }
    if !store.lockedTables.isEmpty {
      printError(
        """
        \(name): a transaction holds \(store.lockedTables.joined(separator: ", ")). Fetches of these \
        tables cannot be followed until it ends.
        """)
    }
    if let reason = store.readOnlyReason { printError("\(name): served read-only: \(reason)") }
    return store
  }

  private static func message(of setup: HistorySetup, _ path: String) -> String? {
    let expired = "earlier tokens are 410, and clients fetch again"
    return switch setup {
    case .continued: nil
    case .added:
      "added history tables and triggers, and switched to WAL. `livefetch detach \(path)` removes them."
    case .restarted: "its tables or triggers have changed, so a new history begins: \(expired)"
    case .upgraded(let old, let new):
      "the format of its history was \(old) and is \(new) now, so a new history begins: \(expired)"
    }
  }

  private static func warnOfSharedWAL(_ path: String) {
    printError(
      """
      another program writes \(path). SQLite \(SQLiteStore.libraryVersion) can damage a write-ahead \
      log that two connections write or checkpoint at the same time; 3.51.3 and later do not.
      """)
  }
}
