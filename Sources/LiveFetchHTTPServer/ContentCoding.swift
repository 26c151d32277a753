// Chooses the content coding of a response from `Accept-Encoding` (RFC 9110, section 12.5.3).

/// The supported codings.
public enum ContentCoding: Sendable, Equatable {
  case identity
  case gzip

  /// gzip if it is accepted and not less preferred than identity, otherwise identity, even if
  /// neither is accepted: a response is more useful than status 406.
  ///
  /// - Parameter acceptEncoding: the header's values joined by commas; nil if absent.
  public static func preferred(_ acceptEncoding: String?) -> ContentCoding {
    guard let acceptEncoding else { return .identity }
    var gzip: Int?
    var identity: Int?
    var rest: Int?
    for element in acceptEncoding.split(separator: ",") {
      let parts = element.split(separator: ";", omittingEmptySubsequences: false)
      let weight = weight(parts.dropFirst())
      switch parts[0].trimmingBlanks().lowercased() {
      case "gzip", "x-gzip": gzip = weight
      case "identity": identity = weight
      case "*": rest = weight
      default: break
      }
    }
    let gzipWeight = gzip ?? rest ?? 0
    // If identity is not named, it is acceptable and least preferred.
    let identityWeight = identity ?? (rest == 0 ? 0 : 1)
    return gzipWeight > 0 && gzipWeight >= identityWeight ? .gzip : .identity
  }

  /// The `q` parameter in thousandths; 1000 if absent, 0 if malformed.
  private static func weight(_ parameters: ArraySlice<Substring>) -> Int {
    for parameter in parameters {
      let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, pair[0].trimmingBlanks().lowercased() == "q" else { continue }
      return thousandths(pair[1].trimmingBlanks())
    }
    return 1000
  }

  private static func thousandths(_ text: Substring) -> Int {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let digits = parts.count > 1 ? parts[1] : ""
    guard parts.count <= 2, parts[0] == "0" || parts[0] == "1", digits.utf8.count <= 3,
      digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }),
      let fraction = Int((digits + "000").prefix(3))
    else { return 0 }
    return parts[0] == "1" ? 1000 : fraction
  }
}

extension Substring {
  /// The text without leading and trailing blanks and tabs.
  func trimmingBlanks() -> Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
