// Converts Swift values to arguments of predicates.

import Foundation

/// A value that can replace a placeholder of a predicate.
public protocol PredicateArgumentConvertible {
  /// The argument as JSON.
  var predicateArgument: JSON { get }
}

extension PredicateArgumentConvertible where Self: FixedWidthInteger {
  public var predicateArgument: JSON { .number(String(self)) }
}

extension Int8: PredicateArgumentConvertible {}
extension UInt8: PredicateArgumentConvertible {}
extension UInt16: PredicateArgumentConvertible {}
extension UInt32: PredicateArgumentConvertible {}

extension Double: PredicateArgumentConvertible {
  /// The number. Infinities are compared as numbers. NaN becomes the text "NaN", which the store
  /// refuses in place of a number.
  public var predicateArgument: JSON {
    if isNaN { return .string("NaN") }
    // Literals beyond the largest double are read as infinity.
    return .number(isInfinite ? (self < 0 ? "-1e999" : "1e999") : description)
  }
}

extension Float: PredicateArgumentConvertible {
  public var predicateArgument: JSON { Double(self).predicateArgument }
}

extension Decimal: PredicateArgumentConvertible {
  /// The number; NaN as for `Double`.
  public var predicateArgument: JSON { isNaN ? .string("NaN") : .number("\(self)") }
}

extension Instant: PredicateArgumentConvertible {
  public var predicateArgument: JSON { .string(iso8601) }
}

extension Date: PredicateArgumentConvertible {
  /// The date. Infinite dates become the first or last representable one; NaN as for `Double`.
  public var predicateArgument: JSON {
    timeIntervalSince1970.isNaN ? .string("NaN") : Instant(self).predicateArgument
  }
}

extension ObjectID: PredicateArgumentConvertible {
  public var predicateArgument: JSON {
    switch self {
    case .integer(let id): .number(String(id))
    case .text(let id): .string(id)
    }
  }
}

extension Array: PredicateArgumentConvertible where Element: PredicateArgumentConvertible {
  public var predicateArgument: JSON { .array(map(\.predicateArgument)) }
}

extension Optional: PredicateArgumentConvertible where Wrapped: PredicateArgumentConvertible {
  public var predicateArgument: JSON { self?.predicateArgument ?? .null }
}
