// The inputs of the evaluator: an object's values, and the comparison rules of the store's columns.

/// One object's values, for an evaluator compiled from a condition.
///
/// The evaluator numbers the values that it needs: ``PredicateEvaluator/paths`` and
/// ``PredicateEvaluator/collections``. An element of a collection is a row itself and provides the
/// slots whose path starts there.
public protocol EvaluatedRow {
  /// The value at the path of the slot, `.null` if an earlier step is nil; nil if the value is
  /// unknown.
  func value(of slot: Int) -> StoredValue?
  /// The distinct objects of the collection; nil if unknown.
  func elements(of collection: Int) -> [Self]?
}

extension EvaluatedRow {
  /// For rows with to-one paths only.
  public func elements(of collection: Int) -> [Self]? { nil }
}

/// The comparison rules of the columns that store a model's properties.
public protocol ColumnTraits: Sendable {
  /// The comparison rule of a column; nil if only the store can compare its values.
  func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule?
}

/// The comparison rule of a property's value.
public enum ComparisonRule: Sendable, Hashable {
  /// Compares like a column with this affinity, or by the comparison keys of a column encoding.
  case column(Affinity, encoding: ColumnEncoding? = nil)
  /// Compares like a calculated value without affinity, such as the text of a composite key.
  case calculated

  var affinity: Affinity? {
    if case .column(let affinity, nil) = self { affinity } else { nil }
  }

  var encoding: ColumnEncoding? {
    if case .column(_, let encoding) = self { encoding } else { nil }
  }
}
