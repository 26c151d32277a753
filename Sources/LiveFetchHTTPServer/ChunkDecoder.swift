// The bytes of a chunked body (RFC 9112, section 7.1) → the body.
//
// Used if libmicrohttpd 0.9.75 does not recognize a body as chunked. Trailers are dropped.

import Bytes

/// Decodes one chunked body, piece by piece.
struct ChunkDecoder {
  enum Outcome: Equatable {
    case incomplete
    /// The last chunk was read. Bytes after it are ignored.
    case complete
    case malformed
    case tooLarge
  }

  private enum State {
    case size
    case sizeExtension
    case sizeEnd
    case data
    case dataEnd
    case lineEnd
    case trailerStart
    case trailer
    case trailerEnd
    case end
  }

  private static let maxDigits = 15
  private static let maxTrailerBytes = 8192

  private var state = State.size
  private var digits = 0
  /// The bytes of the current chunk that have not arrived yet.
  private var remaining = 0
  private var extraBytes = 0

  /// Appends the body's part of `bytes` to `body`, of at most `limit` bytes in total.
  mutating func decode(
    _ bytes: UnsafeRawBufferPointer, into body: inout [UInt8], limit: Int
  ) -> Outcome {
    var rest = bytes[...]
    while let byte = rest.first {
      if state == .data {
        let count = min(remaining, rest.count)
        guard count <= limit - body.count else { return .tooLarge }
        body.append(contentsOf: rest.prefix(count))
        rest = rest.dropFirst(count)
        remaining -= count
        if remaining == 0 { state = .dataEnd }
        continue
      }
      guard step(byte) else { return .malformed }
      if state == .end { return .complete }
      rest.removeFirst()
    }
    return .incomplete
  }

  /// Processes one byte that is not data. Returns false if it is malformed.
  private mutating func step(_ byte: UInt8) -> Bool {
    let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    switch state {
    case .size:
      if let digit = Hexadecimal.value(of: byte) { return addDigit(Int(digit)) }
      guard digits > 0 else { return false }
      if byte == cr { return go(.sizeEnd) }
      return [UInt8(ascii: ";"), 0x20, 0x09].contains(byte) && go(.sizeExtension)
    case .sizeExtension: return byte == cr ? go(.sizeEnd) : byte != lf && countExtra()
    case .sizeEnd:
      digits = 0
      return byte == lf && go(remaining == 0 ? .trailerStart : .data)
    case .dataEnd: return byte == cr && go(.lineEnd)
    case .lineEnd: return byte == lf && go(.size)
    case .trailerStart:
      if byte == lf { return go(.end) }
      return byte == cr ? go(.trailerEnd) : go(.trailer) && countExtra()
    case .trailer: return byte == lf ? go(.trailerStart) : countExtra()
    case .trailerEnd: return byte == lf && go(.end)
    case .data, .end: return false
    }
  }

  private mutating func go(_ next: State) -> Bool {
    state = next
    return true
  }

  private mutating func addDigit(_ digit: Int) -> Bool {
    digits += 1
    guard digits <= Self.maxDigits else { return false }
    remaining = remaining << 4 | digit
    return true
  }

  private mutating func countExtra() -> Bool {
    extraBytes += 1
    return extraBytes <= Self.maxTrailerBytes
  }
}
