// Codable structures out of items. Foundation's decoder does it; dates are this API's.

import Foundation

extension Fetchable where Self: Decodable {
  public static func materialize(
    _ item: Item, in context: ManagedObjectContext
  ) throws(MaterializationError) -> Self {
    do {
      return try ItemDecoder.shared.decode(Self.self, from: Data(item.json.bytes))
    } catch let error as DecodingError {
      throw MaterializationError(entity: entityName, id: item.id, reason: error.reason)
    } catch {
      throw MaterializationError(entity: entityName, id: item.id, reason: "\(error)")
    }
  }
}

private enum ItemDecoder {
  static let shared: JSONDecoder = {
    let decoder = JSONDecoder()
    decoder.dataDecodingStrategy = .base64
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      guard let instant = Instant(iso8601: text) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "`\(text)` is no date"))
      }
      return Date(instant)
    }
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return decoder
  }()
}

extension Date {
  public init(_ instant: Instant) {
    self.init(
      timeIntervalSince1970: Double(instant.seconds) + Double(instant.nanoseconds) / 1e9)
  }
}

extension Instant {
  /// The instant of a date that is representable; dates beyond end at the ends.
  public init(_ date: Date) {
    let seconds = date.timeIntervalSince1970
    let whole = seconds.rounded(.down)
    self.init(
      seconds: Int64(exactly: whole) ?? (whole < 0 ? .min : .max),
      nanoseconds: Int32(min(999_999_999, max(0, ((seconds - whole) * 1e9).rounded()))))
  }
}

extension DecodingError {
  /// The property and what is wrong with it.
  fileprivate var reason: String {
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
