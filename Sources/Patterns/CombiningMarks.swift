// Letters with their combining marks: the offsets at which a part of a text may begin and end.

package enum CombiningMarks {
  /// True if `range` of `text`, which is UTF-8, neither begins nor ends between a letter and a mark
  /// that belongs to it.
  package static func areWhole(_ range: Range<Int>, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    (range.lowerBound == 0 || !isMark(at: range.lowerBound, in: text))
      && !isMark(at: range.upperBound, in: text)
  }

  private static func isMark(at place: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    // The first mark is U+0300.
    guard place < text.count, text[place] >= 0xCC else { return false }
    var decoder = UTF8()
    var bytes = text[place...].makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return false }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return true
    default: return false
    }
  }
}
