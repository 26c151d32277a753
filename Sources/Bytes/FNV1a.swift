// The FNV-1a hashes of 32 and of 64 bits: bytes → number, the same in every process and every language.

/// Hashes bytes one after the other to 32 bits. O(bytes).
public struct FNV1a: Sendable, Hashable {
  public var value: UInt32 = 0x811C_9DC5

  @inlinable
  public init() {}

  @inlinable
  public mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
  }

  @inlinable
  public mutating func combine(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 0x0100_0193 }
}

/// Hashes bytes one after the other to 64 bits. O(bytes).
public struct WideFNV1a: Sendable, Hashable {
  public var value: UInt64

  /// - Parameter start: the value before the first byte; hashes with different ones differ.
  @inlinable
  public init(start: UInt64 = 0xCBF2_9CE4_8422_2325) { value = start }

  @inlinable
  public mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
  }

  @inlinable
  public mutating func combine(_ byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
  }

  /// The value in hexadecimal digits, without leading zeros.
  public var text: String { String(value, radix: 16) }
}
