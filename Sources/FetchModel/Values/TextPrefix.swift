// BEGINSWITH as a range of texts.

/// The upper bound of the texts with a prefix.
public enum TextPrefix {
  /// Returns the smallest text greater than every text that begins with `prefix`: its last code
  /// point is incremented. nil without such a text.
  public static func successor(of prefix: String) -> String? {
    var scalars = Array(prefix.unicodeScalars)
    while let last = scalars.popLast() {
      let next: UInt32 = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      scalars.append(scalar)
      var text = ""
      text.unicodeScalars.append(contentsOf: scalars)
      return text
    }
    return nil
  }
}
