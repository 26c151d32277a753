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

  /// Creates a file by `body` and notes it, unless `body` returns nil. ``deleteAll(andThen:)`` waits, so that
  /// no file is created without being noted.
  package static func creating<File>(_ path: String, _ body: () -> File?) -> File? {
    paths.withLock { paths in
      let file = body()
      if file != nil { paths.insert(path) }
      return file
    }
  }

  /// Deletes the files, and those that SQLite and a store keep beside a database. Then runs `end`, which ends
  /// the process: no further file is noted.
  package static func deleteAll(andThen end: () -> Void) {
    paths.withLock { paths in
      for path in paths {
        for end in ["", "-wal", "-shm", "-journal", "-livefetch"] { unlink(path + end) }
      }
      end()
    }
  }
}
