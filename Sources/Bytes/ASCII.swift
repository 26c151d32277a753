// The kinds of ASCII bytes.

/// Checks single bytes.
public enum ASCII {
  /// True for `0` to `9`.
  @inlinable
  public static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  /// True for `a` to `z`.
  @inlinable
  public static func isLowercase(_ byte: UInt8) -> Bool { byte &- 0x61 < 26 }

  /// True for `A` to `Z`.
  @inlinable
  public static func isUppercase(_ byte: UInt8) -> Bool { byte &- 0x41 < 26 }
}
