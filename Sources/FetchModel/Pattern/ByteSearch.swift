// CONTAINS: one run of bytes within another, in time linear in both whatever they are.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// Bytes to search for (Knuth, Morris and Pratt).
public struct ByteSearch: Sendable {
  private let part: [UInt8]
  /// For each length of a matched prefix, the longest shorter one that is a suffix of it.
  private let shorter: [Int]

  /// - Parameter part: what is searched for; an empty one is found nowhere.
  public init(_ part: [UInt8]) {
    self.part = part
    var shorter = [0, 0]
    var length = 0
    for byte in part.dropFirst() {
      while length > 0, part[length] != byte { length = shorter[length] }
      if part[length] == byte { length += 1 }
      shorter.append(length)
    }
    self.shorter = shorter
  }

  /// Whether the bytes stand somewhere in `text`, at a range that `isWhole` accepts.
  public func isFound(
    in text: UnsafeBufferPointer<UInt8>, where isWhole: (Range<Int>) -> Bool = { _ in true }
  ) -> Bool {
    guard let first = part.first, text.count >= part.count, let start = text.baseAddress else {
      return false
    }
    var matched = 0
    var place = 0
    while place < text.count {
      if matched == 0 {
        guard let found = memchr(start + place, Int32(first), text.count - place) else {
          return false
        }
        place = UnsafeRawPointer(start).distance(to: UnsafeRawPointer(found))
      }
      let byte = text[place]
      while matched > 0, part[matched] != byte { matched = shorter[matched] }
      if part[matched] == byte { matched += 1 }
      place += 1
      if matched == part.count {
        if isWhole(place - matched..<place) { return true }
        matched = shorter[matched]
      }
    }
    return false
  }
}
