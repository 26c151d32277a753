// Swift types that attributes of managed objects can have, and their JSON.

import Foundation

/// The reason why a stored value cannot be read, or a value cannot be stored.
///
/// An attribute of type `Result<Value, UnreadableValue>` contains it instead of a value. With an
/// attribute of any other type the whole object is unreadable: see ``MaterializationError``.
public struct UnreadableValue: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason without the attribute's name: `is a number, not a date`.
  public let reason: String

  /// - Parameter reason: without the attribute's name: `is a number, not a date`.
  public init(_ reason: String) { self.reason = reason }

  public var description: String { reason }

  static func expected(_ kind: String, _ json: JSON) -> UnreadableValue {
    UnreadableValue("is \(json.kind), not \(kind)")
  }
}

/// A type that an attribute can have.
///
/// Numbers, texts, dates, decimals, UUIDs, URLs and data conform, as do optionals and arrays of
/// them. An enumeration with such a raw value conforms if it says so:
///
/// ```swift
/// enum Mood: String, AttributeValue { case calm, stormy }
/// ```
///
/// Every attribute's value can be an argument of a predicate.
public protocol AttributeValue: PredicateArgumentConvertible {
  /// Decodes a value from the JSON of a store.
  static func attributeValue(of json: JSON) throws(UnreadableValue) -> Self
  /// Encodes the value for a save.
  func attributeJSON() throws(UnreadableValue) -> JSON
}

extension AttributeValue {
  /// The JSON of a save. A value that cannot be stored becomes an object, which stores refuse as an
  /// argument.
  public var predicateArgument: JSON {
    do throws(UnreadableValue) {
      return try attributeJSON()
    } catch {
      return .object([JSON.Member(name: "$error", value: .string(error.reason))])
    }
  }
}

// MARK: - Numbers

extension AttributeValue where Self: FixedWidthInteger {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Self {
    guard let integer = json.integer ?? json.string.flatMap({ Int64($0) }) else {
      throw .expected("a whole number", json)
    }
    guard let value = Self(exactly: integer) else {
      throw UnreadableValue("is \(integer), which does not fit in \(Self.self)")
    }
    return value
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { predicateArgument }

  public var predicateArgument: JSON { .number(String(self)) }
}

extension Int: AttributeValue {}
extension Int64: AttributeValue {}
extension Int32: AttributeValue {}
extension Int16: AttributeValue {}

extension Double: AttributeValue {
  /// A number, or an infinity as the string that the API uses for it.
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Double {
    switch json {
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    default:
      guard let double = json.double else { throw .expected("a number", json) }
      return double
    }
  }

  /// The number; NaN cannot be stored.
  public func attributeJSON() throws(UnreadableValue) -> JSON {
    guard !isNaN else { throw UnreadableValue("is not a number") }
    if isInfinite { return .string(self < 0 ? "-Infinity" : "Infinity") }
    return predicateArgument
  }
}

extension Float: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Float {
    Float(try Double.attributeValue(of: json))
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { try Double(self).attributeJSON() }
}

extension Decimal: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Decimal {
    guard case .number(let text) = json,
      let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
    else { throw .expected("a decimal number", json) }
    return decimal
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON {
    guard !isNaN else { throw UnreadableValue("is not a number") }
    return predicateArgument
  }
}

extension Bool: AttributeValue {
  /// A boolean, or 0 or 1 from a column that stores booleans as numbers.
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Bool {
    switch (json, json.integer) {
    case (.boolean(let isTrue), _): return isTrue
    case (_, 0?): return false
    case (_, 1?): return true
    default: throw .expected("a boolean", json)
    }
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { .boolean(self) }
}

// MARK: - Texts, dates, bytes

extension JSON {
  /// - Parameter kind: the expected value for the message: `a date`.
  fileprivate func text(_ kind: String) throws(UnreadableValue) -> String {
    guard case .string(let text) = self else { throw .expected(kind, self) }
    return text
  }
}

extension String: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> String {
    try json.text("a text")
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { .string(self) }
}

extension Instant: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Instant {
    let text = try json.text("a date")
    guard let instant = Instant(iso8601: text) else { throw UnreadableValue("is no date") }
    return instant
  }

  /// The date as ISO 8601; one whose text does not read back as the same date cannot be stored.
  public func attributeJSON() throws(UnreadableValue) -> JSON {
    let text = iso8601
    guard Instant(iso8601: text) == self else { throw UnreadableValue("is out of range") }
    return .string(text)
  }
}

extension Date: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Date {
    Date(try Instant.attributeValue(of: json))
  }

  /// The date as ISO 8601; NaN and infinite dates cannot be stored.
  public func attributeJSON() throws(UnreadableValue) -> JSON {
    guard let instant = Instant(exactly: self) else {
      throw UnreadableValue("is \(timeIntervalSince1970) s after 1970, which is no date")
    }
    return try instant.attributeJSON()
  }
}

extension UUID: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> UUID {
    guard let uuid = UUID(uuidString: try json.text("a UUID")) else {
      throw UnreadableValue("is no UUID")
    }
    return uuid
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { .string(uuidString.lowercased()) }
}

extension URL: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> URL {
    guard let url = URL(string: try json.text("a URL")) else { throw UnreadableValue("is no URL") }
    return url
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { .string(absoluteString) }
}

extension Data: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Data {
    guard let bytes = [UInt8](base64: try json.text("data in base64"), .standard) else {
      throw UnreadableValue("is not base64")
    }
    return Data(bytes)
  }

  /// Base64 text.
  public func attributeJSON() throws(UnreadableValue) -> JSON { .string(base64EncodedString()) }
}

extension JSON: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> JSON { json }

  public func attributeJSON() throws(UnreadableValue) -> JSON { self }
}

// MARK: - Optionals, arrays, enumerations, results

extension Optional: AttributeValue where Wrapped: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Wrapped? {
    if case .null = json { return nil }
    return try Wrapped.attributeValue(of: json)
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON {
    guard let self else { return .null }
    return try self.attributeJSON()
  }
}

extension Array: AttributeValue where Element: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> [Element] {
    guard case .array(let elements) = json else { throw .expected("an array", json) }
    var values: [Element] = []
    for element in elements { values.append(try Element.attributeValue(of: element)) }
    return values
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON {
    var elements: [JSON] = []
    for element in self { elements.append(try element.attributeJSON()) }
    return .array(elements)
  }
}

extension RawRepresentable where Self: AttributeValue, RawValue: AttributeValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Self {
    let raw = try RawValue.attributeValue(of: json)
    guard let value = Self(rawValue: raw) else {
      throw UnreadableValue("is `\(raw)`, which is no \(Self.self)")
    }
    return value
  }

  public func attributeJSON() throws(UnreadableValue) -> JSON { try rawValue.attributeJSON() }

  public var predicateArgument: JSON { rawValue.predicateArgument }
}

/// A value, or the reason why it cannot be read.
///
/// ```swift
/// @Managed(.mood) var mood: Result<Mood, UnreadableValue> = .success(.calm)
/// ```
extension Result: AttributeValue where Success: AttributeValue, Failure == UnreadableValue {
  public static func attributeValue(of json: JSON) throws(UnreadableValue) -> Self {
    do throws(UnreadableValue) {
      return .success(try Success.attributeValue(of: json))
    } catch {
      return .failure(error)
    }
  }

  /// A failure cannot be stored: set a value.
  public func attributeJSON() throws(UnreadableValue) -> JSON {
    switch self {
    case .success(let value): return try value.attributeJSON()
    case .failure(let error): throw error
    }
  }
}

extension Result: PredicateArgumentConvertible
where Success: AttributeValue, Failure == UnreadableValue {}
