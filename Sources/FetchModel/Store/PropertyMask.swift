// A set of an entity's properties in 64 bits. In an entity with more than 63 properties, several
// properties share a bit, so a mask may contain too many properties, but never too few.

/// A set of properties of one entity.
public struct PropertyMask: OptionSet, Sendable, Hashable {
  /// Bit n represents the properties whose number modulo 63 is n, attributes before relationships;
  /// bit 63 represents the existence.
  public let rawValue: UInt64
  /// Makes a mask of bits.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Every property, and the object's existence.
  public static let all = PropertyMask(rawValue: .max)
  /// The object's existence: set if it was inserted or deleted.
  public static let existence = PropertyMask(rawValue: 1 << 63)
}

extension Entity {
  /// Returns the mask of one property; for the id, which never changes, ``PropertyMask/existence``.
  public func mask(of property: Property) -> PropertyMask {
    switch property {
    case .id: .existence
    case .attribute(let index): PropertyMask(rawValue: 1 << UInt64(index % 63))
    case .relationship(let index):
      PropertyMask(rawValue: 1 << UInt64((attributes.count + index) % 63))
    }
  }
}
