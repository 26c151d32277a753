// The FNV-1a hashes of 32 and 64 bits, which are equal in every process and language.

/// Computes the 32-bit hash of a sequence of bytes.
public struct FNV1a32: Sendable, Hashable {
  /// The hash of the bytes so far.
  public var value: UInt32 = 0x811C_9DC5

  /// Makes the hash of no bytes.
  @inlinable
  public init() {}

  /// Adds bytes. O(count).
  @inlinable
  public mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
  }

  /// Adds a byte.
  @inlinable
  public mutating func combine(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 0x0100_0193 }
}

/// Computes the 64-bit hash of a sequence of bytes.
public struct FNV1a64: Sendable, Hashable {
  /// The hash of the bytes so far.
  public var value: UInt64

  /// - Parameter start: The initial value. Different initial values give different hashes.
  @inlinable
  public init(start: UInt64 = 0xCBF2_9CE4_8422_2325) { value = start }

  /// Adds bytes. O(count).
  @inlinable
  public mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
  }

  /// Adds a byte.
  @inlinable
  public mutating func combine(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
  }

  /// Hexadecimal digits without leading zeros.
  public var text: String { String(value, radix: 16) }
}
