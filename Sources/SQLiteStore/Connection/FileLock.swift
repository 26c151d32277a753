// A path → the right to serve it, for as long as the process lives.
//
// Two locks by flock(), which ends with the process, however that ends. One is on a file beside the
// store's, `FILE-livefetch`, which names its holder. The other one (``IdentityLock``) is on the
// store's own file: it also keeps out a server that comes by a hard link, or after the file beside
// it was removed.

import FetchModel

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Holds `FILE-livefetch` locked; unlocks and removes it when it goes.
final class FileLock: Sendable {
  private let path: String
  /// -1 where the directory may not be written.
  private let descriptor: Int32
  private let identity: IdentityLock?

  /// The right to serve a file that is only read. Where no file can be made beside it, the lock on
  /// the file itself has to do.
  static func forReading(_ file: String) throws(StoreError) -> FileLock {
    do throws(StoreError) {
      return try FileLock(beside: file)
    } catch .readOnly {
      return try FileLock(on: file)
    }
  }

  private init(on file: String) throws(StoreError) {
    path = ""
    descriptor = -1
    identity = try IdentityLock(file)
  }

  /// Throws ``StoreError/unusable(_:)`` where another process serves the file.
  init(beside file: String) throws(StoreError) {
    path = resolvedPath(file) + "-livefetch"
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw .readOnly }
      guard Self.lock(descriptor) else {
        close(descriptor)
        let holder = Self.holder(beside: file)?.description ?? "another process"
        throw .unusable("the file is being served by \(holder)")
      }
      // Its last holder may have removed it in the meantime.
      guard Self.isSame(descriptor, path) else {
        close(descriptor)
        continue
      }
      do throws(StoreError) {
        identity = try IdentityLock(file)
      } catch {
        unlink(path)
        close(descriptor)
        throw error
      }
      self.descriptor = descriptor
      write(address: nil)
      return
    }
  }

  deinit {
    guard descriptor >= 0 else { return }
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

  private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
    guard let held = FileStatus(descriptor: descriptor) else { return false }
    return held.identity == FileStatus(path)?.identity
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
    guard descriptor >= 0, ftruncate(descriptor, 0) == 0 else { return }
    _ = pwrite(descriptor, text, text.count, 0)
  }

  /// Who serves `file`; nil where nobody does.
  static func holder(beside file: String) -> ServingProcess? {
    let descriptor = open(resolvedPath(file) + "-livefetch", O_RDONLY | O_CLOEXEC)
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
