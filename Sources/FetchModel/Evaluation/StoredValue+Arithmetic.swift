// Arithmetic as SQLite does it: integers while 64 bits hold the result, otherwise doubles. The
// result is `.null` for a null operand, for a division by zero, and for NaN.
//
// Arithmetic on text and blobs, except for powers, is left to the store: the result is Swift's nil then.

extension StoredValue {
  /// `self operation other`. With `isReal`, a division is one of doubles whatever the operands are.
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

  /// The number as a double; nil for other classes.
  var double: Double? {
    switch self {
    case .integer(let integer): Double(integer)
    case .double(let double): double
    case .null, .text, .blob: nil
    }
  }

  /// nil on overflow of 64 bits.
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

  /// `double`, or null for NaN.
  static func number(_ double: Double) -> StoredValue { double.isNaN ? .null : .double(double) }

  // MARK: Bits

  /// The integer for a bit operation; nil if only the store can convert the value.
  private var bits: Int64? {
    switch self {
    case .integer(let integer): integer
    case .double(let double):
      double.isNaN ? nil : double <= -0x1p63 ? .min : double >= 0x1p63 ? .max : Int64(double)
    case .null, .text, .blob: nil
    }
  }

  /// Applies `operation` to both as integers; null if an operand is null.
  func combinedBits(
    _ other: StoredValue, _ operation: (Int64, Int64) -> StoredValue
  ) -> StoredValue? {
    if self == .null || other == .null { return .null }
    guard let x = bits, let y = other.bits else { return nil }
    return operation(x, y)
  }

  /// The bitwise complement.
  var invertedBits: StoredValue? {
    if self == .null { return .null }
    return bits.map { .integer(~$0) }
  }

  /// The remainder of an integer division.
  func remainder(_ other: StoredValue) -> StoredValue? {
    let areIntegers = if case (.integer, .integer) = (self, other) { true } else { false }
    return combinedBits(other) { x, y in
      if y == 0 { return .null }
      let rest = y == -1 ? 0 : x % y
      return areIntegers ? .integer(rest) : .double(Double(rest))
    }
  }

  /// Shifts left by `y` bits; a negative `y` shifts right, and the sign is kept.
  static func shift(_ x: Int64, left y: Int64) -> StoredValue { .integer(x << y) }
}
