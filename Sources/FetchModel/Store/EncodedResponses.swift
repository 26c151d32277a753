// Snapshots and diffs as bytes that are sent, and the places of their tokens, to which the tag of the
// caller's access rules is added.

/// A response as JSON, and the token of its state.
public struct EncodedSnapshot: Sendable {
  /// The response body as UTF-8.
  public let json: [UInt8]
  /// The position of the history that the body refers to.
  public let token: Token
  /// The number of items; nil if the snapshot is a count.
  public let count: Int?
  /// The number of bytes of `json` before the end of the token's text.
  private let tokenEnd: Int

  /// Makes an encoded snapshot.
  ///
  /// - Parameter tokenEnd: the number of bytes of `json` before the end of the token's text.
  public init(json: [UInt8], token: Token, tokenEnd: Int, count: Int? = nil) {
    self.json = json
    self.token = token
    self.tokenEnd = tokenEnd
    self.count = count
  }

  /// Returns the body with a tagged token: see ``Token/tag``.
  public func json(tag: UInt32?) -> [UInt8] { json.taggingToken(endingAt: tokenEnd, tag) }
}

/// A diff as JSON, with the tokens that it leads from and to.
public struct EncodedDiff: Sendable, Hashable {
  /// The response body as UTF-8.
  public let json: [UInt8]
  /// The position that the diff leads to.
  public let to: Token
  /// True if the wait ended without a change.
  public let isEmpty: Bool
  /// The number of items that the diff lists, or of dictionaries that it sends whole; 0 for a count.
  public let itemCount: Int
  /// The numbers of bytes of `json` before the ends of the tokens' texts.
  private let (fromEnd, toEnd): (Int, Int)

  /// Makes an encoded diff.
  ///
  /// - Parameters:
  ///   - fromEnd: the number of bytes of `json` before the end of the text of `from`.
  ///   - toEnd: the same for `to`, which follows `from`.
  public init(
    json: [UInt8], to: Token, isEmpty: Bool, itemCount: Int = 0, fromEnd: Int, toEnd: Int
  ) {
    self.json = json
    self.to = to
    self.isEmpty = isEmpty
    self.itemCount = itemCount
    (self.fromEnd, self.toEnd) = (fromEnd, toEnd)
  }

  /// Returns the body with tagged tokens: see ``Token/tag``.
  public func json(tags: TokenTags) -> [UInt8] {
    json.taggingToken(endingAt: toEnd, tags.to).taggingToken(endingAt: fromEnd, tags.from)
  }
}

/// The tags of the tokens in a diff.
public struct TokenTags: Sendable, Hashable {
  /// The tag of the token that the client has given.
  public var from: UInt32?
  /// The tag of the tokens that the client is given.
  public let to: UInt32?

  /// Makes the tags of a diff.
  public init(from: UInt32?, to: UInt32?) {
    self.from = from
    self.to = to
  }
}

extension [UInt8] {
  /// Returns JSON with `tag` added to the token whose text ends at `end`.
  fileprivate func taggingToken(endingAt end: Int, _ tag: UInt32?) -> [UInt8] {
    guard let tag else { return self }
    var json: [UInt8] = []
    json.reserveCapacity(count + 9)
    json.append(contentsOf: self[..<end])
    json.append(tokenPart: tag)
    json.append(contentsOf: self[end...])
    return json
  }
}
