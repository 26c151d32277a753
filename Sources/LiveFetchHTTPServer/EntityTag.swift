// Entity tags in conditional requests (RFC 9110, section 13.1).

import Bytes

/// Compares entity tags with `If-None-Match` and `If-Match`.
public enum EntityTag {
  /// Weak comparison: true if `condition`, a list or `*`, contains `tag`, ignoring `W/` prefixes. A
  /// malformed value contains nothing.
  ///
  /// - Parameter tag: quoted, as in an `ETag` header.
  public static func ifNoneMatch(_ condition: String, names tag: String) -> Bool {
    tags(condition).contains { $0 == "*" || opaque($0) == opaque(tag[...]) }
  }

  /// Strong comparison: weak tags never match.
  public static func ifMatch(_ condition: String, names tag: String) -> Bool {
    tags(condition).contains { $0 == "*" || ($0 == tag && !$0.hasPrefix("W/")) }
  }

  /// The elements of the list; a comma inside quotes belongs to a tag.
  private static func tags(_ list: String) -> [Substring] {
    var tags: [Substring] = []
    var isQuoted = false
    let utf8 = list.utf8
    var start = utf8.startIndex
    for index in utf8.indices {
      switch utf8[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ",") where !isQuoted:
        tags.append(list[start..<index].trimmingBlanks())
        start = utf8.index(after: index)
      default: break
      }
    }
    tags.append(list[start...].trimmingBlanks())
    return tags.filter { !$0.isEmpty }
  }

  private static func opaque(_ tag: Substring) -> Substring {
    tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
  }

  /// A strong tag: the length and the 64-bit FNV-1a hash of the bytes, in hexadecimal.
  public static func strong(_ bytes: [UInt8], suffix: String = "") -> String {
    var hash = FNV1a64()
    hash.combine(bytes)
    return "\"\(String(bytes.count, radix: 16))-\(hash.text)\(suffix)\""
  }
}
