// Swift values → the literals of predicates that compare with them.

import Bytes
import FetchModel

/// A type whose values may occur in a predicate.
public protocol PredicateValue: Sendable {
  /// A constant in the syntax tree of a predicate.
  typealias Literal = FetchModel.Literal
  /// The value as it is written in a predicate.
  var literal: Literal { get }
}

/// A type whose values have an order. Only these may be compared with `<`, `>` and BETWEEN.
public protocol OrderedPredicateValue: PredicateValue {}

/// A number type. Only its values may be operands of arithmetic.
public protocol NumericPredicateValue: OrderedPredicateValue {}

extension NumericPredicateValue where Self: BinaryInteger {
  /// The integer; the nearest double if it is outside the range of Int64.
  public var literal: Literal {
    Int64(exactly: self).map { .integer($0) } ?? .double(Double(self))
  }
}

extension Int: NumericPredicateValue {}
extension Int64: NumericPredicateValue {}
extension Int32: NumericPredicateValue {}
extension Int16: NumericPredicateValue {}

extension Double: NumericPredicateValue {
  /// The number. A predicate with NaN is refused when it is used: NaN equals no value.
  public var literal: Literal { .double(self) }
}

extension Float: NumericPredicateValue {
  /// The number. A predicate with NaN is refused when it is used: NaN equals no value.
  public var literal: Literal { Double(self).literal }
}

extension String: OrderedPredicateValue {
  public var literal: Literal { .string(self) }
}

extension Bool: PredicateValue {
  public var literal: Literal { .boolean(self) }
}

extension Instant: OrderedPredicateValue {
  /// ISO 8601 text, which becomes a date when it is compared with one.
  public var literal: Literal { .string(iso8601) }
}

/// A value that is compared with an object: the object's id.
public struct IDValue: PredicateValue, Hashable, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral
{
  /// The object's id.
  public let id: ObjectID

  /// Makes the value of an id.
  public init(_ id: ObjectID) { self.id = id }
  /// Makes the value of an integer id.
  public init(integerLiteral value: Int64) { id = .integer(value) }
  /// Makes the value of a text id.
  public init(stringLiteral value: String) { id = .text(value) }

  public var literal: Literal {
    switch id {
    case .integer(let id): .integer(id)
    case .text(let id): .string(id)
    }
  }
}

/// Binary data, compared as a whole.
extension Array: PredicateValue where Element == UInt8 {
  /// Base64 text, which becomes data when it is compared with data.
  public var literal: Literal {
    var text: [UInt8] = []
    text.append(base64: self, .standard)
    return .string(String(decoding: text, as: UTF8.self))
  }
}
