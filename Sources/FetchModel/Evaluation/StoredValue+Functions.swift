// Functions of predicates on stored values. An argument of an unsupported class counts as nil, and
// a NaN result is nil.

import LiveFetchCLibrary

extension StoredValue {
  /// `self` to the power of `other`: an integer for integers while 64 bits hold it.
  public func power(_ other: StoredValue) -> StoredValue {
    if case .integer(let base) = self, case .integer(let exponent) = other,
      let power = Self.power(base, exponent)
    {
      return .integer(power)
    }
    guard let x = double, let y = other.double else { return .null }
    return .number(pow(x, y))
  }

  /// nil on overflow or for a result with a fraction.
  private static func power(_ base: Int64, _ exponent: Int64) -> Int64? {
    guard exponent >= 0 else { return nil }
    var result: Int64 = 1
    var square = base
    var rest = exponent
    while rest > 0 {
      if rest & 1 == 1 {
        let (product, isTooLarge) = result.multipliedReportingOverflow(by: square)
        if isTooLarge { return nil }
        result = product
      }
      rest >>= 1
      if rest == 0 { break }
      let (product, isTooLarge) = square.multipliedReportingOverflow(by: square)
      if isTooLarge { return nil }
      square = product
    }
    return result
  }

  /// The remainder of a division of doubles.
  func doubleModulus(_ other: StoredValue) -> StoredValue {
    guard let x = double, let y = other.double, y != 0 else { return .null }
    return .number(fmod(x, y))
  }

  var absolute: StoredValue {
    switch self {
    case .integer(let integer) where integer != .min: .integer(integer < 0 ? -integer : integer)
    default: double.map { .number(abs($0)) } ?? .null
    }
  }

  /// Applies a function of one number; nil for other functions. Rounding an integer returns it
  /// unchanged.
  func applied(_ function: ResolvedFunction) -> StoredValue? {
    if case .integer = self, [.floor, .ceiling, .trunc].contains(function) { return self }
    guard let x = double else { return .null }
    let result: Double
    switch function {
    case .sqrt: result = x.squareRoot()
    case .log: result = log10(x)
    case .ln: result = log(x)
    case .exp: result = exp(x)
    case .floor: result = x.rounded(.down)
    case .ceiling: result = x.rounded(.up)
    case .trunc: result = x.rounded(.towardZero)
    default: return nil
    }
    return .number(result)
  }

  // MARK: Text

  /// Transforms text; null for other classes.
  func mapText(_ transform: (String) -> StoredValue) -> StoredValue {
    if case .text(let text) = self { transform(text) } else { .null }
  }

  /// Folds text according to `options`; other classes unchanged.
  func folded(_ options: StringOptions) -> StoredValue {
    if case .text(let text) = self { .text(Folding.fold(text, options)) } else { self }
  }

  /// The number of UTF-16 units, as NSString counts.
  var length: StoredValue { mapText { .integer(Int64($0.utf16.count)) } }

  /// Parses a text as a number.
  var parsedNumber: StoredValue {
    mapText { text in
      if let integer = Int64(text) { return .integer(integer) }
      guard let double = Double(decimal: text), double.isFinite else { return .null }
      return .double(double)
    }
  }

  /// A number as text.
  var writtenNumber: StoredValue {
    switch self {
    case .integer(let integer): .text(String(integer))
    case .double(let double): .text(Int64(exactly: double).map { String($0) } ?? double.description)
    case .null, .text, .blob: .null
    }
  }

}
