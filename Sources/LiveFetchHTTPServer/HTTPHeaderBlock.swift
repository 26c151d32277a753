// The header fields of one request in a single buffer. A field is allocated only when it is read,
// and the buffer outlives the connection.
//
// Names and values were validated by the request gate. Lookup ignores ASCII case; the order of
// arrival is kept.

import Glibc

/// Fields stored as (name length, value length, name, value), with lengths of two bytes.
struct HTTPHeaderBlock: Sendable {
  var storage: [UInt8] = []

  /// Bytes per field in addition to name and value.
  static let overhead = 4

  init() {}

  init(_ fields: [(name: String, value: String)]) {
    for field in fields {
      var (name, value) = field
      name.withUTF8 { name in value.withUTF8 { append(name, $0) } }
    }
  }

  /// Fields longer than 65,535 bytes are skipped; the request gate refuses them.
  mutating func append(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) {
    guard name.count <= 0xFFFF, value.count <= 0xFFFF else { return }
    storage.append(UInt8(truncatingIfNeeded: name.count))
    storage.append(UInt8(truncatingIfNeeded: name.count >> 8))
    storage.append(UInt8(truncatingIfNeeded: value.count))
    storage.append(UInt8(truncatingIfNeeded: value.count >> 8))
    storage.append(contentsOf: name)
    storage.append(contentsOf: value)
  }

  /// Reads the fields one after the other.
  private struct Reader {
    let bytes: UnsafeBufferPointer<UInt8>
    private var at = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func next() -> (name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>)? {
      guard at &+ HTTPHeaderBlock.overhead <= bytes.count else { return nil }
      let nameCount = Int(bytes[at]) | Int(bytes[at &+ 1]) << 8
      let valueCount = Int(bytes[at &+ 2]) | Int(bytes[at &+ 3]) << 8
      let name = at &+ HTTPHeaderBlock.overhead
      let value = name &+ nameCount
      at = value &+ valueCount
      guard at <= bytes.count else { return nil }
      return (
        UnsafeBufferPointer(rebasing: bytes[name..<value]),
        UnsafeBufferPointer(rebasing: bytes[value..<at])
      )
    }
  }

  /// Calls `visit` with each field. O(number of fields).
  private func forEach(
    _ visit: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
  ) {
    storage.withUnsafeBufferPointer { bytes in
      var reader = Reader(bytes)
      while let (name, value) = reader.next() { visit(name, value) }
    }
  }

  /// The first value of `name`.
  func first(_ name: String) -> String? {
    withFirst(name) { String(decoding: $0, as: UTF8.self) }
  }

  /// True if the first value of `name` equals `value`.
  func first(_ name: String, is value: String) -> Bool {
    var value = value
    return value.withUTF8 { searched in
      withFirst(name) { isSame($0, searched) } ?? false
    }
  }

  /// True if a value of `name` contains `part`, ignoring ASCII case. O(length of the values × length
  /// of the part).
  func has(_ name: String, containing part: String) -> Bool {
    var (name, part) = (name, part)
    var isFound = false
    name.withUTF8 { name in
      part.withUTF8 { part in
        forEach { candidate, value in
          guard !isFound, value.count >= part.count, equalsIgnoringCase(candidate, name) else {
            return
          }
          isFound = (0...value.count - part.count).contains { start in
            equalsIgnoringCase(
              UnsafeBufferPointer(rebasing: value[start..<start + part.count]), part)
          }
        }
      }
    }
    return isFound
  }

  private func withFirst<Result>(
    _ name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result? {
    var searched = name
    return searched.withUTF8 { searched in
      storage.withUnsafeBufferPointer { bytes in
        var reader = Reader(bytes)
        while let (candidate, value) = reader.next() {
          if equalsIgnoringCase(candidate, searched) { return body(value) }
        }
        return nil
      }
    }
  }

  /// All values of `name`, in order.
  func all(_ name: String) -> [String] {
    var found: [String] = []
    var searched = name
    searched.withUTF8 { searched in
      forEach { candidate, value in
        if equalsIgnoringCase(candidate, searched) {
          found.append(String(decoding: value, as: UTF8.self))
        }
      }
    }
    return found
  }

  /// All fields, in order.
  var fields: [(name: String, value: String)] {
    var found: [(name: String, value: String)] = []
    forEach { name, value in
      found.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
    }
    return found
  }
}

/// True if both buffers have equal bytes.
func isSame(
  _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
) -> Bool {
  guard left.count == right.count else { return false }
  guard let start = left.baseAddress, let other = right.baseAddress else { return left.isEmpty }
  return memcmp(start, other, left.count) == 0
}

/// True if both buffers are equal, ignoring the case of ASCII letters.
func equalsIgnoringCase(
  _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
) -> Bool {
  guard left.count == right.count else { return false }
  for index in 0..<left.count where asciiLowercase(left[index]) != asciiLowercase(right[index]) {
    return false
  }
  return true
}

/// The lower case of an ASCII letter; other bytes unchanged.
@inline(__always)
func asciiLowercase(_ byte: UInt8) -> UInt8 {
  byte &- 0x41 < 26 ? byte | 0x20 : byte
}
