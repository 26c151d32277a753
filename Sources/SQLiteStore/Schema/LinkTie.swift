// When does a column of a foreign key refer to a column of another table? Where SQLite's own foreign
// keys say so: the value is given the affinity of the column that it refers to, and compared with that
// column's collation.
//
//     "id" TEXT COLLATE NOCASE     'a' refers to 'A'
//     "id" INTEGER                 '7' of a column of text refers to 7
//     "id" TEXT                    7 of a column of integers refers to '7', and not to '07'
//
// For two columns that compare alike this is what `=` says, and the SQL is nothing but that. Elsewhere
// the SQL says what the columns would not say by themselves. A column that refers by equality alone does
// not hold the id of what it refers to: that is looked up.

import FetchModel

/// How one column of a foreign key is compared with the one that it refers to.
struct LinkTie: Sendable, Hashable {
  /// What the affinity of the column referred to makes of a value that refers to it, where a
  /// comparison with that column would not do so by itself.
  enum Conversion: Sendable, Hashable {
    case none
    /// Numbers become text.
    case text
    /// Text that is a number becomes that number.
    case number
    /// A value stays as it is stored.
    case stored
  }

  let conversion: Conversion
  /// The collation to compare with, where the referring column has another; nil where it has not.
  let collation: String?
  /// Whether what the referring column's own collation finds equal has all that refers to it, so that
  /// an index over it serves.
  let hasCoarserColumn: Bool
  /// Whether only the very value that is referred to does refer to it.
  let isExact: Bool
  /// Whether blanks at the end do not count. The Bloom filters of SQLite 3.40 take texts of
  /// different lengths for different ones, so no index may serve.
  let isTrimming: Bool

  static let plain = LinkTie(
    conversion: .none, collation: nil, hasCoarserColumn: false, isExact: true, isTrimming: false)
}

extension LinkTie {
  /// - Parameter isRowNumber: whether the column referred to holds integers and nothing else.
  init(_ column: Column, to referenced: Column, isRowNumber: Bool) {
    let conversion = Conversion(column.affinity, to: referenced.affinity)
    let isBinary = referenced.isBinary || isRowNumber
    let isAlike =
      isRowNumber && conversion == .none
      || folded(column.collation) == folded(referenced.collation)
    let isBare = conversion == .none || conversion == .stored
    self.init(
      conversion: conversion,
      collation: (isBare ? isAlike : isBinary) ? nil : isBinary ? "BINARY" : referenced.collation,
      hasCoarserColumn: conversion == .none && isBinary && !isAlike,
      isExact: isBinary && column.affinity.stores(as: referenced.affinity),
      isTrimming: !isRowNumber && folded(referenced.collation) == "rtrim")
  }
}

extension LinkTie.Conversion {
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
  /// Whether equal values of two such columns are stored alike.
  fileprivate func stores(as other: Affinity) -> Bool {
    self == other || [self, other].allSatisfy { $0 == .integer || $0 == .numeric }
  }
}

// MARK: - LinkTie → SQL

extension LinkTie {
  /// A condition: `value`, SQL for what refers, refers to what the column `referenced` holds. The
  /// index of `referenced` serves it.
  func leads(to referenced: String, from value: String) -> String {
    if isTrimming { return "+\(referenced) = \(converted(value))" }
    return switch conversion {
    case .none, .number: "\(referenced) = \(value)"
    case .text, .stored: "\(referenced) = +\(value)"
    }
  }

  /// A condition: what the column `column` holds refers to `value`, SQL for what is referred to.
  ///
  /// - Parameter isColumn: whether `value` is a column, with its affinity and collation.
  func refers(_ column: String, to value: String, isColumn: Bool = false) -> String {
    if isTrimming { return "\(comparable(column)) = +\(value)" }
    if conversion == .number, isColumn { return "\(value) = \(column)" }
    let condition = "\(comparable(column)) = \(value)"
    return hasCoarserColumn ? "\(column) = \(value) AND \(condition)" : condition
  }

  /// What a column holds, as what is equal to what it refers to.
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
  /// A condition: `values`, SQL for what the referring columns hold, lead to the row of `alias`.
  func leads(to alias: String?, from values: [String]) -> String {
    zip(ties, zip(referenced, values))
      .map { $0.leads(to: qualified($1.0, alias), from: $1.1) }.joined(separator: " AND ")
  }

  /// A condition: the row of `alias` refers to what holds `values`, SQL for the columns referred to.
  ///
  /// - Parameter areColumns: whether they are columns and nothing calculated.
  func refers(_ alias: String?, to values: [String], areColumns: Bool = false) -> String {
    zip(ties, zip(columns, values))
      .map { $0.refers(qualified($1.0, alias), to: $1.1, isColumn: areColumns) }
      .joined(separator: " AND ")
  }

  /// A condition with a parameter a column: the row refers to what holds the values bound.
  ///
  /// - Parameter test: `=`, or `IS`.
  func refersToBound(_ alias: String? = nil, _ test: String = "=") -> String {
    comparables(columns.map { qualified($0, alias) }).map { "\($0) \(test) ?" }
      .joined(separator: " AND ")
  }

  /// What the referring columns hold, as what is equal to what they refer to.
  func comparables(_ values: [String]) -> [String] {
    zip(ties, values).map { $0.comparable($1) }
  }
}
