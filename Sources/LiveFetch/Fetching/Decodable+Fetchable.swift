// Codable structures out of items. Foundation's decoder does it; dates are this API's.

import Foundation

extension Fetchable where Self: Decodable {
  public static func materialize(
    _ item: Item, in context: ManagedObjectContext
  ) throws(MaterializationError) -> Self {
    do throws(UnreadableValue) {
      return try ItemCoding.decode(Self.self, from: item.json)
    } catch {
      throw MaterializationError(entity: entityName, id: item.id, reason: error.reason)
    }
  }
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
    self = Instant(secondsSince1970: seconds) ?? Instant(seconds: seconds < 0 ? .min : .max)
  }
}
