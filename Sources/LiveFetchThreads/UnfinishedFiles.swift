// Files that a command is writing → nothing of them, if a signal ends the command before they are complete.

import Foundation
import Synchronization

/// The files that are not complete yet.
package enum UnfinishedFiles {
  private static let paths = Mutex<Set<String>>([])

  /// Notes a file that is being written.
  package static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }

  /// Forgets a file that has its final name, or is deleted.
  package static func remove(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  /// Deletes the files, and those that SQLite and a store keep beside a database.
  package static func deleteAll() {
    for path in paths.withLock({ $0 }) {
      for end in ["", "-wal", "-shm", "-journal", "-livefetch"] { unlink(path + end) }
    }
  }
}
