// Converts stored values of dates, UUIDs and similar by column encoding.

extension StoredValue {
  /// The comparison key of this value in a column with `encoding`.
  func comparisonKey(_ encoding: ColumnEncoding) -> StoredValue {
    switch self {
    case .null: .null
    case .integer(let integer): value(encoding.comparisonKey(forInteger: integer))
    case .double(let double): value(encoding.comparisonKey(forDouble: double))
    case .text(var text): text.withUTF8 { value(encoding.comparisonKey(forText: $0)) }
    case .blob(let bytes):
      bytes.withUnsafeBufferPointer { value(encoding.comparisonKey(forBinary: $0)) }
    }
  }

  private func value(_ comparisonKey: ColumnEncoding.ComparisonKey) -> StoredValue {
    switch comparisonKey {
    case .itself: self
    case .null: .null
    case .text(let utf8): .text(String(decoding: utf8, as: UTF8.self))
    case .binary(let bytes): .blob(bytes)
    }
  }

  /// A UUID as text; any other value unchanged.
  var uuidText: StoredValue {
    guard case .blob(let bytes) = self, bytes.count == 16 else { return self }
    return .text(String(decoding: UUIDText.text(of: bytes), as: UTF8.self))
  }

  // MARK: Dates

  /// A stored date in any format as seconds since 1970; any other value sorts after every number.
  var seconds: StoredValue {
    switch self {
    case .null, .integer, .double: self
    case .text(var text):
      instant.map { .double($0.secondsSince1970) }
        ?? text.withUTF8 { utf8 in .mistyped { $0.append(text: utf8, .ascending) } }
    case .blob(let bytes):
      bytes.withUnsafeBufferPointer { bytes in .mistyped { $0.append(binary: bytes, .ascending) } }
    }
  }

  /// A stored date as seconds since 2001; null if it is not a date.
  var secondsSinceReference: StoredValue {
    let seconds = double ?? instant?.secondsSince1970
    return seconds.map { .number($0 - Instant.referenceDate) } ?? .null
  }

  /// A stored date as ISO 8601 text; null if it is not a date.
  var dateText: StoredValue {
    let instant: Instant? =
      switch self {
      case .integer(let seconds): Instant(seconds: seconds)
      case .double(let seconds): Instant(secondsSince1970: seconds)
      case .text: self.instant
      case .null, .blob: nil
      }
    return instant.map { .text($0.iso8601) } ?? .null
  }

  private var instant: Instant? {
    guard case .text(var text) = self else { return nil }
    return text.withUTF8 { Instant(comparable: $0) }
  }

  private static func mistyped(_ write: (inout OrderKeyEncoder) -> Void) -> StoredValue {
    .blob(ColumnEncoding.mistypedComparisonKey(write))
  }
}
