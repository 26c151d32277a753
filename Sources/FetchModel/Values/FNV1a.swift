// The FNV-1a hash of 32 bits: bytes → number, the same in every process and every language.

/// Hashes bytes one after the other.
public struct FNV1a: Sendable, Hashable {
  public private(set) var value: UInt32 = 0x811C_9DC5

  public init() {}

  @inlinable
  public mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { combine(byte) }
  }

  @usableFromInline
  mutating func combine(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 0x0100_0193 }
}
