// Where an object stands in an order, as bytes that compare like the order itself.
//
// A key is the encoded values of the section term (if any), the sort terms and the id, one after
// the other. Each component is self-delimiting and compares bytewise exactly as the store's ORDER
// BY does, so an order needs no typed comparison once its keys are made.

/// An object's place in one order: compares bytewise.
public struct OrderKey: Sendable, Hashable, Comparable {
  /// The encoded components, section first, id last.
  public let bytes: [UInt8]
  /// How many bytes at the front say which section the object stands in; 0 without sections.
  public let sectionLength: UInt32
  /// Where the id's component begins.
  public let idOffset: UInt32

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

  /// The bytes that every key of the same section begins with; empty without sections.
  public var section: ArraySlice<UInt8> { bytes[0..<Int(sectionLength)] }

  /// The place of another object with the same values.
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
  /// Whether these bytes come before `other`'s, as memcmp and then the shorter first.
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
