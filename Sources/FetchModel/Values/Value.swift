// Values as clients and predicates use them, independent of their storage.

/// A typed value of an attribute. Each store converts it to its columns' representation.
public enum Value: Sendable, Hashable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case date(Instant)
  case binary([UInt8])
  /// JSON text, for columns declared JSON.
  case json(String)
  /// The id of an object, for comparisons with `SELF` and to-one relationships.
  case id(ObjectID)
}

/// The permanent identifier of an object, unique in its entity.
///
/// A composite key is text: its parts joined by commas, with `%` and `,` percent-encoded in each
/// part.
public enum ObjectID: Sendable, Hashable, Comparable {
  case integer(Int64)
  case text(String)

  public static func < (left: ObjectID, right: ObjectID) -> Bool {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left < right
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    case (.integer, .text): true
    case (.text, .integer): false
    }
  }
}

extension ObjectID: CustomStringConvertible {
  public var description: String {
    switch self {
    case .integer(let id): String(id)
    case .text(let id): id
    }
  }
}

/// A point in time in UTC: whole seconds since 1970 and nanoseconds after them (0..<1_000_000_000).
public struct Instant: Sendable, Hashable, Comparable {
  /// The seconds since 1970-01-01T00:00:00Z.
  public let seconds: Int64
  /// The nanoseconds after ``seconds``, 0..<1_000_000_000.
  public let nanoseconds: Int32

  /// Makes an instant.
  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  public static func < (left: Instant, right: Instant) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}
