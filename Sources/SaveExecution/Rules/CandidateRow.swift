// A row that a save would write → every uniqueness constraint and CHECK of its table that it
// violates. A database reports only the first one.
//
// The row is never written. It is a subquery: the columns that the save sets are bound, the others
// come from the stored row or from the table's defaults.

import FetchModel
import SQLComposer

/// A row as the save would leave it.
struct CandidateRow {
  /// The source of the columns that the save does not set.
  enum Base { case stored, defaults }

  let table: SaveTable
  /// The values that the save sets, by column.
  let given: RowValues
  /// The key of the updated row; nil for an insert.
  let key: [SQLValue]?
  let base: Base
  /// Columns without a known value, because the given value is invalid.
  let unknown: Set<Int>

  /// The row as a subquery, with its bindings.
  private var row: SQLFragment {
    let isStored = base == .stored && key != nil
    var fragment = SQLFragment("SELECT ")
    for (index, column) in table.columns.enumerated() {
      if index > 0 { fragment.append(", ") }
      if let value = given[index] {
        fragment.bind(value)
      } else if isStored {
        fragment.append(quoted(column.name))
      } else {
        fragment.append(column.isGenerated ? "NULL" : DefaultSQL.value(column.defaultSQL))
      }
      fragment.append(" AS \(quoted(column.name))")
    }
    guard isStored, let key else { return typed(fragment) }
    fragment.append(" FROM \(table.source) WHERE \(table.key.lookupCondition(nil))")
    for value in key { fragment.bindings.append(.value(value)) }
    return typed(fragment)
  }

  /// Adds the row by UNION ALL to an empty selection of the table, so that the columns keep their
  /// affinities and collations.
  private func typed(_ row: SQLFragment) -> SQLFragment {
    let names = table.columns.map { quoted($0.name) }.joined(separator: ", ")
    var fragment = SQLFragment("SELECT \(names) FROM \(table.source) WHERE 1 = 0 UNION ALL ")
    fragment.append(row)
    return fragment
  }

  /// Returns the violations.
  func problems(on connection: any SaveConnection) throws(StoreError) -> [ConstraintProblem] {
    try repeatedKey(on: connection) + repeated(on: connection) + failedChecks(on: connection)
  }

  // MARK: Uniqueness

  private func repeatedKey(on connection: any SaveConnection) throws(StoreError)
    -> [ConstraintProblem]
  {
    let values = table.keyColumns.compactMap { given[$0] }
    guard key == nil, !values.isEmpty, values.count == table.keyColumns.count,
      !values.contains(.null),
      try connection.hasRow(
        "SELECT 1 FROM \(table.source) WHERE \(table.key.lookupCondition(nil))", values)
    else { return [] }
    return [ConstraintProblem(notUnique: table.keyColumns, of: table)]
  }

  private func repeated(on connection: any SaveConnection) throws(StoreError) -> [ConstraintProblem]
  {
    var problems: [ConstraintProblem] = []
    for index in table.table.uniqueIndexes {
      let columns = index.parts.compactMap { $0.column.flatMap(table.column(named:)) }
      guard columns.count == index.parts.count, unknown.isDisjoint(with: columns),
        columns != table.keyColumns, let query = repetition(index)
      else { continue }
      if try connection.hasRow(candidate: query) {
        problems.append(ConstraintProblem(notUnique: columns, of: table))
      }
    }
    return problems
  }

  /// Returns a query for another row that has the same values in the unique index `index`.
  private func repetition(_ index: UniqueIndex) -> SQLFragment? {
    let condition = index.condition.map { " WHERE \($0)" } ?? ""
    var query = SQLFragment("SELECT 1 FROM (SELECT * FROM (")
    query.append(row)
    query.append(
      ") AS c\(condition)) AS n JOIN (SELECT * FROM \(table.source)\(condition)) AS o ON ")
    let comparisons = index.parts.compactMap { part in
      part.column.map {
        "o.\(quoted($0)) = n.\(quoted($0))"
          + (part.collation.isEmpty ? "" : " COLLATE \(quoted(part.collation))")
      }
    }
    query.append(comparisons.joined(separator: " AND "))
    if let key {
      query.append(" AND NOT (\(table.key.lookupCondition("o")))")
      for value in key { query.bindings.append(.value(value)) }
    }
    query.append(" LIMIT 1")
    return comparisons.isEmpty ? nil : query
  }

  // MARK: CHECK

  private func failedChecks(on connection: any SaveConnection) throws(StoreError)
    -> [ConstraintProblem]
  {
    var problems: [ConstraintProblem] = []
    for expression in try connection.checks(of: table) {
      let named = ConstraintProblem.columnsNamed(in: Substring(expression), table)
      guard unknown.isDisjoint(with: named) else { continue }
      var query = SQLFragment("SELECT 1 FROM (")
      query.append(row)
      query.append(") AS \(table.table.quotedName) WHERE NOT (\(expression))")
      // If the CHECK cannot be evaluated in this way, only the database's own error reports it.
      if (try? connection.hasRow(candidate: query)) == true {
        problems.append(ConstraintProblem(check: Substring(expression), on: table))
      }
    }
    return problems
  }
}
