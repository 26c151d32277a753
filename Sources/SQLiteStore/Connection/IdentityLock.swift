// A database file enters; a lock on the file itself leaves, independent of the name by which it was
// opened.
//
// flock() does not interact with the POSIX locks of SQLite on a local file system of Linux. On
// network file systems and on Darwin it does; there only the lock file next to the database is
// used. POSIX drops all of a process's locks on a file when the process closes any descriptor of
// it. A descriptor opened here therefore stays open and unlocked for the next lock on the same
// file. It is closed once the file has no name any more.

import FetchModel
import LiveFetchCLibrary
import LiveFetchCSQLite
import Synchronization

#if canImport(Glibc) || canImport(Musl)
  /// Holds a database file locked; unlocks it when it is released.
  struct IdentityLock: ~Copyable, Sendable {
    private struct Entry {
      let descriptor: Int32
      var isHeld: Bool
    }

    /// Protects the descriptors of all files that were locked.
    private static let entries = Mutex<[FileIdentity: Entry]>([:])

    private let file: FileIdentity

    /// Returns nil if there is no such file, or its file system has no such locks.
    ///
    /// - Throws: ``StoreError/inUse(_:)`` if the file is already locked.
    init?(_ path: String) throws(StoreError) {
      let outcome = Self.entries.withLock { entries in
        Self.closeRemoved(&entries)
        return Self.lock(path, &entries)
      }
      switch outcome {
      case .locked(let file): self.file = file
      case .unsupported: return nil
      case .held: throw .inUse("the file is being served by another process")
      }
    }

    deinit {
      Self.entries.withLock { entries in
        guard let entry = entries[file] else { return }
        flock(entry.descriptor, LOCK_UN)
        entries[file]?.isHeld = false
      }
    }

    private enum Outcome {
      case locked(FileIdentity)
      case held
      case unsupported
    }

    private static func lock(_ path: String, _ entries: inout [FileIdentity: Entry]) -> Outcome {
      guard let named = FileStatus(path)?.identity, !isOnNetwork(path) else { return .unsupported }
      if entries[named] == nil {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .unsupported }
        // Another file may have taken the name meanwhile. Closing its descriptor could drop locks.
        guard let opened = FileStatus(descriptor: descriptor)?.identity, entries[opened] == nil
        else { return .held }
        entries[opened] = Entry(descriptor: descriptor, isHeld: false)
        guard opened == named else { return lock(path, &entries) }
      }
      guard let entry = entries[named], !entry.isHeld else { return .held }
      guard flock(entry.descriptor, LOCK_EX | LOCK_NB) == 0 else {
        return errno == EWOULDBLOCK ? .held : .unsupported
      }
      entries[named]?.isHeld = true
      return .locked(named)
    }

    private static func closeRemoved(_ entries: inout [FileIdentity: Entry]) {
      for (file, entry) in entries
      where !entry.isHeld && FileStatus(descriptor: entry.descriptor)?.links == 0 {
        close(entry.descriptor)
        entries[file] = nil
      }
    }

    /// NFS and SMB implement these locks as POSIX locks, which would block SQLite.
    private static func isOnNetwork(_ path: String) -> Bool {
      [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42].contains(csqlite_file_system(path))
    }
  }
#else
  /// Locks nothing: on this system flock() would block SQLite.
  struct IdentityLock: Sendable {
    init?(_ path: String) throws(StoreError) { return nil }
  }
#endif
