// A value with its storage class. Equality and order are the store's: numbers by value, text and
// blobs by bytes, nil before numbers before text before blobs.

/// A value as SQLite stores it.
///
/// An integer equals a double of exactly the same value. Text is compared by bytes, not by
/// canonical equivalence as Swift's strings are.
public enum StoredValue: Sendable {
  case null
  case integer(Int64)
  /// NaN, which PostgreSQL alone stores, is equal to itself and the greatest number.
  case double(Double)
  case text(String)
  case blob([UInt8])
}

extension StoredValue {
  /// True for an integer and for a double.
  public var isNumber: Bool {
    switch self {
    case .integer, .double: true
    case .null, .text, .blob: false
    }
  }

  /// Compares in the store's order: negative, 0 or positive.
  public func compared(to other: StoredValue) -> Int {
    switch (self, other) {
    case (.integer(let left), .integer(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.double(let left), .double(let right)):
      left < right
        ? -1 : left == right ? 0 : left.isNaN ? (right.isNaN ? 0 : 1) : right.isNaN ? -1 : 1
    case (.integer(let left), .double(let right)): Self.compare(left, right)
    case (.double(let left), .integer(let right)): -Self.compare(right, left)
    case (.text(let left), .text(let right)): left.comparedBytes(to: right)
    case (.blob(let left), .blob(let right)): left.comparedBytes(to: right)
    default: classRank - other.classRank
    }
  }

  /// The rank of its storage class.
  private var classRank: Int {
    switch self {
    case .null: 0
    case .integer, .double: 1
    case .text: 2
    case .blob: 3
    }
  }

  /// Exact, also for integers that a double cannot represent.
  private static func compare(_ integer: Int64, _ double: Double) -> Int {
    if double >= 0x1p63 || double.isNaN { return -1 }
    if double < -0x1p63 { return 1 }
    let whole = Int64(double.rounded(.towardZero))
    if integer != whole { return integer < whole ? -1 : 1 }
    let rest = double - Double(whole)
    return rest > 0 ? -1 : rest < 0 ? 1 : 0
  }
}

extension StoredValue: Hashable, Comparable {
  public static func == (left: StoredValue, right: StoredValue) -> Bool {
    left.compared(to: right) == 0
  }

  public static func < (left: StoredValue, right: StoredValue) -> Bool {
    left.compared(to: right) < 0
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let integer): hasher.combine(integer)
    case .double(let double):
      if let integer = Int64(exactly: double) {
        hasher.combine(integer)
      } else {
        hasher.combine(double)
      }
    case .text(let text): hasher.combine(exactly: text)
    case .blob(let bytes): hasher.combine(bytes)
    }
  }
}

extension String {
  /// Compares the UTF-8 bytes of two texts; a prefix sorts first.
  fileprivate func comparedBytes(to other: String) -> Int {
    let order = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in left.comparedBytes(to: right) }
    }
    return (order ?? nil) ?? Array(utf8).comparedBytes(to: Array(other.utf8))
  }
}

extension [UInt8] {
  fileprivate func comparedBytes(to other: [UInt8]) -> Int {
    withUnsafeBufferPointer { left in
      other.withUnsafeBufferPointer { right in left.comparedBytes(to: right) }
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func comparedBytes(to other: UnsafeBufferPointer<UInt8>) -> Int {
    let common = Swift.min(count, other.count)
    var index = 0
    while index < common {
      if self[index] != other[index] { return self[index] < other[index] ? -1 : 1 }
      index &+= 1
    }
    return count - other.count
  }
}
