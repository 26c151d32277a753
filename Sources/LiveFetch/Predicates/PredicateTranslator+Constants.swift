// Converts captured Swift values to literals. Values of unsupported types are refused.

import Foundation

extension PredicateTranslator {
  static func refused(_ constant: Any) -> PredicateTranslationError {
    .unsupportedValue(type: "\(type(of: constant))")
  }

  private static let notANumber = PredicateTranslationError.unsupported(
    operation: "NaN", reason: "it equals nothing, and no store holds it")

  static func literal(of constant: Any) throws(PredicateTranslationError) -> Expression {
    guard let constant = unwrapped(constant) else { return Expression(.literal(.null)) }
    switch constant {
    case let number as any BinaryFloatingPoint:
      let double = Double(number)
      if double.isNaN { throw notANumber }
      return Expression(.literal(.double(double)))
    case let number as Decimal where number.isNaN: throw notANumber
    case let date as Date where date.timeIntervalSince1970.isNaN: throw notANumber
    case let number as any BinaryInteger:
      guard let integer = Int64(exactly: number) else { throw refused(constant) }
      return Expression(.literal(.integer(integer)))
    // `as [UInt8]` succeeds for an empty array of any type.
    case let bytes as [UInt8] where type(of: constant) == [UInt8].self:
      return Expression(.literal(.string(Data(bytes).base64EncodedString())))
    case let character as Character: return Expression(.literal(.string(String(character))))
    case let text as Substring: return Expression(.literal(.string(String(text))))
    case let value as any PredicateArgumentConvertible: return try literal(json: value, constant)
    case let value as any RawRepresentable: return try literal(of: value.rawValue)
    case let elements as any Sequence: return try list(of: elements)
    default: throw refused(constant)
    }
  }

  private static func literal(
    json value: any PredicateArgumentConvertible, _ constant: Any
  ) throws(PredicateTranslationError) -> Expression {
    switch value.predicateArgument {
    case .null: return Expression(.literal(.null))
    case .boolean(let isTrue): return Expression(.literal(.boolean(isTrue)))
    case .number(let text):
      if let integer = Int64(text) { return Expression(.literal(.integer(integer))) }
      guard let double = Double(text) else { throw refused(constant) }
      return Expression(.literal(.double(double)))
    case .string(let text): return Expression(.literal(.string(text)))
    case .array:
      guard let elements = constant as? any Sequence else { throw refused(constant) }
      return try list(of: elements)
    case .object: throw refused(constant)
    }
  }

  private static func list(
    of elements: any Sequence
  ) throws(PredicateTranslationError) -> Expression {
    var literals: [Expression] = []
    for element in self.elements(of: elements) { literals.append(try literal(of: element)) }
    return Expression(.list(literals))
  }

  /// The elements of a captured sequence.
  static func elements(of sequence: any Sequence) -> [Any] {
    func all<Elements: Sequence>(_ elements: Elements) -> [Any] { elements.map { $0 as Any } }
    return all(sequence)
  }

  /// The value of an optional at any depth; nil if there is none.
  static func unwrapped(_ constant: Any) -> Any? {
    guard let optional = constant as? any AnyOptional else { return constant }
    return optional.wrapped.flatMap(unwrapped)
  }
}

/// A range as two bounds.
protocol RangeBounds {
  /// Both bounds; nil for a missing one.
  var bounds: (lower: Any?, upper: Any?) { get }
  /// True if the range contains its upper bound, or has none.
  var isClosed: Bool { get }
}

extension Range: RangeBounds {
  var bounds: (lower: Any?, upper: Any?) { (lowerBound, upperBound) }
  var isClosed: Bool { false }
}

extension ClosedRange: RangeBounds {
  var bounds: (lower: Any?, upper: Any?) { (lowerBound, upperBound) }
  var isClosed: Bool { true }
}

extension PartialRangeFrom: RangeBounds {
  var bounds: (lower: Any?, upper: Any?) { (lowerBound, nil) }
  var isClosed: Bool { true }
}

extension PartialRangeThrough: RangeBounds {
  var bounds: (lower: Any?, upper: Any?) { (nil, upperBound) }
  var isClosed: Bool { true }
}

extension PartialRangeUpTo: RangeBounds {
  var bounds: (lower: Any?, upper: Any?) { (nil, upperBound) }
  var isClosed: Bool { false }
}
