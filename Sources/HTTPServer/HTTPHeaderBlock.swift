// The header fields of one request, copied once into one buffer: no field costs an allocation
// until it is asked for, and the values outlive the connection.
//
// Enters: field names and values that the gate found well-formed. Leaves: values by name,
// compared without regard to ASCII case, in the order of their arrival.

/// Header fields packed as (name length, value length, name, value), lengths in two bytes each.
struct HTTPHeaderBlock: Sendable {
  var storage: [UInt8] = []

  /// Bytes a field takes beside its name and its value.
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

  /// Fields longer than 65,535 bytes are left out; no request that passed the gate has one.
  private mutating func append(name: [UInt8], value: [UInt8]) {
    guard name.count <= 0xFFFF, value.count <= 0xFFFF else { return }
    for length in [name.count, value.count] {
      storage.append(UInt8(truncatingIfNeeded: length))
      storage.append(UInt8(truncatingIfNeeded: length >> 8))
    }
    storage += name
    storage += value
  }

  /// Calls `visit` with each field until it returns false. O(bytes of the lengths alone).
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

  /// The first value under `name`.
  func first(_ name: String) -> String? {
    withFirst(name) { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether the first value under `name` is `value`.
  func first(_ name: String, is value: String) -> Bool {
    var value = value
    return value.withUTF8 { wanted in
      withFirst(name) { isSame($0, wanted) } ?? false
    }
  }

  private func withFirst<Result>(
    _ name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result? {
    var found: Result?
    var wanted = name
    wanted.withUTF8 { wanted in
      forEach { candidate, value in
        guard equalsIgnoringCase(candidate, wanted) else { return true }
        found = body(value)
        return false
      }
    }
    return found
  }

  /// Every value under `name`, in order.
  func all(_ name: String) -> [String] {
    var found: [String] = []
    var wanted = name
    wanted.withUTF8 { wanted in
      forEach { candidate, value in
        if equalsIgnoringCase(candidate, wanted) {
          found.append(String(decoding: value, as: UTF8.self))
        }
        return true
      }
    }
    return found
  }

  /// Every field, in order.
  var fields: [(name: String, value: String)] {
    var found: [(name: String, value: String)] = []
    forEach { name, value in
      found.append((String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
      return true
    }
    return found
  }
}

/// Whether two runs of bytes are the same.
private func isSame(
  _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
) -> Bool {
  guard left.count == right.count else { return false }
  for index in 0..<left.count where left[index] != right[index] { return false }
  return true
}

/// Whether two runs of bytes are the same but for the case of ASCII letters.
func equalsIgnoringCase(
  _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
) -> Bool {
  guard left.count == right.count else { return false }
  for index in 0..<left.count where asciiLowercase(left[index]) != asciiLowercase(right[index]) {
    return false
  }
  return true
}

/// The byte, an ASCII capital as its small letter.
@inline(__always)
func asciiLowercase(_ byte: UInt8) -> UInt8 {
  byte &- 0x41 < 26 ? byte | 0x20 : byte
}
