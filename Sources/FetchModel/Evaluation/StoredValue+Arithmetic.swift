// Calculations as SQLite carries them out: integers as integers as long as 64 bits hold the result,
// everything else as doubles; nil with nil, by zero, and where the result is no number.
//
// Text and binary among the operands are the store's own affair: the result is unknown then, which
// an optional says here (nil).

extension StoredValue {
  /// `self operation other`; `isReal` where a quotient is one of doubles whatever the operands are.
  func calculated(
    _ operation: ArithmeticOperator, _ other: StoredValue, isReal: Bool
  ) -> StoredValue? {
    if operation == .power { return power(other) }
    guard self != .null, other != .null else { return .null }
    if !(operation == .divide && isReal), case .integer(let x) = self, case .integer(let y) = other,
      let result = Self.integer(operation, x, y)
    {
      return result
    }
    guard let x = double, let y = other.double else { return nil }
    return Self.double(operation, x, y)
  }

  /// The number as a double; nil for every other class.
  var double: Double? {
    switch self {
    case .integer(let integer): Double(integer)
    case .double(let double): double
    case .null, .text, .blob: nil
    }
  }

  /// nil where 64 bits do not hold the result.
  private static func integer(
    _ operation: ArithmeticOperator, _ x: Int64, _ y: Int64
  ) -> StoredValue? {
    let (result, overflow): (Int64, Bool)
    switch operation {
    case .add: (result, overflow) = x.addingReportingOverflow(y)
    case .subtract: (result, overflow) = x.subtractingReportingOverflow(y)
    case .multiply: (result, overflow) = x.multipliedReportingOverflow(by: y)
    case .divide:
      if y == 0 { return .null }
      (result, overflow) = x.dividedReportingOverflow(by: y)
    case .power: return nil
    }
    return overflow ? nil : .integer(result)
  }

  private static func double(
    _ operation: ArithmeticOperator, _ x: Double, _ y: Double
  ) -> StoredValue {
    switch operation {
    case .add: number(x + y)
    case .subtract: number(x - y)
    case .multiply: number(x * y)
    case .divide: y == 0 ? .null : number(x / y)
    case .power: .null
    }
  }

  /// `double`, or nil where it is no number.
  static func number(_ double: Double) -> StoredValue { double.isNaN ? .null : .double(double) }

  // MARK: Bits

  /// The integer that bits are taken of; nil where only the store can tell.
  private var bits: Int64? {
    switch self {
    case .integer(let integer): integer
    case .double(let double):
      double <= -0x1p63 ? .min : double >= 0x1p63 ? .max : Int64(double)
    case .null, .text, .blob: nil
    }
  }

  /// `operation` of both as integers; nil where an operand is.
  func combinedBits(
    _ other: StoredValue, _ operation: (Int64, Int64) -> StoredValue
  ) -> StoredValue? {
    if self == .null || other == .null { return .null }
    guard let x = bits, let y = other.bits else { return nil }
    return operation(x, y)
  }

  /// Every bit the other way.
  var invertedBits: StoredValue? {
    if self == .null { return .null }
    return bits.map { .integer(~$0) }
  }

  /// What is left of a division of integers.
  func remainder(_ other: StoredValue) -> StoredValue? {
    let areIntegers = if case (.integer, .integer) = (self, other) { true } else { false }
    return combinedBits(other) { x, y in
      if y == 0 { return .null }
      let rest = y == -1 ? 0 : x % y
      return areIntegers ? .integer(rest) : .double(Double(rest))
    }
  }

  /// Shifts to the left; by a negative number to the right. The sign stays.
  static func shift(_ x: Int64, left y: Int64) -> StoredValue {
    // The smart shifts of Swift do the same for every distance.
    .integer(y < -64 ? x >> 64 : y > 64 ? 0 : x << y)
  }
}
