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
  /// The instant of a date; nil for one that is not representable.
  init?(exactly date: Date) {
    guard Int64(exactly: date.timeIntervalSince1970.rounded(.down)) != nil else { return nil }
    self.init(date)
  }

  /// The instant of a date that is representable; dates beyond end at the ends.
  public init(_ date: Date) {
    let seconds = date.timeIntervalSince1970
    let whole = seconds.rounded(.down)
    self.init(
      seconds: Int64(exactly: whole) ?? (whole < 0 ? .min : .max),
      nanoseconds: Int32(min(999_999_999, max(0, ((seconds - whole) * 1e9).rounded()))))
  }
}
