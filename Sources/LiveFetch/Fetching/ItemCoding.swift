// Decodes `Codable` values from JSON and encodes them, with the API's formats for dates, data and
// infinities.

import FetchModel
import Foundation

enum ItemCoding {
  static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.dataEncodingStrategy = .base64
    encoder.dateEncodingStrategy = .custom { date, encoder in
      guard let instant = Instant(exactly: date) else {
        let reason = "\(date.timeIntervalSince1970) s after 1970 is no date"
        throw EncodingError.invalidValue(
          date, .init(codingPath: encoder.codingPath, debugDescription: reason))
      }
      var container = encoder.singleValueContainer()
      try container.encode(instant.iso8601)
    }
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }()

  static func decode<Value: Decodable>(
    _ type: Value.Type, from json: JSON
  ) throws(UnreadableValue) -> Value {
    try unreadable { try ItemDecoder(json).decode(type) }
  }

  /// - Parameter id: the value of `id`, if it is not among the values.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from values: ItemValues, id: ObjectID? = nil
  ) throws(UnreadableValue) -> Value {
    try unreadable { try Value(from: MemberDecoder(values, id: id)) }
  }

  /// Runs `decode`, and throws its errors as reasons.
  private static func unreadable<Value>(
    _ decode: () throws -> Value
  ) throws(UnreadableValue) -> Value {
    do {
      return try decode()
    } catch let error as DecodingError {
      throw UnreadableValue(error.reason)
    } catch {
      throw UnreadableValue("\(error)")
    }
  }

  static func encode(_ value: some Encodable) throws(UnreadableValue) -> JSON {
    do {
      return try JSON(parsing: Array(encoder.encode(value)))
    } catch let error as UnreadableValue {
      throw error
    } catch let error as EncodingError {
      throw UnreadableValue(error.reason)
    } catch {
      throw UnreadableValue("\(error)")
    }
  }
}

extension ItemCoding {
  /// The members of a value that is an object in JSON.
  ///
  /// - Parameter includesNil: true to have null for the optionals that are nil.
  static func members(
    of value: some Encodable, includesNil: Bool = false
  ) throws(UnreadableValue) -> [JSON.Member] {
    guard case .object(let members) = try encode(value) else {
      throw UnreadableValue("is no object")
    }
    return includesNil ? members + NilKeys.members(of: value) : members
  }

  /// The member `id`.
  static func id(in members: [JSON.Member]) throws(UnreadableValue) -> ObjectID {
    guard let id = ObjectID(json: members.value("id")) else {
      throw UnreadableValue("has no `id`")
    }
    return id
  }
}

extension [JSON.Member] {
  /// The value of `name`; null if absent.
  func value(_ name: String) -> JSON { first { $0.name == name }?.value ?? .null }
}

extension DecodingError {
  /// The property and the reason.
  var reason: String {
    let context: Context
    switch self {
    case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
      context = found
    case .keyNotFound(let key, _): return "`\(key.stringValue)` was not fetched"
    @unknown default: return "\(self)"
    }
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    return path.isEmpty ? context.debugDescription : "`\(path)`: \(context.debugDescription)"
  }
}

extension EncodingError {
  fileprivate var reason: String {
    if case .invalidValue(_, let context) = self { context.debugDescription } else { "\(self)" }
  }
}
