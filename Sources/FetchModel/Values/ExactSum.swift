// Numbers in any order → their exact sum, rounded once at the end. The result does not depend on
// the order of the rows, so that equal rows at two history positions have equal sums.

/// A sum of integers and doubles, in memory that is initially zero.
///
/// Integers are stored in two halves. Doubles are stored in a fixed-point number wide enough for
/// every double: limbs of 32 bits in 64, with the lowest bit worth 2⁻¹⁰⁷⁴.
public struct ExactSum {
  /// The required number of words of memory.
  public static let words = Word.limbs + limbCount
  private static let limbCount = 69
  private let memory: UnsafeMutableBufferPointer<Int64>

  /// The indexes of the words of memory; the limbs are the last ones.
  private enum Word {
    static let count = 0
    static let hasDouble = 1
    static let high = 2
    static let low = 3
    static let infinity = 4
    static let negativeInfinity = 5
    static let limbs = 6
  }

  /// - Parameter memory: ``words`` zeroed words that outlive this value.
  public init(_ memory: UnsafeMutablePointer<Int64>) {
    self.memory = UnsafeMutableBufferPointer(start: memory, count: Self.words)
  }

  private init(_ memory: UnsafeMutableBufferPointer<Int64>) { self.memory = memory }

  /// The count of added numbers.
  public var count: Int64 { memory[Word.count] }
  /// True if one of them was a double.
  private var hasDouble: Bool { memory[Word.hasDouble] != 0 }
  private var limbs: UnsafeMutableBufferPointer<Int64> {
    UnsafeMutableBufferPointer(rebasing: memory[Word.limbs...])
  }

  /// Adds an integer.
  public func add(_ integer: Int64) {
    memory[Word.count] &+= 1
    memory[Word.high] &+= integer >> 32
    memory[Word.low] &+= integer & 0xFFFF_FFFF
  }

  /// Adds a double. NaN adds nothing but counts.
  public func add(_ double: Double) {
    memory[Word.count] &+= 1
    memory[Word.hasDouble] = 1
    guard double.isFinite else {
      if double == .infinity { memory[Word.infinity] = 1 }
      if double == -.infinity { memory[Word.negativeInfinity] = 1 }
      return
    }
    guard double != 0 else { return }
    // Subnormal numbers have the same lowest bit as the smallest normal number.
    let bits = double.bitPattern
    let exponent = Int(bits >> 52 & 0x7FF)
    let mantissa = bits & 0xF_FFFF_FFFF_FFFF | (exponent == 0 ? 0 : 1 << 52)
    addShifted(mantissa, by: max(exponent, 1) - 1, sign: double < 0 ? -1 : 1)
    if memory[Word.count] & 0x3FFF_FFFF == 0 { carry() }
  }

  private func addShifted(_ magnitude: UInt64, by bit: Int, sign: Int64) {
    let limb = bit >> 5
    let shift = UInt64(bit & 31)
    let low = magnitude << shift
    let high = shift == 0 ? 0 : magnitude >> (64 - shift)
    limbs[limb] &+= sign &* Int64(low & 0xFFFF_FFFF)
    limbs[limb + 1] &+= sign &* Int64(low >> 32)
    limbs[limb + 2] &+= sign &* Int64(high)
  }

  /// Reduces every limb except the last to 0..<2³².
  private func carry() {
    for index in 0..<(Self.limbCount - 1) {
      let over = limbs[index] >> 32
      limbs[index] &-= over << 32
      limbs[index + 1] &+= over
    }
  }

  // MARK: Results

  /// The result of a sum.
  public enum Total: Sendable, Hashable {
    case integer(Int64)
    case double(Double)
  }

  /// Returns the sum: an integer if all numbers were integers and 64 bits hold it, otherwise the
  /// nearest double; nil if infinities cancel each other. Call it once, last: it changes the memory.
  public func finalTotal() -> Total? {
    let (high, low) = halves
    if !hasDouble, let integer = Self.joined(high, low) { return .integer(integer) }
    return finalDouble().map { .double($0) }
  }

  /// Returns the sum as the nearest double; nil if infinities cancel each other. Call it once, last:
  /// it changes the memory.
  public func finalDouble() -> Double? {
    let hasInfinity = memory[Word.infinity] != 0
    let hasNegativeInfinity = memory[Word.negativeInfinity] != 0
    if hasInfinity || hasNegativeInfinity {
      return hasInfinity == hasNegativeInfinity ? nil : hasInfinity ? .infinity : -.infinity
    }
    addIntegers()
    carry()
    let isNegative = limbs[Self.limbCount - 1] < 0
    if isNegative {
      for index in 0..<Self.limbCount { limbs[index] = 0 &- limbs[index] }
      carry()
    }
    let magnitude = rounded()
    return isNegative ? -magnitude : magnitude
  }

  /// The halves of the integer sum, with the low one in 0..<2³².
  private var halves: (high: Int64, low: Int64) {
    (memory[Word.high] &+ (memory[Word.low] >> 32), memory[Word.low] & 0xFFFF_FFFF)
  }

  private static func joined(_ high: Int64, _ low: Int64) -> Int64? {
    guard high >= Int64(Int32.min), high <= Int64(Int32.max) else { return nil }
    return high << 32 | low
  }

  /// Adds the integers to the limbs; the bit worth 1 is bit 1074.
  private func addIntegers() {
    let (high, low) = halves
    memory[Word.high] = 0
    memory[Word.low] = 0
    addShifted(UInt64(low), by: 1074, sign: 1)
    addShifted(high.magnitude, by: 1074 + 32, sign: high < 0 ? -1 : 1)
  }

  /// Returns the limbs, none of which is negative, as the nearest double, with halves to even.
  private func rounded() -> Double {
    guard let top = (0..<Self.limbCount).last(where: { limbs[$0] != 0 }) else { return 0 }
    let width = 64 - limbs[top].leadingZeroBitCount
    // The highest 64 bits, and whether any lower bit is set.
    var bits = UInt64(limbs[top]) << UInt64(64 - width)
    var isInexact = false
    var room = 64 - width
    for index in stride(from: top - 1, through: 0, by: -1) {
      let limb = UInt64(limbs[index])
      let shift = room - 32
      if shift >= 0 {
        bits |= limb << UInt64(shift)
      } else {
        bits |= shift > -32 ? limb >> UInt64(-shift) : 0
        isInexact = isInexact || (shift > -32 ? limb << UInt64(64 + shift) != 0 : limb != 0)
      }
      room = shift
    }
    let rest = bits & 0x7FF
    var mantissa = bits >> 11
    if rest > 0x400 || rest == 0x400 && (isInexact || mantissa & 1 == 1) { mantissa += 1 }
    let exponent = top * 32 + width - 53 - 1074
    return Double(sign: .plus, exponent: exponent, significand: Double(mantissa))
  }
}

extension ExactSum {
  /// Calls `body` with an empty sum and returns its result.
  public static func with<Result>(_ body: (ExactSum) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: Int64.self, capacity: words) { memory in
      memory.initialize(repeating: 0)
      return body(ExactSum(memory))
    }
  }
}
