// A text to search for → a regular expression that every text with it matches, and few others. PostgreSQL
// tests it in a tenth of the time that it needs to fold a text.

import FetchModel
import Patterns

/// A necessary condition for CONTAINS, BEGINSWITH and ENDSWITH with an option.
///
/// Folding leaves a character of ASCII in its place, except for its case. It makes each other character
/// nothing, one character, or several that are not ASCII; only a few become several with ASCII among them.
/// So each character of ASCII of the folded part stands in the text as it is or for another one, and between
/// them there are only others. Without `d`, a letter of ASCII and the mark after it become one such other.
enum SearchLikeness {
  /// The longest part in bytes for which there is an expression.
  private static let longest = 200

  private static let other = #"\u0080-\U0010FFFF"#

  /// Characters that fold to several.
  private static let expanding = CaseFolding.expanding.map(String.init).joined()

  /// Returns nil if there is none.
  static func expression(of part: String, _ options: StringOptions) -> String? {
    guard !options.folding.isEmpty, part.utf8.count <= longest else { return nil }
    let others =
      options.contains(.diacriticInsensitive) ? "[\(other)]" : #"(?:[\u0001-\u007F]?[\#(other)])"#
    var pieces: [String] = []
    var isOther = false
    for scalar in Folding.fold(part, options).unicodeScalars {
      if scalar.isASCII {
        pieces.append("[\(cases(of: UInt8(scalar.value), options))\(other)]")
      } else if !isOther {
        pieces.append(others)
      }
      isOther = !scalar.isASCII
    }
    guard !pieces.isEmpty else { return nil }
    return "[\(expanding)]|" + pieces.joined(separator: "\(others)*")
  }

  /// Escapes a character and, if its case is ignored, the same letter in upper case.
  private static func cases(of byte: UInt8, _ options: StringOptions) -> String {
    let isLetter = byte &- 0x61 < 26
    let bytes = isLetter && options.contains(.caseInsensitive) ? [byte, byte - 0x20] : [byte]
    return bytes.map { byte in
      #"\u00"# + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }
}
