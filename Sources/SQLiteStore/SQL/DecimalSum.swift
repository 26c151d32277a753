// Decimal numbers in any order → their exact sum, so that 0.1 and 0.2 make 0.3. The sum does not
// depend on the order of the numbers.

import FetchModel

/// A decimal sum in memory that the caller provides, zeroed. The memory holds limbs of nine digits: limb
/// i counts units of 10^(9·(i − 45)). The range covers every double in its shortest digits, and the limbs
/// hold sums of more numbers than a file has rows (9·10⁹).
struct DecimalSum {
  /// The size of the sum in memory, in 8-byte words.
  static let words = 2 * limbsPerSide + 1
  /// The number of limbs on each side of the middle limb, which holds the units.
  private static let limbsPerSide = 45
  private static let base: Int64 = 1_000_000_000
  private let memory: UnsafeMutablePointer<Int64>

  init(_ memory: UnsafeMutablePointer<Int64>) { self.memory = memory }

  func add(_ integer: Int64) {
    let sign: Int64 = integer < 0 ? -1 : 1
    var rest = integer.magnitude
    var limb = Self.limbsPerSide
    while rest != 0 {
      memory[limb] &+= sign &* Int64(rest % UInt64(Self.base))
      rest /= UInt64(Self.base)
      limb += 1
    }
  }

  /// Adds the number that `text` spells, for example `-12.50e3`. Returns false if `text` is no
  /// number or lies outside the range.
  func add(_ text: some Collection<UInt8>) -> Bool {
    guard let number = DecimalText(text) else { return false }
    let lowest = -9 * Self.limbsPerSide
    guard number.exponent >= lowest, number.exponent + number.digits.count <= -lowest else {
      return false
    }
    for (offset, digit) in number.digits.reversed().enumerated() where digit != 0 {
      let place = number.exponent + offset - lowest
      memory[place / 9] &+= number.sign &* Int64(digit) &* Self.powers[place % 9]
    }
    return true
  }

  private static let powers: [Int64] = [
    1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000,
  ]

  /// Ends the sum. Returns its digits without leading zeros, and without trailing zeros after the decimal
  /// point. Call it once, after the last `add`.
  func finish() -> String {
    let isNegative = carry()
    var digits = ""
    for limb in (0..<Self.words).reversed() {
      let part = String(memory[limb])
      digits += String(repeating: "0", count: 9 - part.count) + part
      if limb == Self.limbsPerSide { digits += "." }
    }
    let point = digits.firstIndex(of: ".") ?? digits.endIndex
    var whole = digits[..<point].drop { $0 == "0" }
    var fraction = digits[point...]
    while fraction.last == "0" || fraction == "." { fraction.removeLast() }
    if whole.isEmpty { whole = "0" }
    let isZero = whole == "0" && fraction.isEmpty
    return (isNegative && !isZero ? "-" : "") + whole + fraction
  }

  /// Normalizes every limb to 0..<10⁹. Returns true if the sum is negative; the limbs are then its
  /// magnitude.
  private func carry() -> Bool {
    spread()
    guard memory[Self.words - 1] < 0 else { return false }
    for limb in 0..<Self.words { memory[limb] = 0 &- memory[limb] }
    spread()
    return true
  }

  private func spread() {
    for limb in 0..<(Self.words - 1) {
      var over = memory[limb] / Self.base
      if memory[limb] % Self.base < 0 { over -= 1 }
      memory[limb] -= over * Self.base
      memory[limb + 1] += over
    }
  }
}
