// The header fields of one request in a single buffer. A field is allocated only when it is read,
// and the buffer outlives the connection.
//
// Names and values were validated by the request gate. Lookup ignores ASCII case; the order of
// arrival is kept.

/// Fields stored as (name length, value length, name, value), with lengths of two bytes.
struct HTTPHeaderBlock: Sendable {
  var storage: [UInt8] = []

  /// Bytes per field in addition to name and value.
  static let overhead = 4

  init() {}

  init(storage: [UInt8]) {
    self.storage = storage
  }

  init(_ fields: [(name: String, value: String)]) {
    for field in fields {
      append(name: Array(field.name.utf8), value: Array(field.value.utf8))
    }
  }

  /// Fields longer than 65,535 bytes are skipped; the request gate refuses them.
  private mutating func append(name: [UInt8], value: [UInt8]) {
    guard name.count <= 0xFFFF, value.count <= 0xFFFF else { return }
    for length in [name.count, value.count] {
      storage.append(UInt8(truncatingIfNeeded: length))
      storage.append(UInt8(truncatingIfNeeded: length >> 8))
    }
    storage += name
    storage += value
  }

  /// Calls `visit` with each field until it returns false. O(number of fields).
  func forEach(
    _ visit: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool
  ) {
    storage.withUnsafeBufferPointer { bytes in
      var at = 0
      while at &+ Self.overhead <= bytes.count {
        let nameCount = Int(bytes[at]) | Int(bytes[at &+ 1]) << 8
        let valueCount = Int(bytes[at &+ 2]) | Int(bytes[at &+ 3]) << 8
        let name = at &+ Self.overhead
        let value = name &+ nameCount
        let end = value &+ valueCount
        guard end <= bytes.count else { return }
        let goesOn = visit(
          UnsafeBufferPointer(rebasing: bytes[name..<value]),
          UnsafeBufferPointer(rebasing: bytes[value..<end]))
        guard goesOn else { return }
        at = end
      }
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

  /// True if the first value of `name` contains `part`, ignoring ASCII case. O(length of the value × length
  /// of the part).
  func first(_ name: String, contains part: String) -> Bool {
    var part = part
    return part.withUTF8 { part in
      withFirst(name) { value in
        value.count >= part.count
          && (0...value.count - part.count).contains { start in
            equalsIgnoringCase(
              UnsafeBufferPointer(rebasing: value[start..<start + part.count]), part)
          }
      } ?? false
    }
  }

  private func withFirst<Result>(
    _ name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result? {
    var found: Result?
    var searched = name
    searched.withUTF8 { searched in
      forEach { candidate, value in
        guard equalsIgnoringCase(candidate, searched) else { return true }
        found = body(value)
        return false
      }
    }
    return found
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
        return true
      }
    }
    return found
  }

  /// All fields, in order.
  var fields: [(name: String, value: String)] {
    var found: [(name: String, value: String)] = []
    forEach { name, value in
      found.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
      return true
    }
    return found
  }
}

/// True if both buffers have equal bytes.
private func isSame(
  _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
) -> Bool {
  guard left.count == right.count else { return false }
  for index in 0..<left.count where left[index] != right[index] { return false }
  return true
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
