// A stored value → its comparison key.
//
// SQLite lets a column hold any value. A column of dates may contain dates with a fraction or an
// offset, and texts that are not dates; in their stored form these compare incorrectly. So each
// value has a comparison key. A value of the column's type is written in the column's own encoding,
// so that all of them compare by their meaning. Any other value becomes bytes that sort after every
// value of the type. A value in the column's encoding is its own key, so an index over a column
// that holds only such values serves directly.

/// The encoding of a column's values, for types whose stored values SQLite does not compare by
/// their meaning.
public enum ColumnEncoding: Sendable, Hashable {
  /// Dates as text.
  case date(DateStyle)
  /// UUIDs as text or as 16 bytes.
  case uuid(UUIDStyle)
  /// Booleans as 0 and 1.
  case boolean
  /// Blobs.
  case binary
  /// Text in a column that may also hold numbers.
  case text
  /// JSON, in which `null` means nil.
  case json

  /// The format in which a column stores UUIDs.
  public enum UUIDStyle: String, Sendable, Hashable, CaseIterable { case bytes, upper, lower }

  /// The value compared in place of a stored value.
  public enum ComparisonKey: Sendable, Hashable {
    /// The stored value itself, which is in the column's encoding.
    case itself
    case null
    case text([UInt8])
    case binary([UInt8])
  }
}

extension ColumnEncoding {
  /// True if one value may be stored in several ways, so that constants compared with it need the
  /// same conversion.
  public var hasSeveralRepresentations: Bool {
    switch self {
    case .date, .uuid: true
    case .boolean, .binary, .text, .json: false
    }
  }
}

// MARK: - Comparison keys

extension ColumnEncoding {
  /// Returns the comparison key of a stored text. O(length).
  public func comparisonKey(forText utf8: UnsafeBufferPointer<UInt8>) -> ComparisonKey {
    switch self {
    case .date(let style):
      guard let date = Instant(comparable: utf8) else {
        return mistyped { $0.append(text: utf8, .ascending) }
      }
      let text = style.comparable(date)
      return text.elementsEqual(utf8) ? .itself : .text(text)
    case .uuid(let style):
      guard let uuid = UUIDText.bytes(of: utf8) else {
        return mistyped { $0.append(text: utf8, .ascending) }
      }
      if style == .bytes { return .binary(uuid) }
      let text = UUIDText.text(of: uuid, style)
      return text.elementsEqual(utf8) ? .itself : .text(text)
    case .boolean, .binary: return mistyped { $0.append(text: utf8, .ascending) }
    case .text: return .itself
    case .json: return Self.isNull(utf8) ? .null : .itself
    }
  }

  /// Returns the comparison key of a stored integer.
  public func comparisonKey(forInteger integer: Int64) -> ComparisonKey {
    switch self {
    case .json: .itself
    case .boolean where integer == 0 || integer == 1: .itself
    default: mistyped { $0.append(integer, .ascending) }
    }
  }

  /// Returns the comparison key of a stored double.
  public func comparisonKey(forDouble double: Double) -> ComparisonKey {
    self == .json ? .itself : mistyped { $0.append(double, .ascending) }
  }

  /// Returns the comparison key of stored binary. O(length).
  public func comparisonKey(forBinary bytes: UnsafeBufferPointer<UInt8>) -> ComparisonKey {
    switch self {
    case .binary, .json: return .itself
    case .uuid(let style) where bytes.count == 16:
      return style == .bytes ? .itself : .text(UUIDText.text(of: Array(bytes), style))
    default: return mistyped { $0.append(binary: bytes, .ascending) }
    }
  }

  /// True for `null`, which may have white space around it. O(length) of the white space.
  private static func isNull(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    let isSpace: (UInt8) -> Bool = { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    let word = utf8.drop(while: isSpace)
    return word.starts(with: "null".utf8) && word.dropFirst(4).allSatisfy(isSpace)
  }
}

// MARK: - Values of other types

extension ColumnEncoding {
  /// The prefix of a value of another type, which sorts it after every value of this type. Any blob
  /// sorts after text; for blobs the prefix is bytes that no stored value begins with.
  private var mistypedPrefix: [UInt8] {
    switch self {
    case .uuid(.bytes): [UInt8](repeating: 0xFF, count: 16)
    case .binary: [UInt8](repeating: 0xFF, count: 64)
    case .date, .uuid, .boolean, .text, .json: []
    }
  }

  private func mistyped(_ write: (inout OrderKeyEncoder) -> Void) -> ComparisonKey {
    .binary(mistypedPrefix + Self.mistypedComparisonKey(write))
  }

  /// Returns the comparison key, without a prefix, of a value of another type than its column's.
  public static func mistypedComparisonKey(_ write: (inout OrderKeyEncoder) -> Void) -> [UInt8] {
    var encoder = OrderKeyEncoder()
    write(&encoder)
    return encoder.bytes
  }

  /// The stored value, of another type than this column's, that `comparisonKey` represents; nil for
  /// the comparison key of a value of the column's type.
  public func mistypedValue(of comparisonKey: [UInt8]) -> OrderKeyDecoder.Component? {
    Self.mistypedValue(of: comparisonKey, after: mistypedPrefix)
  }

  /// As ``mistypedValue(of:)`` if only the column's type is known. A UUID column stores text or
  /// bytes: only the bytes have a prefix, so the comparison key tells which.
  public static func mistypedValue(
    of comparisonKey: [UInt8], _ type: AttributeType?
  ) -> OrderKeyDecoder.Component? {
    let prefix: [UInt8] =
      switch type {
      case .binary: Self.binary.mistypedPrefix
      case .uuid: Self.uuid(.bytes).mistypedPrefix
      default: []
      }
    let hasPrefix = comparisonKey.count > prefix.count && comparisonKey.starts(with: prefix)
    return mistypedValue(of: comparisonKey, after: type == .uuid && !hasPrefix ? [] : prefix)
  }

  private static func mistypedValue(
    of comparisonKey: [UInt8], after prefix: [UInt8]
  ) -> OrderKeyDecoder.Component? {
    guard comparisonKey.count > prefix.count, comparisonKey.starts(with: prefix) else { return nil }
    var decoder = OrderKeyDecoder(bytes: Array(comparisonKey[prefix.count...]))
    guard let value = decoder.decode(), decoder.isAtEnd, value != .null else { return nil }
    return value
  }
}

// MARK: - Numbers

extension ColumnEncoding {
  /// The encoding as a number, for SQL.
  public var code: Int64 {
    switch self {
    case .boolean: 1
    case .binary: 2
    case .text: 3
    case .json: 4
    case .uuid(.bytes): 5
    case .uuid(.upper): 6
    case .uuid(.lower): 7
    case .date(let style): 16 + style.code
    }
  }

  /// The encoding with this ``code``; nil without one.
  public init?(code: Int64) {
    switch code {
    case 1: self = .boolean
    case 2: self = .binary
    case 3: self = .text
    case 4: self = .json
    case 5: self = .uuid(.bytes)
    case 6: self = .uuid(.upper)
    case 7: self = .uuid(.lower)
    case 16...: self = .date(DateStyle(code: code - 16))
    default: return nil
    }
  }
}
