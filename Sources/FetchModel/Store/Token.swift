// A position in a store's history, in the form that clients receive.

/// A token: the store's epoch, a position in its history, and the nonce stored with that position.
///
/// The nonce distinguishes restored or copied files, and files that lost their last commits, from
/// the file that the client knows. As text: `k3-1042-00009f3c`.
public struct Token: Sendable, Hashable {
  /// The history that the position belongs to.
  public let epoch: String
  /// The state that the token names.
  public let position: HistoryPosition
  /// A random number that a position of another history does not share.
  public let nonce: UInt32

  /// Makes a token.
  public init(epoch: String, position: HistoryPosition, nonce: UInt32) {
    self.epoch = epoch
    self.position = position
    self.nonce = nonce
  }

  /// The most bytes of a token's text. PostgreSQL's transactions in progress need a few bytes each.
  private static let longestText = 8192

  /// Parses a token's text; nil if it is not well-formed.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.longestText, parts.count == 3,
      !parts[0].isEmpty, parts[0].utf8.allSatisfy(Self.isEpochByte),
      let position = HistoryPosition(parts[1]),
      parts[2].utf8.count == 8, parts[2].utf8.allSatisfy(Self.isEpochByte),
      let nonce = UInt32(parts[2], radix: 16)
    else { return nil }
    self.init(epoch: String(parts[0]), position: position, nonce: nonce)
  }

  private static func isEpochByte(_ byte: UInt8) -> Bool {
    (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7A)
  }
}

extension Token {
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
    text.append(0x2D)
    for shift in stride(from: 28, through: 0, by: -4) {
      let digit = UInt8(truncatingIfNeeded: nonce >> UInt32(shift)) & 15
      text.append(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
