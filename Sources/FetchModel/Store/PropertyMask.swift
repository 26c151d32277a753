// Which properties of an entity, in 64 bits. Entities with more than 63 properties share bits: a
// mask may then say too much, never too little.

/// A set of properties of one entity.
public struct PropertyMask: OptionSet, Sendable, Hashable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Every property, and whether the object is there at all.
  public static let all = PropertyMask(rawValue: .max)
  /// Whether the object is there: what those changed that came or went.
  public static let existence = PropertyMask(rawValue: 1 << 63)
}

extension Entity {
  /// The mask of one property; of the id, which never changes, that of the object's existence.
  public func mask(of property: Property) -> PropertyMask {
    switch property {
    case .id: .existence
    case .attribute(let index): PropertyMask(rawValue: 1 << UInt64(index % 63))
    case .relationship(let index):
      PropertyMask(rawValue: 1 << UInt64((attributes.count + index) % 63))
    }
  }
}
