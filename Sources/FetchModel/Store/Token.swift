// A position in a store's history, in the form that clients receive.

import Bytes

/// A token: the store's epoch, a position in its history, and the nonce stored with that position.
///
/// The nonce distinguishes restored or copied files, and files that lost their last commits, from
/// the file that the client knows. As text: `k3-1042-00009f3c`, and with the tag of a caller's access
/// rules `k3-1042-00009f3c-5d01c2a4`.
public struct Token: Sendable, Hashable {
  /// The name of the history that the position belongs to: one or more of a–z and 0–9.
  public let epoch: String
  /// The last position of the history that the state contains.
  public let position: HistoryPosition
  /// The random number that the store wrote with the position.
  public let nonce: UInt32
  /// The ``CallerAccess/tokenTag`` of the caller that it was given to; nil if no access rules apply to
  /// that caller. Stores and the live engine use tokens without tags.
  public let tag: UInt32?

  /// Makes a token.
  public init(epoch: String, position: HistoryPosition, nonce: UInt32, tag: UInt32? = nil) {
    self.epoch = epoch
    self.position = position
    self.nonce = nonce
    self.tag = tag
  }

  /// The maximum size of a token's text. A position in PostgreSQL lists the transactions in progress, with
  /// a few bytes for each.
  private static let maxTextBytes = 8192

  /// Parses a token's text; nil if it is not well-formed.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.maxTextBytes, parts.count == 3 || parts.count == 4,
      !parts[0].isEmpty, parts[0].utf8.allSatisfy(Self.isLowercaseOrDigit),
      let position = HistoryPosition(parts[1]), let nonce = Self.number(parts[2])
    else { return nil }
    var tag: UInt32?
    if parts.count == 4 {
      guard let number = Self.number(parts[3]) else { return nil }
      tag = number
    }
    self.init(epoch: String(parts[0]), position: position, nonce: nonce, tag: tag)
  }

  /// Reads eight lowercase hexadecimal digits; nil for any other text.
  private static func number(_ digits: Substring) -> UInt32? {
    guard digits.utf8.count == 8, digits.utf8.allSatisfy(isLowercaseOrDigit) else { return nil }
    return UInt32(digits, radix: 16)
  }

  private static func isLowercaseOrDigit(_ byte: UInt8) -> Bool {
    (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7A)
  }
}

extension Token {
  /// Returns the same token with `tag` in place of its own, as the caller with that tag receives it.
  public func tagged(_ tag: UInt32?) -> Token {
    Token(epoch: epoch, position: position, nonce: nonce, tag: tag)
  }

  /// The token of a store without a history.
  package static let untracked = Token(epoch: "r", position: HistoryPosition(0), nonce: 0)
}

extension Token: CustomStringConvertible {
  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(64)
    text.append(contentsOf: epoch.utf8)
    text.append(0x2D)
    text.append(contentsOf: position.description.utf8)
    text.append(tokenPart: nonce)
    if let tag { text.append(tokenPart: tag) }
    return String(decoding: text, as: UTF8.self)
  }
}

extension [UInt8] {
  /// Appends a hyphen and eight hexadecimal digits.
  mutating func append(tokenPart number: UInt32) {
    append(0x2D)
    for shift in stride(from: 28, through: 0, by: -4) {
      append(Hexadecimal.digit(UInt8(truncatingIfNeeded: number >> UInt32(shift)) & 15))
    }
  }
}
