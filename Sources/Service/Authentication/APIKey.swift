// The text of an API key: `lf_`, eight characters that identify it, 32 random characters.

import LiveFetchHTTPServer

/// A new API key, whose text is shown once.
package struct APIKey: Sendable {
  package static let prefix = "lf_"
  private static let idLength = 8
  private static let secretLength = 32
  /// Base 32, in lower case; each character holds five random bits.
  private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  /// The whole key, as clients send it.
  package let text: String

  /// Creates a key with a random id and a secret of 160 random bits.
  package init() {
    var generator = SystemRandomNumberGenerator()
    let characters = (0..<Self.idLength + Self.secretLength).map { _ in
      Self.alphabet[Int.random(in: 0..<32, using: &generator)]
    }
    text = Self.prefix + String(decoding: characters, as: UTF8.self)
  }

  /// The part of the key that is no secret.
  package var id: String { Self.id(of: text) ?? "" }

  /// The SHA-256 of the key.
  package var digest: [UInt8] { SHA256Digest(of: text.utf8).bytes }

  /// The id in the text of a key; nil if the text does not have a key's form.
  static func id(of text: String) -> String? {
    let utf8 = text.utf8
    guard utf8.count == prefix.utf8.count + idLength + secretLength, text.hasPrefix(prefix) else {
      return nil
    }
    return String(text.dropFirst(prefix.count).prefix(idLength))
  }
}
