// The store's file of an import, if the import creates it.

import Foundation
import LiveFetchThreads
import SQLiteStore

/// A file that this import created, and that it removes if it fails.
struct NewStoreFile {
  private let path: String
  /// The bytes of the file as it was created. A process that commits anything changes them.
  private let content: Data?

  /// Creates the file. Returns nil if it exists, also if another process has just created it.
  init?(path: String) throws {
    // The import refuses an empty path.
    guard !path.isEmpty, try !isFile(path) else { return nil }
    do {
      try SQLiteStore.create(path: path)
    } catch {
      guard try isFile(path) else { throw error }
      return nil
    }
    UnfinishedFiles.add(path)
    self.path = path
    content = FileManager.default.contents(atPath: path)
  }

  /// Keeps the file, whose import is committed.
  func keep() { UnfinishedFiles.remove(path) }

  /// Removes the file, unless another process has it open as a store or has changed it. Call it after a
  /// rollback, while the import still locks the file.
  func remove() {
    defer { UnfinishedFiles.remove(path) }
    if let server = SQLiteStore.server(of: path), server.process != getpid() { return }
    guard let content, let file = FileHandle(forReadingAtPath: path) else { return }
    defer { try? file.close() }
    guard (try? file.read(upToCount: content.count + 1)) == content else { return }
    SQLiteStore.remove(path: path)
  }
}
