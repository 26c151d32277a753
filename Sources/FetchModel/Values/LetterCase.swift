// Upper and lower case of whole texts, equal to Foundation's in the root locale.

import Bytes

extension String {
  /// The text in lower case. A sigma that ends a word becomes ς, which the standard library, letter
  /// by letter, does not see.
  package var lowercasedText: String { lowercasedText { false } }

  /// - Parameter isOver: asked now and then in a long text; where it says so, the rest is left out.
  package func lowercasedText(isOver: () -> Bool) -> String {
    guard unicodeScalars.contains("\u{3A3}") else {
      return mappedPiecewise(isOver) { $0.lowercased() }
    }
    let scalars = Array(unicodeScalars)
    var text = String.UnicodeScalarView()
    var isBehindLetter = false
    for (index, scalar) in scalars.enumerated() {
      if index % Interruption.steps == 0, index > 0, isOver() { break }
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

  /// The text in upper case.
  ///
  /// - Parameter isOver: asked now and then in a long text; where it says so, the rest is left out.
  package func uppercasedText(isOver: () -> Bool) -> String {
    mappedPiecewise(isOver) { $0.uppercased() }
  }

  /// What `map` makes of the text, a piece at a time: it takes letter by letter.
  private func mappedPiecewise(_ isOver: () -> Bool, _ map: (String) -> String) -> String {
    guard utf8.count > Interruption.steps else { return map(self) }
    var result = ""
    var rest = unicodeScalars[...]
    while !rest.isEmpty, !isOver() {
      let piece = rest.prefix(Interruption.steps)
      result += map(String(piece))
      rest = rest[piece.endIndex...]
    }
    return result
  }

  /// What has no case of its own, an apostrophe or a mark, does not end a word.
  private static func isBeforeLetter(_ rest: ArraySlice<Unicode.Scalar>) -> Bool {
    rest.first { !$0.properties.isCaseIgnorable }?.properties.isCased ?? false
  }
}
