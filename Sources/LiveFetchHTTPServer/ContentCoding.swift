// Chooses the content coding of a response from `Accept-Encoding` (RFC 9110, section 12.5.3).

/// A content coding of a response body.
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
    for (name, weight) in WeightedList.elements(of: acceptEncoding) {
      switch name {
      case "gzip", "x-gzip": gzip = weight
      case "identity": identity = weight
      case "*": rest = weight
      default: break
      }
    }
    let gzipWeight = gzip ?? rest ?? 0
    // If identity is not named, it is least preferred, and acceptable unless `*;q=0` excludes it.
    let identityWeight = identity ?? (rest == 0 ? 0 : 1)
    return gzipWeight > 0 && gzipWeight >= identityWeight ? .gzip : .identity
  }
}
