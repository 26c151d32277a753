// What a calculation is carried out in: decimal attributes in decimal digits, as long as nothing in
// it is a binary fraction by its own type.

/// How exact a number is, and what it makes of a calculation.
public enum Precision: Sendable, Hashable {
  /// A double: what it takes part in is calculated in doubles.
  case binary
  /// An integer or a number written out: it adapts.
  case adapting
  /// A decimal: with such and with adapting numbers it is calculated in decimal digits.
  case decimal

  /// What a calculation with both is carried out in.
  public init(_ left: Precision, _ right: Precision) {
    if left == .binary || right == .binary {
      self = .binary
    } else {
      self = left == .decimal || right == .decimal ? .decimal : .adapting
    }
  }

  public init(of type: AttributeType) {
    switch type {
    case .decimal: self = .decimal
    case .integer, .boolean: self = .adapting
    case .double, .string, .date, .binary, .uuid, .uri, .json: self = .binary
    }
  }
}

extension ResolvedFunction {
  /// What a function of a number with `precision` gives.
  public func precision(of argument: Precision) -> Precision {
    switch self {
    case .abs, .floor, .ceiling, .trunc: argument
    default: .binary
    }
  }
}
