// What has been read of one request so far.

import Glibc

/// The parts of a request while they come in. A plain value in its worker's hands.
struct RequestIntake {
  enum Stage {
    /// The target is known; the head has not been checked.
    case head
    /// The head was accepted; body bytes may come.
    case body
    /// Refused already: what still comes is thrown away, so that the client reads the refusal
    /// before the connection closes.
    case discarding
    /// With its handler, or answered.
    case handled
  }

  var stage = Stage.head
  /// Where the target began in libmicrohttpd's buffer. For the gate to compare, not to read:
  /// libmicrohttpd cuts the query to pieces in place.
  let targetPlace: UnsafePointer<CChar>
  /// Bytes of the target as sent.
  let targetCount: Int
  var method = ""
  /// The target as sent; empty if it holds a byte that no target may hold.
  var target: String
  /// The host and port of an absolute target.
  var authority: String?
  var headers = HTTPHeaderBlock()
  var isChunked = false
  /// Decodes the body where libmicrohttpd does not; then it takes no response either.
  var decoder: ChunkDecoder?
  var body: [UInt8] = []
  /// Counts the body's bytes; nil before there are any.
  var charge: MemoryCharge?
  var discarded = 0

  init(target: UnsafePointer<CChar>) {
    targetPlace = target
    targetCount = strlen(target)
    let bytes = UnsafeRawBufferPointer(start: target, count: targetCount)
    self.target = bytes.allSatisfy(isTargetByte) ? String(decoding: bytes, as: UTF8.self) : ""
  }

  /// Appends what bytes of a chunked body hold to the body.
  mutating func decode(_ bytes: UnsafeRawBufferPointer, limit: Int) -> ChunkDecoder.Outcome {
    decoder?.decode(bytes, into: &body, limit: limit) ?? .malformed
  }

  /// Leaves the body to others, or to nobody.
  mutating func dropBody() {
    body = []
    charge = nil
  }
}
