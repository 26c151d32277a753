// A path → the right to serve it, for as long as the process lives.
//
// The lock is on a file beside the store's. On the store's own file it would be a danger: POSIX
// drops all of a process's locks on a file, SQLite's among them, when it closes any descriptor of
// it. flock() ends with the process, however that ends. Who holds it says so in it.

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
      guard Self.lock(descriptor) else {
        close(descriptor)
        let holder = Self.holder(beside: file)?.description ?? "another process"
        throw .unusable("the file is being served by \(holder)")
      }
      // Whoever held it before may have removed it in the meantime.
      if Self.isSame(descriptor, path) {
        self.descriptor = descriptor
        write(address: nil)
        return
      }
      close(descriptor)
    }
  }

  deinit {
    unlink(path)
    close(descriptor)
  }

  /// Whoever only looks holds it for an instant.
  private static func lock(_ descriptor: Int32) -> Bool {
    for _ in 0..<4 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
      usleep(5_000)
    }
    return false
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

// MARK: - Who holds it

/// A process that serves a file.
public struct ServingProcess: Sendable, Hashable, CustomStringConvertible {
  public let process: Int32
  /// Where it answers; nil where it does not say.
  public let address: String?

  public var description: String {
    "process \(process)" + (address.map { " at \($0)" } ?? "")
  }
}

extension FileLock {
  /// Writes down who holds the lock, and where the file can be reached.
  func write(address: String?) {
    let text = Array("\(getpid())\n\(address ?? "")\n".utf8)
    guard ftruncate(descriptor, 0) == 0 else { return }
    _ = pwrite(descriptor, text, text.count, 0)
  }

  /// Who serves `file`; nil where nobody does.
  static func holder(beside file: String) -> ServingProcess? {
    let descriptor = open(canonical(file) + "-livefetch", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = max(0, pread(descriptor, &bytes, bytes.count, 0))
    let lines = String(decoding: bytes[..<count], as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)
    let address = lines.count > 1 && !lines[1].isEmpty ? String(lines[1]) : nil
    return ServingProcess(process: lines.first.flatMap { Int32($0) } ?? 0, address: address)
  }
}
