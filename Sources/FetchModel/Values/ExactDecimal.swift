// Decimal arithmetic for decimal attributes, so that 0.1 + 0.2 is 0.3. Sums, differences and
// products are exact up to 38 digits, as with NSDecimalNumber. Longer results, and quotients, are
// rounded to 38 digits, halves away from zero.

/// A number as a sign, digits, and the power of ten of the last digit.
public struct ExactDecimal: Sendable, Hashable {
  /// The number of digits that a result keeps.
  public static let precision = 38

  let isNegative: Bool
  /// From first to last, without leading and trailing zeros; empty for 0.
  let digits: [UInt8]
  let exponent: Int

  fileprivate init(isNegative: Bool, _ digits: some Collection<UInt8>, exponent: Int) {
    let leading = digits.drop { $0 == 0 }
    var kept = Array(leading)
    var exponent = exponent
    while kept.last == 0 {
      kept.removeLast()
      exponent += 1
    }
    self.digits = kept
    self.isNegative = isNegative && !kept.isEmpty
    self.exponent = kept.isEmpty ? 0 : exponent
  }

  /// The decimal equal to `integer`.
  public init(_ integer: Int64) {
    self.init(
      isNegative: integer < 0, String(integer.magnitude).utf8.map { $0 - 0x30 }, exponent: 0)
  }

  /// The shortest decimal that reads back as `double`; nil for infinities.
  public init?(_ double: Double) {
    guard double.isFinite else { return nil }
    self.init(double.description)
  }

  /// Parses text such as `-12.50e3`; nil if it is not a number.
  public init?(_ text: String) {
    guard let number = DecimalText(text.utf8) else { return nil }
    self.init(isNegative: number.sign < 0, number.digits, exponent: number.exponent)
  }

  /// The stored value of a decimal; nil if it is not a number.
  public init?(_ value: StoredValue) {
    switch value {
    case .integer(let integer): self.init(integer)
    case .double(let double): self.init(double)
    case .text(let text): self.init(text)
    case .null, .blob: return nil
    }
  }

  private var isZero: Bool { digits.isEmpty }
}

// MARK: - Calculations

extension ExactDecimal {
  /// Returns `self operation other`; nil for a division by zero, and for powers.
  public func calculated(_ operation: ArithmeticOperator, _ other: ExactDecimal) -> ExactDecimal? {
    switch operation {
    case .add: adding(other)
    case .subtract: adding(other.negated)
    case .multiply: multiplied(by: other)
    case .divide: divided(by: other)
    case .power: nil
    }
  }

  private var negated: ExactDecimal {
    ExactDecimal(isNegative: !isNegative, digits, exponent: exponent)
  }

  private func adding(_ other: ExactDecimal) -> ExactDecimal {
    if isZero { return other }
    if other.isZero { return self }
    let exponent = min(self.exponent, other.exponent)
    let (left, right) = (shifted(to: exponent), other.shifted(to: exponent))
    if isNegative == other.isNegative {
      return ExactDecimal(isNegative: isNegative, Self.sum(left, right), exponent: exponent).rounded
    }
    let isLess = Self.precedes(left, right)
    let digits = isLess ? Self.difference(right, left) : Self.difference(left, right)
    return ExactDecimal(isNegative: isNegative != isLess, digits, exponent: exponent).rounded
  }

  /// Returns the digits with trailing zeros, so that the last one has the power of ten `exponent`.
  private func shifted(to exponent: Int) -> [UInt8] {
    digits + [UInt8](repeating: 0, count: self.exponent - exponent)
  }

  private static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count != right.count ? left.count < right.count : left.lexicographicallyPrecedes(right)
  }

  private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
    let (longer, shorter) = left.count < right.count ? (right, left) : (left, right)
    var sum = [UInt8](repeating: 0, count: longer.count + 1)
    var carry: UInt8 = 0
    for place in 0..<longer.count {
      var digit = longer[longer.count - 1 - place] + carry
      if place < shorter.count { digit += shorter[shorter.count - 1 - place] }
      carry = digit / 10
      sum[sum.count - 1 - place] = digit % 10
    }
    sum[0] = carry
    return sum
  }

  /// Requires `left` ≥ `right`.
  private static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
    var difference = left
    var borrow: Int8 = 0
    for place in 0..<left.count {
      var digit = Int8(left[left.count - 1 - place]) - borrow
      if place < right.count { digit -= Int8(right[right.count - 1 - place]) }
      borrow = digit < 0 ? 1 : 0
      difference[left.count - 1 - place] = UInt8(digit < 0 ? digit + 10 : digit)
    }
    return difference
  }

  private func multiplied(by other: ExactDecimal) -> ExactDecimal {
    var sums = [Int](repeating: 0, count: digits.count + other.digits.count)
    for (i, left) in digits.enumerated() {
      for (j, right) in other.digits.enumerated() { sums[i + j + 1] += Int(left) * Int(right) }
    }
    for place in sums.indices.dropFirst().reversed() {
      sums[place - 1] += sums[place] / 10
      sums[place] %= 10
    }
    return ExactDecimal(
      isNegative: isNegative != other.isNegative, sums.map { UInt8($0) },
      exponent: exponent + other.exponent
    ).rounded
  }

  /// Long division, with one more digit for rounding.
  private func divided(by other: ExactDecimal) -> ExactDecimal? {
    if other.isZero { return nil }
    var quotient: [UInt8] = []
    var rest: [UInt8] = []
    var place = 0
    while place < digits.count || !rest.isEmpty, quotient.count <= Self.precision {
      if !rest.isEmpty || place < digits.count {
        rest.append(place < digits.count ? digits[place] : 0)
      }
      if rest == [0] { rest = [] }
      var digit: UInt8 = 0
      while !Self.precedes(rest, other.digits) {
        rest = Array(Self.difference(rest, other.digits).drop { $0 == 0 })
        digit += 1
      }
      if digit > 0 || !quotient.isEmpty { quotient.append(digit) }
      place += 1
    }
    return ExactDecimal(
      isNegative: isNegative != other.isNegative, quotient,
      exponent: exponent - other.exponent + digits.count - place
    ).rounded
  }

  private var rounded: ExactDecimal {
    let excess = digits.count - Self.precision
    guard excess > 0 else { return self }
    var kept = Array(digits.prefix(Self.precision))
    if digits[Self.precision] >= 5 { kept = Self.sum(kept, [1]) }
    return ExactDecimal(isNegative: isNegative, kept, exponent: exponent + excess)
  }
}

// MARK: - Results

extension ExactDecimal {
  /// The number for comparisons: an integer if 64 bits hold it, otherwise the nearest double.
  public var number: StoredValue {
    if let integer { return .integer(integer) }
    return Double(text).map { .number($0) } ?? .null
  }

  /// The number for further calculations: an integer, or a text with every digit.
  public var exact: StoredValue { integer.map { .integer($0) } ?? .text(text) }

  /// The integer that this number is exactly; nil for a fraction, and beyond 64 bits.
  var integer: Int64? {
    guard exponent >= 0, digits.count + exponent <= 19 else { return nil }
    return Int64((isNegative ? "-" : "") + written(shifted(to: 0)))
  }

  private var text: String { (isNegative ? "-" : "") + written(digits) + "e\(exponent)" }

  private func written(_ digits: [UInt8]) -> String {
    digits.isEmpty ? "0" : String(decoding: digits.map { $0 + 0x30 }, as: UTF8.self)
  }
}

extension StoredValue {
  /// Returns `self operation other` in decimal digits for further calculations; nil for a division
  /// by zero, or if an operand is not a number. Infinities are calculated as doubles.
  public func decimal(_ operation: ArithmeticOperator, _ other: StoredValue) -> StoredValue {
    if let left = ExactDecimal(self), let right = ExactDecimal(other) {
      return left.calculated(operation, right)?.exact ?? .null
    }
    return isNumber && other.isNumber
      ? calculated(operation, other, isReal: true) ?? .null : .null
  }

  /// A decimal in the form for comparisons.
  public var decimalNumber: StoredValue {
    if case .text(let text) = self { return ExactDecimal(text)?.number ?? .null }
    return self
  }
}
