// Items → `Codable` structures, decoded with the API's formats; and dates of Foundation ↔ instants.

import Foundation

extension Fetchable where Self: Decodable {
  public static func materialize(
    _ item: Item, in context: ManagedObjectContext
  ) throws(MaterializationError) -> Self {
    context.decodedTypes.insert(ObjectIdentifier(Self.self))
    do throws(UnreadableValue) {
      return try ItemCoding.decode(Self.self, from: item.values, id: item.id)
    } catch {
      throw MaterializationError(entity: entityName, id: item.id, reason: error.reason)
    }
  }
}

extension Date {
  /// Converts an instant, rounded to a date's precision.
  public init(_ instant: Instant) {
    self.init(
      timeIntervalSince1970: Double(instant.seconds) + Double(instant.nanoseconds) / 1e9)
  }
}

extension Instant {
  /// Converts a date. A date out of range becomes `Int64.min` or `Int64.max` seconds; NaN becomes the
  /// latter.
  public init(_ date: Date) {
    let seconds = date.timeIntervalSince1970
    self = Instant(secondsSince1970: seconds) ?? Instant(seconds: seconds < 0 ? .min : .max)
  }
}
