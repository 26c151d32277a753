// An open SQLite file with its engine. The local stores of one file in this process share it.

import FetchModel
import Foundation
import LiveQueries
import SQLiteStore
import Synchronization

/// An open file, and the engine that follows it.
final class LocalFile: Sendable {
  let store: SQLiteStore
  let engine: LiveEngine
  private let identity: FileIdentity

  /// A file in this process, and the number of local stores that use it.
  private struct Entry {
    let file: LocalFile
    var users: Int
  }

  // Protects the open files. Opening and closing hold it, because a file is opened once.
  private static let entries = Mutex<[FileIdentity: Entry]>([:])

  /// Opens the file at `path`, or returns it if this process has it open. Balance it with `close()`.
  ///
  /// - Throws: `StoreError` if the file cannot be opened, or is open with another model or access.
  static func open(
    path: String, options: LocalStore.Options
  ) throws(StoreError) -> LocalFile {
    var isFolder: ObjCBool = false
    guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
      let identity = SQLiteStore.identity(of: path)
    else { throw .unusable("there is no file at \(path)") }
    guard !isFolder.boolValue else { throw .unusable("\(path) is a folder") }
    let opened = entries.withLock { entries in
      Result { () throws(StoreError) -> LocalFile in
        if let file = entries[identity]?.file {
          try file.check(options)
          entries[identity]?.users += 1
          return file
        }
        let file = try LocalFile(SQLiteStore(path: path, options: options), identity)
        entries[identity] = Entry(file: file, users: 1)
        return file
      }
    }
    return try opened.get()
  }

  private init(_ store: SQLiteStore, _ identity: FileIdentity) throws(StoreError) {
    (self.store, self.identity) = (store, identity)
    engine = LiveEngine(store: store, delivery: ContinuationDelivery())
    guard engine.isStarted else {
      store.close()
      throw .failed("the system has no threads left")
    }
    let engine = engine
    store.onChange { engine.storeDidChange() }
  }

  private func check(_ options: LocalStore.Options) throws(StoreError) {
    guard options.isReadOnly == store.properties.isReadOnly else {
      throw .unusable("the file is open in this process with the other access")
    }
    guard options.model == nil || options.model == store.model.file else {
      throw .unusable("the file is open in this process with another model")
    }
  }

  /// Ends one use. The last one answers the waiting requests and closes the file.
  func close() {
    Self.entries.withLock { entries in
      if let entry = entries[identity], entry.users > 1 {
        entries[identity]?.users -= 1
        return
      }
      entries[identity] = nil
      engine.drain()
      engine.stop()
      store.close()
    }
  }
}
