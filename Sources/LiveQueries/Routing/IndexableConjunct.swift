// A value or range that a row must have at the end of a key path to match a fetch.

import FetchModel

/// The key path and string options that conjuncts are indexed by.
struct ConjunctPath: Hashable {
  /// To-one relationships only, starting at the fetch's entity.
  let propertyPath: PropertyPath
  /// Case and diacritic folding applied before texts are compared.
  let options: StringOptions
}

/// A part of a condition that every matching row satisfies, alone or as one of several
/// alternatives.
struct IndexableConjunct: Hashable {
  enum Requirement: Hashable {
    /// Equal to one of these values, which may include nil.
    case values([StoredValue])
    case range(ValueRange)
  }

  let path: ConjunctPath
  let requirement: Requirement

  /// Selectivity class: 0 is the most selective.
  var rank: Int {
    switch requirement {
    case .values: 0
    case .range(let range): range.lower != nil && range.upper != nil ? 1 : 2
    }
  }
}

/// An inclusive range of values; a nil bound is unbounded.
struct ValueRange: Hashable {
  var lower: StoredValue?
  var upper: StoredValue?

  func contains(_ value: StoredValue) -> Bool {
    lower.map { $0 <= value } ?? true && upper.map { value <= $0 } ?? true
  }

  /// The intersection of both ranges.
  func intersected(with other: ValueRange) -> ValueRange {
    ValueRange(
      lower: [lower, other.lower].compactMap { $0 }.max(),
      upper: [upper, other.upper].compactMap { $0 }.min())
  }
}
