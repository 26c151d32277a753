// Upper and lower case of whole texts, equal to Foundation's in the root locale.

import Bytes

extension String {
  /// The text in lower case. A sigma that ends a word becomes ς, which the standard library, letter
  /// by letter, does not see.
  package var lowercasedText: String { lowercasedText { false } }

  /// The text in lower case.
  ///
  /// - Parameter isCancelled: called now and then for a long text; if it returns true, the rest is
  ///   omitted.
  package func lowercasedText(isCancelled: () -> Bool) -> String {
    guard unicodeScalars.contains("\u{3A3}") else {
      return mappedPiecewise(isCancelled) { $0.lowercased() }
    }
    let scalars = Array(unicodeScalars)
    var text = String.UnicodeScalarView()
    var isAfterLetter = false
    for (index, scalar) in scalars.enumerated() {
      if index % Interruption.steps == 0, index > 0, isCancelled() { break }
      if scalar == "\u{3A3}" {
        let isFinal = isAfterLetter && !Self.isBeforeLetter(scalars[(index + 1)...])
        text.append(isFinal ? "\u{3C2}" : "\u{3C3}")
      } else {
        text.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
      }
      if !scalar.properties.isCaseIgnorable { isAfterLetter = scalar.properties.isCased }
    }
    return String(text)
  }

  /// The text in upper case.
  ///
  /// - Parameter isCancelled: called now and then for a long text; if it returns true, the rest is
  ///   omitted.
  package func uppercasedText(isCancelled: () -> Bool) -> String {
    mappedPiecewise(isCancelled) { $0.uppercased() }
  }

  /// The results of `map` for successive pieces of the text, joined. `map` must convert letter by
  /// letter.
  private func mappedPiecewise(_ isCancelled: () -> Bool, _ map: (String) -> String) -> String {
    guard utf8.count > Interruption.steps else { return map(self) }
    var result = ""
    var rest = unicodeScalars[...]
    while !rest.isEmpty, !isCancelled() {
      let piece = rest.prefix(Interruption.steps)
      result += map(String(piece))
      rest = rest[piece.endIndex...]
    }
    return result
  }

  /// True if a letter with case follows, after any case-ignorable characters such as apostrophes and
  /// combining marks.
  private static func isBeforeLetter(_ rest: ArraySlice<Unicode.Scalar>) -> Bool {
    rest.first { !$0.properties.isCaseIgnorable }?.properties.isCased ?? false
  }
}
