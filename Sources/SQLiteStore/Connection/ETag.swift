// Computes the ETag of a row: the FNV-1a hash of its stored values, as 16 hexadecimal digits. It is
// computed in Swift over a statement's row, and in SQL as livefetch_etag(…). Both hash the same bytes.

import Bytes
import FetchModel
import LiveFetchCSQLite

/// Hashes stored values in order.
struct ETagHasher {
  // The first byte of each value.
  private static let (integer, double, text, binary, null): (UInt8, UInt8, UInt8, UInt8, UInt8) =
    (1, 2, 3, 4, 5)
  private var hash = FNV1a64()

  /// An integer and a double of equal value have the same hash, because clients cannot distinguish
  /// them.
  mutating func combine(_ value: OpaquePointer?) {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: combine(Self.integer, word: UInt64(bitPattern: sqlite3_value_int64(value)))
    case SQLITE_FLOAT:
      let double = sqlite3_value_double(value)
      if let integer = Int64(exactly: double) {
        combine(Self.integer, word: UInt64(bitPattern: integer))
      } else {
        combine(Self.double, word: double.bitPattern)
      }
    case SQLITE_TEXT:
      combine(Self.text, sqlite3_value_text(value), count: sqlite3_value_bytes(value))
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)?.assumingMemoryBound(to: UInt8.self)
      combine(Self.binary, start, count: sqlite3_value_bytes(value))
    default: hash.combine(Self.null)
    }
  }

  private mutating func combine(_ tag: UInt8, word: UInt64) {
    hash.combine(tag)
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      hash.combine(UInt8(truncatingIfNeeded: word >> shift))
    }
  }

  private mutating func combine(_ tag: UInt8, _ start: UnsafePointer<UInt8>?, count: Int32) {
    combine(tag, word: UInt64(count))
    hash.combine(UnsafeBufferPointer(start: start, count: Int(count)))
  }

  /// 16 lower-case hexadecimal digits.
  var text: String {
    // Without leading zeros.
    let hex = hash.text
    return String(repeating: "0", count: 16 - hex.count) + hex
  }
}

/// Registers `livefetch_etag(…)` with a connection. It takes any number of values and never returns
/// NULL.
func registerETag(on handle: OpaquePointer) {
  let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
  sqlite3_create_function_v2(
    handle, "livefetch_etag", -1, flags, nil,
    { context, count, values in
      var hasher = ETagHasher()
      for index in 0..<Int(count) {
        guard RunningQuery.admits(values?[index], context) else { return }
        hasher.combine(values?[index])
      }
      sqlite3_result_text(context, hasher.text, 16, transient)
    }, nil, nil, nil)
}

extension Statement {
  /// The ETag of columns of the current row.
  func etag(_ columns: Range<Int32>) -> String {
    var hasher = ETagHasher()
    for column in columns { hasher.combine(sqlite3_column_value(pointer, column)) }
    return hasher.text
  }
}
