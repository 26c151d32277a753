// One pass over the header fields of a request.
//
// Input: the fields as libmicrohttpd found them. Output: their copy, the framing of the body, and
// the first error in them.

import CMicrohttpd

/// Collects, checks and copies header fields.
struct HeaderScan {
  /// The address at which the next field must begin, if the layout is checked.
  private(set) var cursor: UnsafePointer<CChar>
  private let checksLayout: Bool
  private let maxCount: Int
  private var copiesFields = false
  private var count = 0
  /// The copy of the fields.
  private(set) var fields = HTTPHeaderBlock()
  private(set) var problem: HTTPProblem?
  private(set) var admission = RequestGate.Admission()
  private(set) var hostCount = 0
  /// The name in the first `Host`. Points into libmicrohttpd's buffer.
  private(set) var hostName: UnsafeBufferPointer<UInt8>?
  private(set) var lengthCount = 0
  /// The fields of ``singular`` that the request has.
  private var found: UInt8 = 0
  private(set) var transferEncodingCount = 0

  /// Fields of which a second one would be ignored or change what the first one means.
  private static let singular: [StaticString] = [
    "authorization", "content-encoding", "content-type", "last-event-id",
  ]

  init(cursor: UnsafePointer<CChar>, checksLayout: Bool, maxCount: Int) {
    self.cursor = cursor
    self.checksLayout = checksLayout
    self.maxCount = maxCount
  }

  /// Visits every field.
  ///
  /// - Parameter headSize: the bytes of the head; nil to copy no field.
  mutating func collect(_ connection: OpaquePointer, headSize: Int?) {
    copiesFields = headSize != nil
    fields.storage.reserveCapacity(headSize ?? 0)
    withUnsafeMutablePointer(to: &self) { scan in
      _ = chttp_each_header(connection, visitHeader, scan)
    }
  }

  /// Checks and copies one field. Returns true to continue.
  fileprivate mutating func visit(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    count += 1
    guard count <= maxCount else {
      problem = .headersTooLarge("A request may have at most \(maxCount) header fields.")
      return false
    }
    guard !isRefused else { return true }
    if checksLayout, !checkPlace(name, value) {
      problem = .badRequest("A header line is folded, does not end in CRLF, or holds a NUL.")
    } else if name.isEmpty || !name.allSatisfy(isTokenByte) {
      problem = .badRequest("A header name is not a token right before its colon.")
    } else if !value.allSatisfy(isFieldByte) {
      problem = .badRequest("A header value holds a control character.")
    }
    let trimmedValue = trimmed(value)
    recordField(name, trimmedValue)
    if copiesFields { fields.append(name, trimmedValue) }
    if checksLayout, admission.isChunked, value.last.map(isBlank) ?? false,
      equals(name, "transfer-encoding")
    {
      admission.decodesChunks = true
    }
    return true
  }

  /// Checks that the name begins directly after the previous line, and that only blanks are
  /// between the colon's place and the value.
  private mutating func checkPlace(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard let nameStart = name.baseAddress, let valueStart = value.baseAddress else { return false }
    let expected = UnsafeRawPointer(cursor)
    let gapStart = nameStart + name.count + 1
    cursor = UnsafeRawPointer(valueStart + value.count + 2).assumingMemoryBound(to: CChar.self)
    return UnsafeRawPointer(nameStart) == expected && gapStart <= valueStart
      && UnsafeBufferPointer(start: gapStart, count: valueStart - gapStart).allSatisfy(isBlank)
  }

  /// Records the fields that determine the framing of the message. Their lengths are compared
  /// first.
  private mutating func recordField(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) {
    switch name.count {
    case 4 where equals(name, "host"):
      let hostName = HostNames.name(of: value)
      hostCount += 1
      if hostCount == 1 { self.hostName = hostName }
      if hostName == nil || !value.allSatisfy(isHostByte) {
        refuse("The host is not a name with a port.")
      }
    case 6 where equals(name, "expect"):
      admission.expectsContinue = admission.expectsContinue || equals(value, "100-continue")
    case 14 where equals(name, "content-length"):
      lengthCount += 1
      admission.contentLength = number(value)
      if admission.contentLength == nil { refuse("Content-Length is not a number.") }
    case 17 where equals(name, "transfer-encoding"):
      transferEncodingCount += 1
      admission.isChunked = equals(value, "chunked")
    case 12, 13, 16: recordSingular(name)
    default: break
    }
  }

  private mutating func recordSingular(_ name: UnsafeBufferPointer<UInt8>) {
    guard let index = Self.singular.firstIndex(where: { equals(name, $0) }) else { return }
    if found >> index & 1 == 1 { refuse("\(Self.singular[index]) is given more than once.") }
    found |= 1 << index
  }

  private mutating func refuse(_ detail: String) {
    if !isRefused { problem = .badRequest(detail) }
  }

  /// A comparison of the problem with nil would copy it.
  private var isRefused: Bool { if case .some = problem { true } else { false } }
}

private func visitHeader(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind,
  _ name: UnsafePointer<CChar>?, _ nameCount: Int,
  _ value: UnsafePointer<CChar>?, _ valueCount: Int
) -> MHD_Result {
  guard let scan = context?.assumingMemoryBound(to: HeaderScan.self) else { return chttp_no }
  let goesOn = scan.pointee.visit(asBytes(name, nameCount), asBytes(value, valueCount))
  return goesOn ? chttp_yes : chttp_no
}

private func asBytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> UnsafeBufferPointer<UInt8> {
  UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
    .assumingMemoryBound(to: UInt8.self)
}

private func trimmed(_ value: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
  guard let first = value.firstIndex(where: { !isBlank($0) }),
    let last = value.lastIndex(where: { !isBlank($0) })
  else { return UnsafeBufferPointer(rebasing: value[..<0]) }
  return UnsafeBufferPointer(rebasing: value[first...last])
}

private func equals(_ bytes: UnsafeBufferPointer<UInt8>, _ word: StaticString) -> Bool {
  equalsIgnoringCase(
    bytes, UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
}

/// A decimal number of at most 18 digits and nothing else.
private func number(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64? {
  guard (1...18).contains(bytes.count) else { return nil }
  var number: UInt64 = 0
  for byte in bytes {
    guard byte &- 0x30 < 10 else { return nil }
    number = number &* 10 &+ UInt64(byte &- 0x30)
  }
  return number
}

@inline(__always)
private func isBlank(_ byte: UInt8) -> Bool {
  byte == 0x20 || byte == 0x09
}

/// True for every byte except control characters; bytes beyond ASCII are opaque.
@inline(__always)
private func isFieldByte(_ byte: UInt8) -> Bool {
  byte >= 0x20 && byte != 0x7F || byte == 0x09
}

/// True for the bytes of host names, IP literals and ports.
@inline(__always)
func isHostByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: ":"):
    true
  case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"),
    UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "%"), UInt8(ascii: "!"),
    UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","), UInt8(ascii: ";"),
    UInt8(ascii: "="):
    true
  default: false
  }
}
