// A path → the right to serve it, for as long as the process lives.
//
// The lock is on a file beside the store's. On the store's own file it would be a danger: POSIX
// drops all of a process's locks on a file, SQLite's among them, when it closes any descriptor of
// it. flock() ends with the process, however that ends.

import FetchModel

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Holds `FILE-livefetch` locked; unlocks and removes it when it goes.
final class FileLock: Sendable {
  private let path: String
  private let descriptor: Int32

  /// Throws ``StoreError/unusable(_:)`` where another process serves the file.
  init(beside file: String) throws(StoreError) {
    path = Self.canonical(file) + "-livefetch"
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw .readOnly }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        close(descriptor)
        throw .unusable("the file is being served by another process")
      }
      // Whoever held it before may have removed it in the meantime.
      if Self.isSame(descriptor, path) {
        self.descriptor = descriptor
        return
      }
      close(descriptor)
    }
  }

  deinit {
    unlink(path)
    close(descriptor)
  }

  /// One name for every way to the file.
  private static func canonical(_ file: String) -> String {
    guard let resolved = realpath(file, nil) else { return file }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
    var held = stat()
    var named = stat()
    guard fstat(descriptor, &held) == 0, stat(path, &named) == 0 else { return false }
    return held.st_ino == named.st_ino && held.st_dev == named.st_dev
  }
}
