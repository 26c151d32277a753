// The arithmetic of a calculation: decimal digits if it contains decimal attributes and no doubles.

/// The precision of a number, and its effect on a calculation.
public enum Precision: Sendable, Hashable {
  /// A double, or a value that is not a number: the calculation uses doubles.
  case binary
  /// An integer or a literal: the other operand determines the arithmetic.
  case adapting
  /// A decimal: the calculation uses decimal digits unless it contains a `binary` value.
  case decimal

  /// The precision of a calculation with two operands.
  public init(_ left: Precision, _ right: Precision) {
    if left == .binary || right == .binary {
      self = .binary
    } else {
      self = left == .decimal || right == .decimal ? .decimal : .adapting
    }
  }

  /// The precision of an attribute's values.
  public init(of type: AttributeType) {
    switch type {
    case .decimal: self = .decimal
    case .integer, .boolean: self = .adapting
    case .double, .string, .date, .binary, .uuid, .uri, .json: self = .binary
    }
  }
}

extension ResolvedFunction {
  /// Returns the precision of a function's result for an argument with `precision`.
  public func precision(of argument: Precision) -> Precision {
    switch self {
    case .abs, .floor, .ceiling, .trunc: argument
    default: .binary
    }
  }
}
