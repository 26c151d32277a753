// The value of an `If-Match` header → a precondition (RFC 9110, section 13.1.1).

import Bytes

extension Precondition {
  /// Reads `*`, a list of entity tags in double quotes, or the `@etag` of an item; nil for anything
  /// else. A weak tag is well-formed and never matches. Empty elements of the list are passed over.
  public init?(ifMatch text: String) {
    if text == "*" {
      self = .present
      return
    }
    if text.utf8.count == 16, text.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }) {
      self = .etag([text])
      return
    }
    var rest = text[...].utf8
    var (strong, count): ([String], Int) = ([], 0)
    while true {
      rest = rest.drop { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
      if rest.isEmpty { break }
      guard let (tag, isWeak) = Self.parseTag(&rest) else { return nil }
      count += 1
      if !isWeak { strong.append(tag) }
    }
    guard count > 0 else { return nil }
    self = .etag(strong)
  }

  /// Removes a tag and the blanks after it; nil if there is none, or if neither a comma nor the
  /// end follows it.
  private static func parseTag(_ rest: inout Substring.UTF8View) -> (tag: String, isWeak: Bool)? {
    let isWeak = rest.starts(with: "W/".utf8)
    if isWeak { rest = rest.dropFirst(2) }
    let quote = UInt8(ascii: "\"")
    guard rest.first == quote else { return nil }
    let tag = rest.dropFirst().prefix { $0 > 0x20 && $0 != 0x7F && $0 != quote }
    rest = rest[tag.endIndex...]
    guard rest.popFirst() == quote else { return nil }
    rest = rest.drop(while: isBlank)
    guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return nil }
    return (String(decoding: tag, as: UTF8.self), isWeak)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
