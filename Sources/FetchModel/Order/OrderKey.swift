// An object's position in an order, as bytes whose bytewise order is the order itself.
//
// A key is the concatenation of the encoded section term (if any), sort terms and id. Each
// component is self-delimiting and compares bytewise exactly like the store's ORDER BY. So keys
// need no typed comparison.

/// An object's position in an order. Compares bytewise.
public struct OrderKey: Sendable, Hashable, Comparable {
  /// The encoded components, section first, id last.
  public let bytes: [UInt8]
  /// The length of the prefix that identifies the object's section; 0 without sections.
  public let sectionLength: UInt32
  /// The offset of the id's component.
  public let idOffset: UInt32

  /// Makes an order key.
  public init(bytes: [UInt8], sectionLength: UInt32, idOffset: UInt32) {
    self.bytes = bytes
    self.sectionLength = sectionLength
    self.idOffset = idOffset
  }

  @inlinable
  public static func == (left: OrderKey, right: OrderKey) -> Bool { left.bytes == right.bytes }

  @inlinable
  public static func < (left: OrderKey, right: OrderKey) -> Bool {
    left.bytes.precedes(right.bytes)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// The common prefix of all keys of the section; empty without sections.
  public var section: ArraySlice<UInt8> { bytes[0..<Int(sectionLength)] }

  /// The position before all objects.
  public static let beginning = OrderKey(bytes: [], sectionLength: 0, idOffset: 0)

  /// Returns the position of another object with the same values.
  public func with(id: ObjectID) -> OrderKey {
    var encoder = OrderKeyEncoder(bytes: Array(bytes[..<Int(idOffset)]))
    encoder.append(id)
    return OrderKey(bytes: encoder.bytes, sectionLength: sectionLength, idOffset: idOffset)
  }

  /// The id at the key's end.
  public var id: ObjectID {
    var decoder = OrderKeyDecoder(bytes: bytes, offset: Int(idOffset))
    return decoder.decodeID()
  }
}

extension [UInt8] {
  /// True if these bytes precede `other`'s: memcmp, then the shorter one first.
  @inlinable
  public func precedes(_ other: [UInt8]) -> Bool {
    withUnsafeBufferPointer { left in
      other.withUnsafeBufferPointer { right in
        let common = Swift.min(left.count, right.count)
        var index = 0
        while index < common {
          let (a, b) = (left[index], right[index])
          if a != b { return a < b }
          index &+= 1
        }
        return left.count < right.count
      }
    }
  }
}
