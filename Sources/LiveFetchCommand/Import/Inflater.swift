// Compressed bytes → the bytes that were compressed.

import CZlib

/// Decompresses gzip with any number of members, in pieces.
final class Inflater {
  private var stream = z_stream()
  private let isReady: Bool
  /// True inside a member.
  private(set) var isInsideMember = false

  init() {
    let size = Int32(MemoryLayout<z_stream>.size)
    isReady = inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, size) == Z_OK
  }

  deinit { inflateEnd(&stream) }

  /// Decompresses `bytes`, until ``ByteSource/pieceSize`` bytes or more were appended to `output`.
  /// Returns the number of bytes that were decompressed.
  func inflate(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) throws(ReadError) -> Int {
    guard isReady else {
      throw ReadError(detail: "no memory to decompress with", status: .failed)
    }
    var input = bytes
    let start = output.count
    while !input.isEmpty, output.count - start < ByteSource.pieceSize {
      let (taken, code) = step(input, into: &output)
      input = input.dropFirst(taken)
      isInsideMember = code != Z_STREAM_END
      if code == Z_STREAM_END {
        inflateReset(&stream)
      } else if code != Z_OK && (code != Z_BUF_ERROR || taken == 0) {
        throw ReadError(detail: "the compressed data is damaged")
      }
    }
    return bytes.count - input.count
  }

  private func step(_ input: ArraySlice<UInt8>, into output: inout [UInt8]) -> (Int, Int32) {
    let room = ByteSource.pieceSize
    let start = output.count
    output.append(contentsOf: repeatElement(0, count: room))
    var code = Z_OK
    var left = input.count
    input.withUnsafeBufferPointer { source in
      output.withUnsafeMutableBufferPointer { target in
        // zlib does not write through this pointer.
        stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
        stream.avail_in = UInt32(source.count)
        stream.next_out = target.baseAddress?.advanced(by: start)
        stream.avail_out = UInt32(room)
        code = CZlib.inflate(&stream, Z_NO_FLUSH)
        left = Int(stream.avail_in)
      }
    }
    output.removeLast(Int(stream.avail_out))
    return (input.count - left, code)
  }
}
