// The parts of one request that have been read so far.

import Glibc

/// The parts of a request while they arrive. Used only by the connection's worker.
struct RequestIntake {
  enum Stage {
    /// The target is known; the head has not been checked.
    case head
    /// The head was accepted; body bytes may come.
    case body
    /// Refused already: further bytes are discarded, so that the client reads the refusal before
    /// the connection closes.
    case discarding
    /// It was passed to the handler, or answered.
    case handled
  }

  var stage = Stage.head
  /// The start of the target in libmicrohttpd's buffer. Only the address is compared: libmicrohttpd
  /// splits the query in place. nil without a target.
  let targetStart: UnsafePointer<CChar>?
  /// Bytes of the target as sent.
  let targetCount: Int
  var method = ""
  /// The target as sent; empty if it contains a byte that is not allowed in a target.
  var target: String
  /// The host and port of an absolute target.
  var authority: String?
  var headers = HTTPHeaderBlock()
  /// The origin that trusted proxies report; nil if there are none.
  var forwarded: ForwardedRequest?
  var isChunked = false
  /// Decodes the body if libmicrohttpd does not; then libmicrohttpd does not accept a response
  /// either.
  var decoder: ChunkDecoder?
  var body: [UInt8] = []
  /// Reserves memory for the body's bytes; nil before the first one.
  var reservation: MemoryReservation?
  var discarded = 0

  /// A request whose request line was not understood.
  init() { (targetStart, targetCount, target) = (nil, 0, "") }

  /// - Parameter last: the target of the connection's last request. A client that polls sends it again:
  ///   then it is neither checked nor copied.
  init(target: UnsafePointer<CChar>, last: String) {
    targetStart = target
    targetCount = strlen(target)
    let bytes = UnsafeRawBufferPointer(start: target, count: targetCount)
      .assumingMemoryBound(to: UInt8.self)
    if last.hasBytes(bytes) {
      self.target = last
    } else {
      self.target = areTargetBytes(bytes) ? String(decoding: bytes, as: UTF8.self) : ""
    }
  }

  /// Decodes bytes of a chunked body and appends them to the body.
  mutating func decode(_ bytes: UnsafeRawBufferPointer, limit: Int) -> ChunkDecoder.Outcome {
    decoder?.decode(bytes, into: &body, limit: limit) ?? .malformed
  }

  /// Releases the body, which the request owns by now or which is not needed.
  mutating func dropBody() {
    body = []
    reservation = nil
  }
}

/// True if the bytes are all allowed in a target: visible ASCII except `#`, because clients remove a
/// fragment before they send a target. One pass without a branch.
private func areTargetBytes(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
  var invalid: UInt8 = 0
  for index in 0..<bytes.count {
    let byte = bytes[index]
    invalid |= (byte &- 0x21 < 0x5E ? 0 : 1) | (byte == 0x23 ? 1 : 0)
  }
  return invalid == 0
}

extension String {
  /// True if the text in UTF-8 has exactly these bytes.
  fileprivate func hasBytes(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    utf8.withContiguousStorageIfAvailable { isSame($0, bytes) } ?? false
  }
}
