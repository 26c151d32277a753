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
  /// The instant of a date, with the fewest digits that lead back to an equal date; nil if it is out of
  /// range. A date counts the seconds since 2001, so that near 1970 its seconds since then have further
  /// digits, which do not belong to its value.
  init?(exactly date: Date) {
    guard let instant = Instant(secondsSince1970: date.timeIntervalSince1970) else { return nil }
    let rounded = instant.roundedToMicroseconds
    self = Date(rounded) == date ? rounded : instant
  }

  /// Converts a date. A date out of range becomes `Int64.min` or `Int64.max` seconds; NaN becomes the
  /// latter.
  public init(_ date: Date) {
    let isEarly = date.timeIntervalSince1970 < 0
    self = Instant(exactly: date) ?? Instant(seconds: isEarly ? .min : .max)
  }
}
