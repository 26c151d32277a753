// The parts of SQL that differ between databases. A schema names its dialect, and every composer of
// the schema's statements reads it there.
//
// The same in all dialects: a `?` for each bound value, and the names of LiveFetch's own functions
// (`livefetch_fold`). A store may rewrite both when it sends a finished statement.

import FetchModel

/// How one database writes SQL.
///
/// Two dialects are equal if they are the same object, so that a schema stays cheap to compare.
package final class Dialect: Sendable {
  /// An array of ids that a subquery builds.
  package struct IDArray {
    /// SQL for an id.
    package let id: String
    /// The content of FROM and WHERE.
    package let from: String
    /// SQL for the position by which the ids are ordered; nil for ascending ids without duplicates.
    package let position: String?
  }

  /// An operator over two numbers.
  package struct Calculation {
    package let operation: ArithmeticOperator
    package let left: SQLFragment
    package let right: SQLFragment
    /// True if both are integers.
    package let isInteger: Bool
    /// True if the result has every digit: of integers and of decimals.
    package let isExact: Bool
  }

  /// Returns the clause after a value of a type that makes it compare by code point.
  package let collation: @Sendable (AttributeType) -> String
  /// Returns SQL for the comparison key of a column; nil if ``SQLColumn/comparable`` needs no key of
  /// the dialect's own.
  package let comparisonKey: @Sendable (SQLColumn) -> String?
  /// Returns the form of a column that an index serves; nil if that is the comparison key.
  package let lookup: @Sendable (SQLColumn, Affinity) -> IndexedValue?
  /// Returns the nearest double of a stored number that is not a double itself; nil for other columns.
  package let double: @Sendable (String, Column) -> String?
  /// Returns the column in an index that serves a use of it; nil if no index of the column does.
  package let indexTerm: @Sendable (Column, IndexUse) -> IndexSuggestion.Term?
  /// The operator by which NULL equals NULL.
  package let isSame: String
  /// The negation of ``isSame``.
  package let isDifferent: String
  /// A condition that always holds. In SQLite, `TRUE` is a column if a table has one of that name.
  package let always: String
  /// A condition that never holds.
  package let never: String
  /// The qualifier of tables where a name without one may refer to something else.
  package let qualifier: String
  /// The placeholder of a date constant, which is bound in the column's format.
  package let datePlaceholder: String
  /// The placeholder of a date from an order key.
  package let keyDatePlaceholder: String
  /// The place of NULL in an ascending order without a NULLS clause.
  package let ascendingNils: NilPlace
  /// Returns the limit of a statement's rows; of a statement without one for nil.
  package let limit: @Sendable (Int?) -> SQLFragment
  /// True if every value of a column has the column's type, and UUIDs have a type of their own.
  package let hasTypedColumns: Bool
  /// A join with a condition whose left side is read first, where the dialect can say so.
  package let orderedJoin: String
  /// The name after a subquery in FROM that nothing refers to.
  package let subqueryName: String
  /// Returns a subquery of the ids in a bound JSON array, whose texts may be escaped as by
  /// ``IDRestriction``.
  package let ids: @Sendable (_ type: AttributeType, _ isEscaped: Bool) -> String
  /// Returns a subquery of a key's columns from a bound JSON array: of values for one column, of
  /// arrays for several columns. Texts may be escaped.
  package let keyColumns: @Sendable (_ key: Key, _ isEscaped: Bool) -> String
  /// Returns a JSON array of one value.
  package let array: @Sendable (String) -> String
  /// Returns a subquery, without its parentheses, that builds an array of ids.
  package let idArray: @Sendable (IDArray, AttributeType) -> String
  /// Returns the text of a key part within an id.
  package let keyText: @Sendable (String, Key.Form) -> String
  /// Returns the text of a part of a composite key.
  package let keyPartText: @Sendable (String, Key.Form) -> String
  /// Returns a column's value in the form in which a statement returns it.
  package let output: @Sendable (String, OutputForm) -> String
  /// Returns the hash of values.
  package let etag: @Sendable ([String]) -> String
  /// Returns the text that a function derives, so that it compares by code point.
  package let derivedText: @Sendable (String) -> String
  /// Returns the result of an operator over two numbers; nil if the operator itself computes it. A
  /// dialect with a function here has exact decimals.
  package let arithmetic: (@Sendable (Calculation) -> SQLFragment)?
  /// Returns the common table expression of a table's rows as they were at a position. It may leave out
  /// those that do not satisfy the condition, if there is one.
  package let overlay: @Sendable (HistoryLayout, HistoryPosition, SQLFragment?) -> SQLFragment
  /// Returns an integer that is 1 if two values of a column differ, otherwise 0.
  package let difference: @Sendable (String, String, Column) -> String
  /// Returns a condition as an integer: 1 if it is true, otherwise 0.
  package let integer: @Sendable (String) -> String
  /// Returns the name of the function that computes an operator over integers; nil if the operator
  /// itself computes it.
  package let integerFunction: @Sendable (String) -> String?
  /// Returns the condition that a text matches a constant pattern of LIKE or MATCHES; nil if the function
  /// of the relation tests it.
  package let pattern:
    @Sendable (SQLFragment, Comparison.Relation, String, StringOptions) -> SQLFragment?
  /// Returns the aggregate of a column's distinct values, without nil.
  package let distinctValues: @Sendable (SQLColumn) -> String

  package init(
    collation: @escaping @Sendable (AttributeType) -> String,
    comparisonKey: @escaping @Sendable (SQLColumn) -> String?,
    lookup: @escaping @Sendable (SQLColumn, Affinity) -> IndexedValue?,
    double: @escaping @Sendable (String, Column) -> String? = { _, _ in nil },
    indexTerm: @escaping @Sendable (Column, IndexUse) -> IndexSuggestion.Term?,
    isSame: String, isDifferent: String, always: String, never: String, qualifier: String,
    datePlaceholder: String, keyDatePlaceholder: String,
    ascendingNils: NilPlace, hasTypedColumns: Bool, subqueryName: String, orderedJoin: String,
    limit: @escaping @Sendable (Int?) -> SQLFragment,
    ids: @escaping @Sendable (AttributeType, Bool) -> String,
    keyColumns: @escaping @Sendable (Key, Bool) -> String,
    array: @escaping @Sendable (String) -> String,
    idArray: @escaping @Sendable (IDArray, AttributeType) -> String,
    keyText: @escaping @Sendable (String, Key.Form) -> String,
    keyPartText: @escaping @Sendable (String, Key.Form) -> String,
    output: @escaping @Sendable (String, OutputForm) -> String,
    etag: @escaping @Sendable ([String]) -> String,
    derivedText: @escaping @Sendable (String) -> String,
    arithmetic: (@Sendable (Calculation) -> SQLFragment)?,
    overlay: @escaping @Sendable (HistoryLayout, HistoryPosition, SQLFragment?) -> SQLFragment,
    difference: @escaping @Sendable (String, String, Column) -> String,
    integer: @escaping @Sendable (String) -> String,
    integerFunction: @escaping @Sendable (String) -> String? = { _ in nil },
    pattern:
      @escaping @Sendable (
        SQLFragment, Comparison.Relation, String, StringOptions
      ) -> SQLFragment? = { _, _, _, _ in nil },
    distinctValues: @escaping @Sendable (SQLColumn) -> String = {
      "livefetch_values(\($0.comparable))"
    }
  ) {
    self.collation = collation
    self.comparisonKey = comparisonKey
    self.lookup = lookup
    self.double = double
    self.indexTerm = indexTerm
    self.isSame = isSame
    self.isDifferent = isDifferent
    self.always = always
    self.never = never
    self.qualifier = qualifier
    self.datePlaceholder = datePlaceholder
    self.keyDatePlaceholder = keyDatePlaceholder
    self.ascendingNils = ascendingNils
    self.limit = limit
    self.hasTypedColumns = hasTypedColumns
    self.subqueryName = subqueryName
    self.orderedJoin = orderedJoin
    self.ids = ids
    self.keyColumns = keyColumns
    self.array = array
    self.idArray = idArray
    self.keyText = keyText
    self.keyPartText = keyPartText
    self.output = output
    self.etag = etag
    self.derivedText = derivedText
    self.arithmetic = arithmetic
    self.overlay = overlay
    self.difference = difference
    self.integer = integer
    self.integerFunction = integerFunction
    self.pattern = pattern
    self.distinctValues = distinctValues
  }
}

extension Dialect: Hashable {
  package static func == (left: Dialect, right: Dialect) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Dialect {
  /// Returns the place of NULL in an order without a NULLS clause.
  func nils(_ direction: Direction) -> NilPlace {
    (direction == .ascending) == (ascendingNils == .first) ? .first : .last
  }

  /// Returns the NULLS clause of a term in ORDER BY; empty if the order needs none.
  func nullsClause(_ nils: NilPlace, _ direction: Direction, mayBeNull: Bool) -> String {
    guard mayBeNull, nils != self.nils(direction) else { return "" }
    return nils == .first ? " NULLS FIRST" : " NULLS LAST"
  }
}

extension Dialect {
  /// Returns a condition that always holds, or never.
  func constant(_ isTrue: Bool) -> SQLFragment { SQLFragment(isTrue ? always : never) }
}
