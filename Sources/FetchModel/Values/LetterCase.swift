// Upper and lower case of whole texts, equal to Foundation's in the root locale.

extension String {
  /// The text in lower case. A sigma at the end of a word becomes ς; the standard library, which
  /// maps each letter separately, does not do this.
  package var lowercasedText: String {
    guard unicodeScalars.contains("\u{3A3}") else { return lowercased() }
    let scalars = Array(unicodeScalars)
    var text = String.UnicodeScalarView()
    var isBehindLetter = false
    for (index, scalar) in scalars.enumerated() {
      if scalar == "\u{3A3}" {
        let isFinal = isBehindLetter && !Self.isBeforeLetter(scalars[(index + 1)...])
        text.append(isFinal ? "\u{3C2}" : "\u{3C3}")
      } else {
        text.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
      }
      if !scalar.properties.isCaseIgnorable { isBehindLetter = scalar.properties.isCased }
    }
    return String(text)
  }

  /// A character without case, such as an apostrophe or a mark, does not end a word.
  private static func isBeforeLetter(_ rest: ArraySlice<Unicode.Scalar>) -> Bool {
    rest.first { !$0.properties.isCaseIgnorable }?.properties.isCased ?? false
  }
}
