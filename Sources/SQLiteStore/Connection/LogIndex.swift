// The first bytes of a log's index → how much of the log has been committed.
//
// SQLite writes frames into the log before it counts them in the index, and counts none before it
// cuts the log. So a log that is shorter than its index says was cut by another program, which is
// not SQLite.

import FetchModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What the index says of the log.
struct LogExtent: Equatable {
  /// The bytes that the committed frames take; 0 where the log holds none.
  let byteCount: Int
  /// The log's header has the same eight bytes.
  let salt: [UInt8]

  /// nil where the index is not valid: SQLite makes it again from the log.
  init?(header: [UInt8]) {
    // Two copies of 48 bytes: they differ while one of them is written.
    guard header.count == 96, header[..<48] == header[48...], header[12] == 1 else { return nil }
    let pageSize = Int(header[14]) | Int(header[15]) << 8
    let frames = (16..<20).reversed().reduce(0) { $0 << 8 | Int(header[$1]) }
    byteCount = frames == 0 ? 0 : 32 + frames * ((pageSize & 0xFE00 | (pageSize & 1) << 16) + 24)
    salt = Array(header[32..<40])
  }

  private init() { (byteCount, salt) = (0, []) }

  static let none = LogExtent()
}

/// A log and its index, for reading what SQLite keeps in them.
final class LogFiles: Sendable {
  private let log: Int32
  private let index: Int32
  /// Guards what the index said when it was valid last.
  private let known = Mutex(LogExtent.none)

  init(log: String, index: String) {
    self.log = open(log, O_RDONLY | O_CLOEXEC)
    self.index = IndexDescriptors.descriptor(of: index)
  }

  deinit { if log >= 0 { close(log) } }

  /// Whether the log lacks frames that were committed.
  var isCut: Bool {
    guard log >= 0, index >= 0 else { return false }
    // Commits and checkpoints of other processes may come between.
    for _ in 1...100 {
      let extent = LogExtent(header: Self.bytes(index, 96))
      let size = FileStatus(descriptor: log)?.size ?? 0
      let salt = Self.bytes(log, 8, at: 16)
      guard extent == LogExtent(header: Self.bytes(index, 96)) else { continue }
      let expected = known.withLock { known in
        if let extent { known = extent }
        return known
      }
      return expected.byteCount > 0 && (size < expected.byteCount || salt != expected.salt)
    }
    return false
  }

  /// Copies the log, which may have no name any more, to a new file.
  func copyLog(to path: String) -> Bool {
    let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard log >= 0, target >= 0 else { return false }
    defer { close(target) }
    var offset = 0
    while case let bytes = Self.bytes(log, 1 << 16, at: offset), !bytes.isEmpty {
      guard write(target, bytes, bytes.count) == bytes.count else { return false }
      offset += bytes.count
    }
    return fsync(target) == 0
  }

  private static func bytes(_ descriptor: Int32, _ count: Int, at offset: Int = 0) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(0, pread(descriptor, buffer.baseAddress, count, off_t(offset)))
    }
  }
}

/// Descriptors of indexes. SQLite locks an index by POSIX locks, and a process loses its locks on a
/// file when it closes any descriptor of it: so one is closed only after the file has lost its name.
private enum IndexDescriptors {
  private static let known = Mutex<[FileIdentity: Int32]>([:])

  /// -1 where there is no such file.
  static func descriptor(of path: String) -> Int32 {
    known.withLock { known in
      for (file, descriptor) in known where FileStatus(descriptor: descriptor)?.links == 0 {
        close(descriptor)
        known[file] = nil
      }
      if let named = FileStatus(path)?.identity, let descriptor = known[named] { return descriptor }
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard let opened = FileStatus(descriptor: descriptor)?.identity else { return -1 }
      known[opened] = descriptor
      return descriptor
    }
  }
}
