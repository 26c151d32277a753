// A raw request target → its text without the numbers of `where`, and the numbers.
//
//     /v1/objects/City?where=population+%3E%3D+1000000&limit=50
//     /v1/objects/City?where=population+%3E%3D+␀&limit=50        [1000000]
//
// Bytes are decoded only to find the ends of string literals. A number that is not extracted stays
// in the text. So targets with equal text and different numbers have the same bytes except for the
// digits.

import Bytes
import FetchModel

/// A request target, split into its text without numbers and the numbers.
public struct NormalizedTarget: Sendable {
  /// The target with NUL, which no target holds, in place of each number.
  public let text: String
  /// The numbers in order of appearance: integers and doubles.
  public let numbers: [Value]

  /// Splits a request target: path and query, as they came. O(bytes).
  public init(_ target: String) {
    var extractor = LiteralExtractor()
    var target = target
    text = target.withUTF8 { bytes in
      String(unsafeUninitializedCapacity: bytes.count) { extractor.extract(bytes, into: $0) }
    }
    numbers = extractor.numbers
  }

  /// The target again, with other numbers.
  func target(with numbers: [String]) -> String {
    var rest = numbers[...]
    return text.utf8.split(separator: 0, omittingEmptySubsequences: false)
      .map { String(Substring($0)) + (rest.popFirst() ?? "") }.joined()
  }
}

/// Copies a target, leaving out numbers.
private struct LiteralExtractor {
  /// The maximum number of digits of an extracted number; more might not fit into an integer.
  private static let maxDigits = 18
  /// The maximum number of extracted numbers.
  private static let maxNumbers = 32

  private(set) var numbers: [Value] = []
  /// The quote that ends the string literal at the current offset; nil outside of literals.
  private var quote: UInt8?
  /// The byte before the current offset, decoded.
  private var previous: UInt8 = 0x20

  mutating func extract(
    _ bytes: UnsafeBufferPointer<UInt8>, into text: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    var count = 0
    var at = 0
    let predicate = Self.predicate(in: bytes)
    while at < bytes.count {
      var end = at + 1
      var extracted = false
      if predicate.contains(at) { (end, extracted) = step(bytes[..<predicate.upperBound], at) }
      if extracted {
        text[count] = 0
        count += 1
      } else {
        while at < end {
          text[count] = bytes[at]
          count += 1
          at += 1
        }
      }
      at = end
    }
    return count
  }

  /// The range of the value of `where`; empty if there is none or its name is percent-encoded.
  private static func predicate(in bytes: UnsafeBufferPointer<UInt8>) -> Range<Int> {
    let name: StaticString = "where="
    let size = name.utf8CodeUnitCount
    let word = UnsafeBufferPointer(start: name.utf8Start, count: size)
    var at = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
    while at + size < bytes.count {
      let start = at + 1 + size
      let next = bytes[(at + 1)...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
      if start <= next, bytes[(at + 1)..<start].elementsEqual(word) { return start..<next }
      at = next
    }
    return 0..<0
  }

  /// The end of the token at `start`, and true if it is a number that was extracted.
  private mutating func step(
    _ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ start: Int
  ) -> (end: Int, extracted: Bool) {
    if quote == nil, Self.isDigit(bytes[start]), !Self.continues(previous) {
      let end = Self.endOfNumber(bytes, start)
      previous = UInt8(ascii: "0")
      return (end, extract(bytes[start..<end], before: Self.decoded(bytes, end).byte))
    }
    let (byte, end) = Self.decoded(bytes, start)
    trackQuotes(byte)
    return (end, false)
  }

  /// Records where string literals begin and end.
  private mutating func trackQuotes(_ byte: UInt8) {
    if quote != nil, previous == UInt8(ascii: "\\") {
      previous = 0x20
      return
    }
    if let open = quote {
      if byte == open { quote = nil }
    } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
      quote = byte
    }
    previous = byte
  }

  private mutating func extract(
    _ digits: Slice<UnsafeBufferPointer<UInt8>>, before next: UInt8
  ) -> Bool {
    guard digits.count <= Self.maxDigits, !Self.continues(next), numbers.count < Self.maxNumbers,
      let number = Self.number(digits)
    else { return false }
    numbers.append(number)
    return true
  }

  private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Value? {
    guard !digits.contains(UInt8(ascii: ".")) else {
      return Double(String(decoding: digits, as: UTF8.self)).map { .double($0) }
    }
    return .integer(digits.reduce(0) { $0 &* 10 &+ Int64($1 &- 0x30) })
  }

  /// Digits, and a point between digits.
  private static func endOfNumber(
    _ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ start: Int
  ) -> Int {
    var end = start
    while end < bytes.endIndex, isDigit(bytes[end]) { end += 1 }
    guard end + 1 < bytes.endIndex, bytes[end] == UInt8(ascii: "."), isDigit(bytes[end + 1])
    else { return end }
    end += 1
    while end < bytes.endIndex, isDigit(bytes[end]) { end += 1 }
    return end
  }

  /// The byte at `start`, decoded, and its end. At the end of the value the byte is a space.
  private static func decoded(
    _ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ start: Int
  ) -> (byte: UInt8, end: Int) {
    guard start < bytes.endIndex else { return (0x20, start) }
    let byte = bytes[start]
    if byte == UInt8(ascii: "%"), start + 2 < bytes.endIndex,
      let high = Hexadecimal.value(of: bytes[start + 1]),
      let low = Hexadecimal.value(of: bytes[start + 2])
    {
      return (high << 4 | low, start + 3)
    }
    return (byte == UInt8(ascii: "+") ? 0x20 : byte, start + 1)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  /// True if digits next to `byte` may belong to a longer word.
  private static func continues(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "."), 0x80...0xFF,
      UInt8(ascii: "#")...UInt8(ascii: "%"), UInt8(ascii: "@"), UInt8(ascii: "\\"):
      true
    default: false
    }
  }
}
