// The exact digits of a decimal ↔ a text in order keys, whose order by bytes is that of the numbers.
//
//     0           c
//     0.00125     d199998125     0.125 × 10^-2: the exponent plus 200,000, then the digits
//     -1.5        b79999884:     of a negative number each digit is subtracted from 9
//
// -Infinity is `a`, Infinity `e` and NaN `f`, in PostgreSQL's order.

/// The text of a decimal in an order key.
package enum DecimalKey {
  /// Makes the exponents of all decimals positive numbers of six digits.
  private static let bias = 200_000
  private static let exponentLength = 6
  /// PostgreSQL's most digits before and after the decimal point.
  private static let most = (before: 131_072, after: 16_383)

  private static let zero: UInt8 = 0x30
  /// `a` to `f`.
  private static let (minusInfinity, negative, nothing): (UInt8, UInt8, UInt8) = (0x61, 0x62, 0x63)
  private static let (positive, infinity, nan): (UInt8, UInt8, UInt8) = (0x64, 0x65, 0x66)
  /// Ends the digits of a negative number: the one with more digits is smaller.
  private static let end: UInt8 = 0x3A

  /// Returns the text of a decimal: of `-1.50`, `Infinity` or `NaN`. O(length).
  package static func bytes(of decimal: String) -> [UInt8] {
    switch decimal {
    case "-Infinity": return [minusInfinity]
    case "Infinity": return [infinity]
    case "NaN": return [nan]
    default: break
    }
    let isNegative = decimal.utf8.first == 0x2D
    let text = Array(decimal.utf8.dropFirst(isNegative ? 1 : 0))
    let point = text.firstIndex(of: 0x2E) ?? text.count
    let digits = text.filter { $0 != 0x2E }
    guard let first = digits.firstIndex(where: { $0 != zero }),
      let last = digits.lastIndex(where: { $0 != zero })
    else { return [nothing] }
    let magnitude = Array(String(point - first + bias).utf8) + digits[first...last]
    return isNegative ? [negative] + complement(magnitude) + [end] : [positive] + magnitude
  }

  /// Returns the decimal of a text; nil if no decimal has this text, as in a forged cursor. O(length).
  package static func decimal(of bytes: [UInt8]) -> String? {
    switch bytes.first {
    case minusInfinity where bytes.count == 1: "-Infinity"
    case infinity where bytes.count == 1: "Infinity"
    case nan where bytes.count == 1: "NaN"
    case nothing where bytes.count == 1: "0"
    case positive: decimal(magnitude: Array(bytes.dropFirst()))
    case negative where bytes.last == end:
      decimal(magnitude: complement(Array(bytes.dropFirst().dropLast()))).map { "-\($0)" }
    default: nil
    }
  }

  private static func decimal(magnitude: [UInt8]) -> String? {
    guard magnitude.allSatisfy({ $0 &- zero < 10 }), magnitude.count > exponentLength,
      let biased = Int(String(decoding: magnitude.prefix(exponentLength), as: UTF8.self))
    else { return nil }
    let digits = magnitude.dropFirst(exponentLength)
    let exponent = biased - bias
    guard exponent <= most.before, digits.count - exponent <= most.after else { return nil }
    return "0.\(String(decoding: digits, as: UTF8.self))e\(exponent)"
  }

  /// Subtracts each digit from 9.
  private static func complement(_ digits: [UInt8]) -> [UInt8] {
    digits.map { 2 * zero &+ 9 &- $0 }
  }
}
