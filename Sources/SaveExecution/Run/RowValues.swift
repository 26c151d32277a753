// The columns that a change writes, and their values, in parallel arrays.

import SQLComposer

/// A row's values under construction. Cleared and reused for each row.
package struct RowValues {
  /// Indexes of the table's columns, each once.
  package private(set) var columns: [Int] = []
  /// Parallel to `columns`.
  package private(set) var values: [SQLValue] = []

  package init() {}

  var isEmpty: Bool { columns.isEmpty }

  mutating func clear() {
    columns.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
  }

  /// Appends a column that has no value yet.
  package mutating func append(_ value: SQLValue, to column: Int) {
    columns.append(column)
    values.append(value)
  }

  /// Sets a column's value; returns false if it already has a different one. O(n).
  mutating func set(_ column: Int, to value: SQLValue) -> Bool {
    if let place = columns.firstIndex(of: column) { return values[place] == value }
    append(value, to: column)
    return true
  }

  /// The value of a column; nil if it has none. O(n).
  package subscript(column: Int) -> SQLValue? { columns.firstIndex(of: column).map { values[$0] } }

  /// Removes a column. O(n).
  mutating func remove(_ column: Int) {
    guard let place = columns.firstIndex(of: column) else { return }
    columns.remove(at: place)
    values.remove(at: place)
  }
}
