// A source of bytes → a sliding window over it. Its memory moves only in ``SlidingBuffer/grow()``, so
// fields may point into it until then.

/// Bytes that were read but not consumed.
final class SlidingBuffer {
  /// The maximum length of a record in bytes. It limits the memory that an unclosed quote can use.
  static let longest = 64 << 20

  private let source: ByteSource
  private var capacity = 1 << 20
  private var base: UnsafeMutablePointer<UInt8>
  private var piece: [UInt8] = []
  private var begin = 0
  private var end = 0
  private(set) var isAtEnd = false

  init(_ source: ByteSource) {
    self.source = source
    base = .allocate(capacity: capacity)
  }

  deinit { base.deallocate() }

  /// False if the source has only the first bytes of another one.
  var isWhole: Bool { source.isWhole }

  /// True if the last bytes of the source may lie within a record.
  var isCut: Bool { source.isCut }

  /// The unconsumed bytes. Valid until the next ``grow()``.
  var bytes: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: base + begin, count: end - begin)
  }

  func drop(_ count: Int) { begin += min(count, end - begin) }

  /// Reads more bytes; returns false at the end.
  func grow() throws(ReadError) -> Bool {
    guard !isAtEnd else { return false }
    guard end - begin < Self.longest else {
      throw ReadError(detail: "a record is longer than 64 MiB: is a quote not closed?")
    }
    piece.removeAll(keepingCapacity: true)
    guard try source.read(into: &piece) else {
      isAtEnd = true
      return false
    }
    append(piece)
    return true
  }

  /// Replaces the unconsumed bytes by others. Call it at the end of the source.
  func replace(by bytes: [UInt8]) {
    (begin, end) = (0, 0)
    append(bytes)
  }

  private func append(_ bytes: [UInt8]) {
    makeRoom(for: bytes.count)
    bytes.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return }
      (base + end).update(from: start, count: bytes.count)
    }
    end += bytes.count
  }

  private func makeRoom(for count: Int) {
    guard end + count > capacity else { return }
    if end - begin + count <= capacity {
      base.update(from: base + begin, count: end - begin)
    } else {
      capacity = max(capacity * 2, end - begin + count)
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
      larger.update(from: base + begin, count: end - begin)
      base.deallocate()
      base = larger
    }
    (begin, end) = (0, end - begin)
  }

  /// Skips a byte order mark. Call it at the start of a file.
  func skipMark() throws(ReadError) {
    while end - begin < 3, try grow() {}
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { drop(3) }
  }
}
