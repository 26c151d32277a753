// A path enters; the exclusive right to serve it leaves, for the lifetime of the process.
//
// It consists of two locks by flock(), which ends with the process, even after a crash. One is on
// `FILE-livefetch`, next to the store's file, which names the process that holds it. The other one
// (``IdentityLock``) is on the store's file itself. It also excludes a server that opens the file
// by a hard link, or after `FILE-livefetch` was removed.

import FetchModel
import LiveFetchCLibrary

/// Holds `FILE-livefetch` locked; unlocks and removes it on release.
final class FileLock: Sendable {
  private let path: String
  /// -1 if the directory is not writable.
  private let descriptor: Int32
  private let identity: IdentityLock?

  /// Returns the right to serve a read-only file. If no file can be created next to it, only the
  /// file itself is locked.
  static func forReading(_ file: String) throws(StoreError) -> FileLock {
    do throws(StoreError) {
      return try FileLock(beside: file)
    } catch {
      switch error {
      case .readOnly, .diskFull: return try FileLock(on: file)
      default: throw error
      }
    }
  }

  private init(on file: String) throws(StoreError) {
    path = ""
    descriptor = -1
    identity = try IdentityLock(file)
  }

  /// - Throws: ``StoreError/inUse(_:)`` if another process serves the file.
  init(beside file: String) throws(StoreError) {
    path = resolvedPath(file) + "-livefetch"
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw Self.refusal(of: path, errno) }
      guard Self.lock(descriptor) else {
        close(descriptor)
        let holder = Self.holder(beside: file)
        if holder?.process == getpid() { throw .inUse("this process has the file open as a store") }
        throw .inUse("the file is being served by \(holder?.description ?? "another process")")
      }
      // The previous holder may have removed the file in the meantime.
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

  /// Returns the reason why the file of the lock cannot be opened.
  private static func refusal(of path: String, _ number: Int32) -> StoreError {
    switch number {
    case EACCES, EPERM, EROFS, ENAMETOOLONG: .readOnly
    case ENOSPC, EDQUOT: .diskFull
    case ELOOP: .unusable("\(path) is a symbolic link, which would be overwritten: remove it")
    default: .storageFailed("\(path) cannot be opened: \(String(cString: strerror(number)))")
    }
  }

  /// A process that only tests the lock holds it for an instant, so this tries a few times.
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

// MARK: - The process that holds the lock

/// A process that serves a file.
public struct ServingProcess: Sendable, Hashable, CustomStringConvertible {
  /// The id of the process.
  public let process: Int32
  /// The address at which it serves; nil if unknown.
  public let address: String?

  /// For messages: `process 42 at 127.0.0.1:8080`.
  public var description: String {
    "process \(process)" + (address.map { " at \($0)" } ?? "")
  }
}

extension FileLock {
  /// Writes this process's id and the address at which the file is served.
  func write(address: String?) {
    let text = Array("\(getpid())\n\(address ?? "")\n".utf8)
    guard descriptor >= 0, ftruncate(descriptor, 0) == 0 else { return }
    _ = pwrite(descriptor, text, text.count, 0)
  }

  /// Returns the process that serves `file`; nil if there is none.
  static func holder(beside file: String) -> ServingProcess? {
    let descriptor = open(resolvedPath(file) + "-livefetch", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
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
