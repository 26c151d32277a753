// Upper and lower case of whole texts, as Foundation has them in the root locale.

extension String {
  /// The text in lower case. A sigma that ends a word becomes ς, which the standard library, letter
  /// by letter, does not see.
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

  /// What has no case of its own, an apostrophe or a mark, does not end a word.
  private static func isBeforeLetter(_ rest: ArraySlice<Unicode.Scalar>) -> Bool {
    rest.first { !$0.properties.isCaseIgnorable }?.properties.isCased ?? false
  }
}
