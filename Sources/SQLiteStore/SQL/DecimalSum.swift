// Decimals of any order → their sum with every digit, so that 0.1 and 0.2 are 0.3.

import FetchModel

/// A sum of decimal numbers in memory that begins as zeros: limbs of nine digits, the middle one
/// worth 1, enough of them for every double and its shortest digits.
struct DecimalSum {
  /// How many words of memory it takes.
  static let words = 2 * reach + 1
  /// Limbs on either side of the point.
  private static let reach = 45
  private static let base: Int64 = 1_000_000_000
  private let memory: UnsafeMutablePointer<Int64>

  init(_ memory: UnsafeMutablePointer<Int64>) { self.memory = memory }

  func add(_ integer: Int64) {
    let sign: Int64 = integer < 0 ? -1 : 1
    var rest = integer.magnitude
    var limb = Self.reach
    while rest != 0 {
      memory[limb] &+= sign &* Int64(rest % UInt64(Self.base))
      rest /= UInt64(Self.base)
      limb += 1
    }
  }

  /// Adds what `text` says, `-12.50e3`; false where that is no number or too far from 1.
  func add(_ text: some Collection<UInt8>) -> Bool {
    guard let number = DecimalText(text) else { return false }
    let lowest = -9 * Self.reach
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

  /// The sum in digits, without zeros that say nothing.
  var text: String {
    let isNegative = carry()
    var digits = ""
    for limb in (0..<Self.words).reversed() {
      let part = String(memory[limb])
      digits += String(repeating: "0", count: 9 - part.count) + part
      if limb == Self.reach { digits += "." }
    }
    let point = digits.firstIndex(of: ".") ?? digits.endIndex
    var whole = digits[..<point].drop { $0 == "0" }
    var fraction = digits[point...]
    while fraction.last == "0" || fraction == "." { fraction.removeLast() }
    if whole.isEmpty { whole = "0" }
    let isZero = whole == "0" && fraction.isEmpty
    return (isNegative && !isZero ? "-" : "") + whole + fraction
  }

  /// Brings every limb into 0..<10⁹; true where the sum is below zero, the limbs its magnitude.
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
