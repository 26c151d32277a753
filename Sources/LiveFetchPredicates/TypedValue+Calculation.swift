// Arithmetic on typed values, and the length of text.

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
}

extension TypedValue where Value == String {
  /// `length`, in UTF-16 units.
  public var length: Calculated<Root, Int> { Calculated(.function("length", [expression])) }
}
