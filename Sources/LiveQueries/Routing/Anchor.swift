// What a row has to have at the end of a key path so that a fetch can match it.

import FetchModel

/// Where a fetch's demand is looked up.
struct AnchorPlace: Hashable {
  /// To-one steps only, from the fetch's entity.
  let path: PropertyPath
  /// What is overlooked of texts.
  let options: StringOptions
}

/// A demand that a fetch's condition cannot do without, alone or with others beside it.
struct Anchor: Hashable {
  enum Demand: Hashable {
    /// One of these values, nil among them.
    case values([StoredValue])
    case range(ValueRange)
  }

  let place: AnchorPlace
  let demand: Demand

  /// How much it says: the less the better.
  var rank: Int {
    switch demand {
    case .values: 0
    case .range(let range): range.lower != nil && range.upper != nil ? 1 : 2
    }
  }
}

/// Values between two bounds, both ends in; nil where there is no bound.
struct ValueRange: Hashable {
  var lower: StoredValue?
  var upper: StoredValue?

  func contains(_ value: StoredValue) -> Bool {
    lower.map { $0 <= value } ?? true && upper.map { value <= $0 } ?? true
  }

  /// What lies in both.
  func intersected(with other: ValueRange) -> ValueRange {
    ValueRange(
      lower: [lower, other.lower].compactMap { $0 }.max(),
      upper: [upper, other.upper].compactMap { $0 }.min())
  }
}
