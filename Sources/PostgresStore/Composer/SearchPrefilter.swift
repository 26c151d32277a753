// A text to search for → a regular expression that matches every text which contains it, and few others.
// PostgreSQL tests it in a tenth of the time that it needs to fold a text.

import FetchModel
import Patterns

/// A necessary condition for CONTAINS, BEGINSWITH and ENDSWITH with an option.
///
/// Folding keeps an ASCII character, except for its case. It maps a non-ASCII character to nothing, to one
/// character, or to several non-ASCII ones; `expanding` lists the exceptions. So each ASCII character of the
/// folded part matches itself or a non-ASCII character, and only non-ASCII characters lie between them.
/// Without `d`, folding makes one non-ASCII character of a letter and its combining mark.
enum SearchPrefilter {
  /// The longest part in bytes for which there is an expression.
  private static let longest = 200

  private static let other = #"\u0080-\U0010FFFF"#

  /// The characters that fold to several with an ASCII character among them.
  private static let expanding = CaseFolding.expanding.map(String.init).joined()

  /// Returns nil without options, and for a part that has more than 200 bytes or folds to nothing.
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
