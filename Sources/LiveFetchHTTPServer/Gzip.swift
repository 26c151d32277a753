// Compresses whole bodies to gzip members (RFC 1952) without a name and with time zero, so that
// equal bytes give equal members.

import CZlib

/// Gzip compression in memory.
public enum Gzip {
  /// A gzip member of `bytes`; nil beyond 2 GiB, or if zlib has no memory.
  ///
  /// - Parameter level: 1 (fastest) to 9 (smallest).
  public static func compress(_ bytes: [UInt8], level: Int = 6) -> [UInt8]? {
    guard bytes.count <= Int(UInt32.max) / 2 else { return nil }
    var stream = z_stream()
    let size = Int32(MemoryLayout<z_stream>.size)
    // The largest window, and the gzip format.
    let windowBits: Int32 = 15 + 16
    let level = Int32(min(max(level, 1), 9))
    guard
      deflateInit2_(
        &stream, level, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
    else { return nil }
    defer { deflateEnd(&stream) }
    let capacity = Int(deflateBound(&stream, UInt(bytes.count)))
    var isComplete = false
    let member = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
      isComplete = deflateAll(bytes, into: output, &stream)
      count = Int(stream.total_out)
    }
    guard isComplete else { return nil }
    // A copy without the room that was not needed.
    return member.count > capacity / 2 ? member : member.withUnsafeBufferPointer { Array($0) }
  }

  private static func deflateAll(
    _ bytes: [UInt8], into output: UnsafeMutableBufferPointer<UInt8>, _ stream: inout z_stream
  ) -> Bool {
    bytes.withUnsafeBufferPointer { input in
      // zlib does not write through this pointer.
      stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.avail_in = UInt32(input.count)
      stream.next_out = output.baseAddress
      stream.avail_out = UInt32(output.count)
      return deflate(&stream, Z_FINISH) == Z_STREAM_END
    }
  }
}
