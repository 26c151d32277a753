// Parses the `Range` header for a body (RFC 9110, section 14).

/// The part of a body that a `Range` header requests.
public enum ByteRange: Sendable, Equatable {
  /// No range, several, another unit or a malformed one: the whole body with status 200.
  case whole
  /// These bytes, with 206 and `Content-Range`.
  case part(Range<Int>)
  /// No byte of the body: status 416.
  case unsatisfiable

  /// - Parameters:
  ///   - header: the value of `Range`; nil if absent.
  ///   - count: the length of the body in bytes.
  public init(_ header: String?, count: Int) {
    guard let header, let bounds = Self.bounds(header) else {
      self = .whole
      return
    }
    switch bounds {
    case (nil, nil): self = .whole
    case (nil, let last?):
      self = last > 0 && count > 0 ? .part(max(0, count - last)..<count) : .unsatisfiable
    case (let first?, let last):
      if let last, last < first {
        self = .whole
      } else if first >= count {
        self = .unsatisfiable
      } else {
        self = .part(first..<(last.map { min($0, count - 1) + 1 } ?? count))
      }
    }
  }

  /// The value of `Content-Range`; nil for the whole body.
  public func contentRange(count: Int) -> String? {
    switch self {
    case .whole: nil
    case .part(let range): "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)"
    case .unsatisfiable: "bytes */\(count)"
    }
  }

  private static func bounds(_ header: String) -> (Int?, Int?)? {
    let parts = header.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let ends = parts[1].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    let numbers = ends.map { position($0.trimmingBlanks()) }
    guard let first = numbers[0], let last = numbers[1] else { return nil }
    return (first, last)
  }

  /// nil if the text is not a number or exceeds 10^15; an inner nil for an empty text.
  private static func position(_ text: Substring) -> Int?? {
    if text.isEmpty { return .some(nil) }
    guard text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return .some(text.utf8.count > 15 ? 1_000_000_000_000_000 : Int(text))
  }
}
