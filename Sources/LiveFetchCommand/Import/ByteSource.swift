// A file or standard input, compressed or not → its bytes, in pieces.

import Foundation
import LiveFetchCLibrary

/// The reason why a file could not be read.
struct ReadError: Error {
  let detail: String
  /// The exit status of the command after this error.
  var status = ExitStatus.unusableStore
}

/// Reads one input once, from beginning to end.
final class ByteSource {
  /// The number of bytes per read.
  static let pieceSize = 1 << 18

  /// The input's name for messages.
  let name: String
  private let descriptor: Int32
  /// The file's size in bytes, as stored; nil if unknown.
  let size: Int?
  /// True for a file that can be opened again and then has the same bytes; false for a pipe.
  let isReopenable: Bool
  /// False for a source that has only the first bytes of another one, even if these are all its bytes.
  var isWhole: Bool { descriptor >= 0 }
  /// True for such a source if its last bytes may lie within a record.
  let isCut: Bool
  /// The number of bytes read, as stored in the file.
  private(set) var consumed = 0
  /// Bytes that were read and not all returned yet, as stored.
  private var raw: [UInt8] = []
  /// The number of bytes of `raw` that were decompressed.
  private var inflated = 0
  /// Bytes that were read for a sample, as stored. They are returned first.
  private var ahead: [UInt8] = []
  private var inflater: Inflater?
  private var isFirst = true

  /// - Parameter path: The file; `-` is standard input.
  init(path: String) throws {
    name = path == "-" ? "standard input" : path
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw failure(
        errno == ENOENT
          ? "\(path): there is no such file" : "\(path): \(String(cString: strerror(errno)))",
        .noInput)
    }
    var info = stat()
    let isRegular = fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
    guard info.st_mode & S_IFMT != S_IFDIR else {
      throw failure("\(path): is a directory", .noInput)
    }
    size = isRegular ? Int(info.st_size) : nil
    isReopenable = isRegular && path != "-"
    isCut = false
  }

  /// Creates a source of another source's first bytes, which that source still returns later. Nothing
  /// may have been read from that source.
  ///
  /// - Parameter limit: The number of bytes, as stored in the file.
  init(lookingAt source: ByteSource, limit: Int) throws(ReadError) {
    while source.raw.count < limit {
      let before = source.raw.count
      try source.readRaw(atLeast: before + 1)
      guard source.raw.count > before else { break }
    }
    source.ahead = source.raw
    source.raw = []
    (name, descriptor, size) = (source.name, -1, nil)
    ahead = source.ahead
    isReopenable = false
    isCut = ahead.count >= limit
  }

  deinit { if descriptor > 2 { close(descriptor) } }

  /// Appends the next bytes to `buffer`; returns false at the end. Of compressed data these are at most
  /// twice ``pieceSize``.
  func read(into buffer: inout [UInt8]) throws(ReadError) -> Bool {
    while true {
      if isFirst {
        isFirst = false
        try readRaw(atLeast: 2)
        if raw.starts(with: [0x1F, 0x8B]) { inflater = Inflater() }
      } else if raw.isEmpty {
        try readRaw(atLeast: 1)
      }
      guard !raw.isEmpty else {
        guard isCut || inflater?.isInsideMember != true else {
          throw ReadError(detail: "the compressed data ends too early")
        }
        return false
      }
      if try decode(into: &buffer) { return true }
    }
  }

  /// Returns false if the bytes read produced no output yet.
  private func decode(into buffer: inout [UInt8]) throws(ReadError) -> Bool {
    guard let inflater else {
      buffer.append(contentsOf: raw)
      raw.removeAll(keepingCapacity: true)
      return true
    }
    let before = buffer.count
    inflated += try inflater.inflate(raw[inflated...], into: &buffer)
    if inflated == raw.count {
      raw.removeAll(keepingCapacity: true)
      inflated = 0
    }
    return buffer.count > before
  }

  /// Reads until `raw` has that number of bytes, or to the end of the input.
  private func readRaw(atLeast least: Int) throws(ReadError) {
    if !ahead.isEmpty {
      (raw, ahead) = (ahead, [])
      return
    }
    guard descriptor >= 0 else { return }
    while raw.count < least {
      let start = raw.count
      raw.append(contentsOf: repeatElement(0, count: Self.pieceSize))
      let count = raw.withUnsafeMutableBytes {
        LiveFetchCLibrary.read(descriptor, $0.baseAddress?.advanced(by: start), Self.pieceSize)
      }
      raw.removeLast(Self.pieceSize - max(0, count))
      if count < 0, errno == EINTR || awaitsData() { continue }
      guard count >= 0 else { throw Self.unreadable() }
      consumed += count
      if count == 0 { return }
    }
  }

  /// Returns the error in `errno`.
  private static func unreadable() -> ReadError {
    ReadError(detail: String(cString: strerror(errno)), status: .failed)
  }

  /// If `errno` says that a non-blocking input is empty, waits until its writer has written, and returns
  /// true.
  private func awaitsData() -> Bool {
    guard errno == EAGAIN else { return false }
    var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&state, 1, -1) > 0 || errno == EINTR
  }
}
