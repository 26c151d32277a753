// The digest of a snapshot (`digest=true`), computed from section values and ids.

import Bytes

/// The digest of a snapshot: a sum over its items, so that an edit updates it in O(1).
public struct Digest: Sendable, Hashable {
  /// The sum of the items' hashes, modulo 2^32.
  public private(set) var sum: UInt32 = 0

  /// Makes the digest of an empty result.
  public init() {}

  /// Adds an item. O(bytes).
  ///
  /// - Parameters:
  ///   - section: the JSON of the section's value.
  ///   - previous: the JSON of the preceding id in the section; empty for the first item.
  ///   - id: the JSON of the item's id.
  public mutating func add(section: [UInt8], previous: [UInt8], id: [UInt8]) {
    sum &+= Self.hash(section: section, previous: previous, id: id)
  }

  /// Removes an item that was added with the same arguments. O(bytes).
  public mutating func subtract(section: [UInt8], previous: [UInt8], id: [UInt8]) {
    sum &-= Self.hash(section: section, previous: previous, id: id)
  }

  /// Eight hex digits.
  public var text: String {
    let digits = String(sum, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  /// - Parameters:
  ///   - section: the JSON of the section's value.
  ///   - previous: the JSON of the id before it in the section, empty for the first.
  ///   - id: the JSON of the item's own id.
  private static func hash(section: [UInt8], previous: [UInt8], id: [UInt8]) -> UInt32 {
    var hash = FNV1a32()
    hash.combine(section)
    hash.combine(CollectionOfOne(0x1F))
    hash.combine(previous)
    hash.combine(CollectionOfOne(0x1E))
    hash.combine(id)
    return hash.value
  }
}
