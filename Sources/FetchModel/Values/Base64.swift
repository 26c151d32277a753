// Binary as base64 text: the standard alphabet for values, the URL-safe one for cursors and JWTs.

import Foundation

/// The characters for 62 and 63, and whether the text is padded.
public enum Base64Alphabet: Sendable, Hashable {
  /// `+` and `/`, padded with `=`.
  case standard
  /// `-` and `_`, not padded.
  case urlSafe
}

extension [UInt8] {
  /// Appends the base64 text of `bytes`.
  public mutating func append(base64 bytes: some Sequence<UInt8>, _ alphabet: Base64Alphabet) {
    let text = Data(bytes).base64EncodedData()
    switch alphabet {
    case .standard: append(contentsOf: text)
    case .urlSafe:
      let digits = text.prefix { $0 != UInt8(ascii: "=") }
      append(
        contentsOf: digits.map { digit in
          switch digit {
          case UInt8(ascii: "+"): UInt8(ascii: "-")
          case UInt8(ascii: "/"): UInt8(ascii: "_")
          default: digit
          }
        })
    }
  }

  /// Decodes `text`; nil if it is not complete, canonical base64 in `alphabet`.
  public init?(base64 text: String, _ alphabet: Base64Alphabet) {
    var padded = text
    if alphabet == .urlSafe {
      guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
      padded = text.replacing("-", with: "+").replacing("_", with: "/")
      padded += String(repeating: "=", count: (4 - padded.utf8.count % 4) % 4)
    }
    // Foundation accepts texts that are not canonical.
    guard let data = Data(base64Encoded: padded), data.base64EncodedString() == padded else {
      return nil
    }
    self.init(data)
  }
}
