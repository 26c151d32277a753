// Compares a foreign key's column with the column that it refers to, as SQLite's own foreign keys
// do: the referring value takes the affinity of the referenced column, and the comparison uses the
// referenced column's collation.
//
//     "id" TEXT COLLATE NOCASE     'a' refers to 'A'
//     "id" INTEGER                 '7' of a text column refers to 7
//     "id" TEXT                    7 of an integer column refers to '7', and not to '07'
//
// For two columns with the same affinity and collation the SQL is a plain `=`. For others it adds a
// CAST or a COLLATE. A column that refers by equality only does not hold the id of the referenced
// object: a lookup returns that id.

import FetchModel

/// The comparison of one column of a foreign key with the column that it refers to.
package struct ForeignKeyComparison: Sendable, Hashable {
  /// The conversion of a referring value to the affinity of the referenced column, where a
  /// comparison of the two columns would not convert it.
  package enum Conversion: Sendable, Hashable {
    case none
    /// Numbers become text.
    case text
    /// Numeric text becomes a number.
    case number
    /// The value stays as stored.
    case stored
  }

  package let conversion: Conversion
  /// The collation of the comparison where the referring column has a different one; otherwise nil.
  package let collation: String?
  /// True if the referring column's own collation treats more values as equal than the comparison does,
  /// so that an index with it serves.
  package let hasCoarserCollation: Bool
  /// True if a value refers only to the identical value.
  package let isExact: Bool
  /// True if the comparison ignores trailing blanks. The Bloom filters of SQLite 3.40 treat texts
  /// of different lengths as different, so no index may serve.
  package let isTrimming: Bool

  package static let plain = ForeignKeyComparison(
    conversion: .none, collation: nil, hasCoarserCollation: false, isExact: true, isTrimming: false)

  /// The comparison of typed columns whose equal values may have several texts.
  package static let inexact = ForeignKeyComparison(
    conversion: .none, collation: nil, hasCoarserCollation: false, isExact: false, isTrimming: false
  )
}

extension ForeignKeyComparison {
  /// - Parameter isRowNumber: True if the referenced column holds only integers.
  init(_ column: Column, to referenced: Column, isRowNumber: Bool) {
    let conversion = Conversion(column.affinity, to: referenced.affinity)
    let isBinaryCollated = referenced.isBinaryCollated || isRowNumber
    let isAlike =
      isRowNumber && conversion == .none
      || folded(column.collation) == folded(referenced.collation)
    let isBare = conversion == .none || conversion == .stored
    self.init(
      conversion: conversion,
      collation: (isBare ? isAlike : isBinaryCollated)
        ? nil : isBinaryCollated ? "BINARY" : referenced.collation,
      hasCoarserCollation: conversion == .none && isBinaryCollated && !isAlike,
      isExact: isBinaryCollated && column.affinity.stores(as: referenced.affinity),
      isTrimming: !isRowNumber && folded(referenced.collation) == "rtrim")
  }
}

extension ForeignKeyComparison.Conversion {
  fileprivate init(_ column: Affinity, to referenced: Affinity) {
    switch (referenced, column) {
    case (.text, .text): self = .none
    case (.text, _): self = .text
    case (.blob, _): self = column == .blob ? .none : .stored
    case (_, _): self = column.isNumeric ? .none : .number
    }
  }
}

extension Affinity {
  /// True if two such columns store equal values in the same way.
  fileprivate func stores(as other: Affinity) -> Bool {
    self == other || [self, other].allSatisfy { $0 == .integer || $0 == .numeric }
  }
}

// MARK: - ForeignKeyComparison → SQL

extension ForeignKeyComparison {
  /// Returns a condition: `value`, SQL for the referring value, refers to the value of the column
  /// `referenced`. The index of `referenced` serves it.
  func parentCondition(_ referenced: String, childValue value: String) -> String {
    if isTrimming { return "+\(referenced) = \(converted(value))" }
    return switch conversion {
    case .none, .number: "\(referenced) = \(value)"
    case .text, .stored: "\(referenced) = +\(value)"
    }
  }

  /// Returns a condition: the value of the column `column` refers to `value`, SQL for the
  /// referenced value.
  ///
  /// - Parameter isColumn: True if `value` is a column, with its affinity and collation.
  func childCondition(
    _ column: String, parentValue value: String, isColumn: Bool = false
  ) -> String {
    if isTrimming { return "\(comparable(column)) = +\(value)" }
    if conversion == .number, isColumn { return "\(value) = \(column)" }
    let condition = "\(comparable(column)) = \(value)"
    return hasCoarserCollation ? "\(column) = \(value) AND \(condition)" : condition
  }

  /// Returns SQL for a column's value in the form that equals the value that it refers to.
  func comparable(_ column: String) -> String {
    converted(column) + (collation.map { " COLLATE \(quoted($0))" } ?? "")
  }

  private func converted(_ value: String) -> String {
    switch conversion {
    case .none: isTrimming ? "+\(value)" : value
    case .stored: "+\(value)"
    case .text:
      "CASE WHEN typeof(\(value)) IN ('integer', 'real') THEN CAST(\(value) AS TEXT) "
        + "ELSE \(value) END"
    case .number:
      "CASE WHEN \(value) = CAST(\(value) AS NUMERIC) THEN CAST(\(value) AS NUMERIC) "
        + "ELSE \(value) END"
    }
  }
}

extension ForeignKey {
  /// Returns a condition: `values`, SQL for the values of the referring columns, refer to the row
  /// of `alias`.
  package func parentCondition(_ alias: String?, childValues values: [String]) -> String {
    zip(comparisons, zip(referenced, values))
      .map { $0.parentCondition(qualified($1.0, alias), childValue: $1.1) }
      .joined(separator: " AND ")
  }

  /// Returns a condition: the row of `alias` refers to `values`, SQL for the values of the
  /// referenced columns.
  ///
  /// - Parameter areColumns: True if all of them are columns rather than expressions.
  package func childCondition(
    _ alias: String?, parentValues values: [String], areColumns: Bool = false
  ) -> String {
    zip(comparisons, zip(columns, values))
      .map { $0.childCondition(qualified($1.0, alias), parentValue: $1.1, isColumn: areColumns) }
      .joined(separator: " AND ")
  }

  /// Returns a condition with a parameter for each column: the row refers to the bound values.
  ///
  /// - Parameter test: ` = ` or the dialect's operator by which NULL equals NULL.
  package func refersToBound(_ alias: String? = nil, _ test: String = " = ") -> String {
    comparables(columns.map { qualified($0, alias) }).map { "\($0)\(test)?" }
      .joined(separator: " AND ")
  }

  /// Returns SQL for the referring columns' values in the form that equals the values they refer
  /// to.
  package func comparables(_ values: [String]) -> [String] {
    zip(comparisons, values).map { $0.comparable($1) }
  }
}
