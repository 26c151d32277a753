// Searches a text for a sequence of bytes, for CONTAINS, in time linear in both for every input.

import Bytes
import LiveFetchCLibrary

/// Bytes to search for (Knuth, Morris and Pratt).
public struct ByteSearch: Sendable, Hashable {
  private let part: [UInt8]
  /// For each length of a matched prefix, the longest shorter one that is a suffix of it.
  private let shorter: [Int]

  /// - Parameter part: the bytes to search for; an empty array is found nowhere.
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

  /// Returns true if the bytes occur in `text`, at a range that `isWhole` accepts.
  ///
  /// - Parameter isCancelled: polled in a long text; once it returns true, the result is false.
  public func isFound(
    in text: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool = { false },
    where isWhole: (Range<Int>) -> Bool = { _ in true }
  ) -> Bool {
    withoutActuallyEscaping(isCancelled) { isCancelled in
      var interruption = Interruption(isCancelled)
      return end(in: text, &interruption, where: isWhole) != nil
    }
  }

  /// The end of the first occurrence in `text` at a range that `isWhole` accepts; nil if there is none.
  func end(
    in text: UnsafeBufferPointer<UInt8>, _ interruption: inout Interruption,
    where isWhole: (Range<Int>) -> Bool = { _ in true }
  ) -> Int? {
    guard let first = part.first, text.count >= part.count, let start = text.baseAddress else {
      return nil
    }
    var matched = 0
    var place = 0
    while place < text.count {
      if interruption.ends() { return nil }
      if matched == 0 {
        guard let found = memchr(start + place, Int32(first), text.count - place) else {
          return nil
        }
        place = UnsafeRawPointer(start).distance(to: UnsafeRawPointer(found))
      }
      let byte = text[place]
      while matched > 0, part[matched] != byte { matched = shorter[matched] }
      if part[matched] == byte { matched += 1 }
      place += 1
      if matched == part.count {
        if isWhole(place - matched..<place) { return place }
        matched = shorter[matched]
      }
    }
    return nil
  }
}
