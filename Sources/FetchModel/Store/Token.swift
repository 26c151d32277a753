// A position in a store's history, in the form that clients receive.

import Bytes

/// A token: the store's epoch, a position in its history, and the nonce stored with that position.
///
/// The nonce distinguishes restored or copied files, and files that lost their last commits, from
/// the file that the client knows. As text: `k3-1042-00009f3c`, and with the tag of a caller's access
/// rules `k3-1042-00009f3c-5d01c2a4`.
public struct Token: Sendable, Hashable {
  /// The history that the position belongs to.
  public let epoch: String
  /// The state that the token names.
  public let position: HistoryPosition
  /// A random number that a position of another history does not share.
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

  /// The maximum number of bytes of a token's text. PostgreSQL's transactions in progress need a few bytes each.
  private static let longestText = 8192

  /// Parses a token's text; nil if it is not well-formed.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.longestText, parts.count == 3 || parts.count == 4,
      !parts[0].isEmpty, parts[0].utf8.allSatisfy(Self.isEpochByte),
      let position = HistoryPosition(parts[1]), let nonce = Self.number(parts[2])
    else { return nil }
    var tag: UInt32?
    if parts.count == 4 {
      guard let number = Self.number(parts[3]) else { return nil }
      tag = number
    }
    self.init(epoch: String(parts[0]), position: position, nonce: nonce, tag: tag)
  }

  /// Reads eight hexadecimal digits.
  private static func number(_ digits: Substring) -> UInt32? {
    guard digits.utf8.count == 8, digits.utf8.allSatisfy(isEpochByte) else { return nil }
    return UInt32(digits, radix: 16)
  }

  private static func isEpochByte(_ byte: UInt8) -> Bool {
    (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7A)
  }
}

extension Token {
  /// Returns the token as a caller with these access rules receives it.
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
