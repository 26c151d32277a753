// What the evaluator asks: of whoever calls it the values of one object, and of the store's schema
// how columns treat values.

/// One object's values, for an evaluator that was compiled from a condition about it.
///
/// The evaluator numbers what it needs: ``PredicateEvaluator/paths`` and
/// ``PredicateEvaluator/collections``. An element of a collection is a row of its own and answers
/// the slots whose path starts from it.
public protocol EvaluatedRow {
  /// The value at the path of that slot, nil (`.null`) where a step before its end is nil; Swift's
  /// nil where it is not known.
  func value(of slot: Int) -> StoredValue?
  /// The objects of that collection, each once; nil where they are not known.
  func elements(of collection: Int) -> [Self]?
}

extension EvaluatedRow {
  /// Rows that know of themselves and of to-one steps alone.
  public func elements(of collection: Int) -> [Self]? { nil }
}

/// How the columns behind a model's properties treat values.
public protocol ColumnTraits: Sendable {
  /// How a column is compared; nil where comparisons are not as ``Affinity`` tells, so that only
  /// the store can say how they come out.
  func treatment(of property: Property, in entity: Int) -> ColumnTreatment?
}

/// How a property's value takes part in comparisons.
public enum ColumnTreatment: Sendable, Hashable {
  /// As a column with that affinity, or by the stand-ins of a form, which have none.
  case column(Affinity, form: StoredForm? = nil)
  /// As a calculated value, which has none: the text that a composite key's parts make.
  case calculated

  var affinity: Affinity? {
    if case .column(let affinity, nil) = self { affinity } else { nil }
  }

  var form: StoredForm? {
    if case .column(_, let form) = self { form } else { nil }
  }
}
