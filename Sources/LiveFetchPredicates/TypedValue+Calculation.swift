// Arithmetic and functions on typed values.

import FetchModel

extension TypedValue where Value: NumericPredicateValue {
  /// The sum; nil with nil.
  public static func + (
    left: Self, right: some TypedValue<Root, Value>
  ) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.add, left.expression, right.expression))
  }

  /// The sum; nil with nil.
  public static func + (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.add, left.expression, FetchModel.Expression(right)))
  }

  /// The sum; nil with nil.
  public static func + (left: Value, right: Self) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.add, FetchModel.Expression(left), right.expression))
  }

  /// The difference; nil with nil.
  public static func - (
    left: Self, right: some TypedValue<Root, Value>
  ) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.subtract, left.expression, right.expression))
  }

  /// The difference; nil with nil.
  public static func - (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.subtract, left.expression, FetchModel.Expression(right)))
  }

  /// The difference; nil with nil.
  public static func - (left: Value, right: Self) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.subtract, FetchModel.Expression(left), right.expression))
  }

  /// The product; nil with nil.
  public static func * (
    left: Self, right: some TypedValue<Root, Value>
  ) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.multiply, left.expression, right.expression))
  }

  /// The product; nil with nil.
  public static func * (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.multiply, left.expression, FetchModel.Expression(right)))
  }

  /// The product; nil with nil.
  public static func * (left: Value, right: Self) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.multiply, FetchModel.Expression(left), right.expression))
  }

  /// The quotient; integers divide as integers; nil with nil, or by zero.
  public static func / (
    left: Self, right: some TypedValue<Root, Value>
  ) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.divide, left.expression, right.expression))
  }

  /// The quotient; integers divide as integers; nil with nil, or by zero.
  public static func / (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.divide, left.expression, FetchModel.Expression(right)))
  }

  /// The quotient; integers divide as integers; nil with nil, or by zero.
  public static func / (left: Value, right: Self) -> Calculated<Root, Value> {
    Calculated(.arithmetic(.divide, FetchModel.Expression(left), right.expression))
  }

  /// The value with the opposite sign.
  public static prefix func - (value: Self) -> Calculated<Root, Value> {
    Calculated(.negation(value.expression))
  }

  /// `**`: to the power of `exponent`.
  public func raised(to exponent: Double) -> Calculated<Root, Double> {
    Calculated(.arithmetic(.power, expression, FetchModel.Expression(exponent)))
  }

  /// `modulus:by:`: the remainder of a division, with the sign of the value.
  public func modulus(_ divisor: Value) -> Calculated<Root, Value> {
    Calculated(.function("modulus:by:", [expression, FetchModel.Expression(divisor)]))
  }

  /// `abs`.
  public var magnitude: Calculated<Root, Value> { call("abs") }
  /// `sqrt`.
  public var squareRoot: Calculated<Root, Double> { call("sqrt") }
  /// `log`: to base 10.
  public var logarithm: Calculated<Root, Double> { call("log") }
  /// `ln`.
  public var naturalLogarithm: Calculated<Root, Double> { call("ln") }
  /// `exp`.
  public var exponential: Calculated<Root, Double> { call("exp") }
  /// `floor`.
  public var floor: Calculated<Root, Double> { call("floor") }
  /// `ceiling`.
  public var ceiling: Calculated<Root, Double> { call("ceiling") }
  /// `trunc`.
  public var truncated: Calculated<Root, Double> { call("trunc") }
}

extension TypedValue {
  fileprivate func call<Result>(_ function: String) -> Calculated<Root, Result> {
    Calculated(.function(function, [expression]))
  }
}

extension TypedValue where Value == String {
  /// `length`, in UTF-16 units.
  public var length: Calculated<Root, Int> { call("length") }
  /// `uppercase`.
  public var uppercased: Calculated<Root, String> { call("uppercase") }
  /// `lowercase`.
  public var lowercased: Calculated<Root, String> { call("lowercase") }
  /// `canonical`: without case and diacritics.
  public var canonical: Calculated<Root, String> { call("canonical") }
}

extension TypedValue where Value: IntegerPredicateValue {
  /// `bitwiseAnd:with:`.
  public static func & (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.function("bitwiseAnd:with:", [left.expression, FetchModel.Expression(right)]))
  }

  /// `bitwiseOr:with:`.
  public static func | (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.function("bitwiseOr:with:", [left.expression, FetchModel.Expression(right)]))
  }

  /// `bitwiseXor:with:`.
  public static func ^ (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.function("bitwiseXor:with:", [left.expression, FetchModel.Expression(right)]))
  }

  /// `leftshift:by:`.
  public static func << (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.function("leftshift:by:", [left.expression, FetchModel.Expression(right)]))
  }

  /// `rightshift:by:`.
  public static func >> (left: Self, right: Value) -> Calculated<Root, Value> {
    Calculated(.function("rightshift:by:", [left.expression, FetchModel.Expression(right)]))
  }

  /// `onesComplement:`.
  public static prefix func ~ (value: Self) -> Calculated<Root, Value> {
    value.call("onesComplement")
  }
}
