// An index that would help a statement, and its CREATE INDEX statement.

import FetchModel

/// A suggested index.
package struct IndexSuggestion {
  /// The order of an index's entries, as in ORDER BY.
  package struct Order: Hashable, Sendable {
    package let isDescending: Bool
    /// ` NULLS FIRST` or ` NULLS LAST`; empty for the place that the database gives NULL by itself.
    package let nulls: String
  }

  /// A column of the index.
  package struct Term: Hashable, Sendable {
    package let column: String
    /// The collation as in SQL; nil for the column's own.
    package let collation: String?
    /// The order that the statement asks for; nil if any order serves.
    package let order: Order?

    package init(column: String, collation: String? = nil, order: Order? = nil) {
      self.column = column
      self.collation = collation
      self.order = order
    }
  }

  package let table: String
  package let terms: [Term]

  /// `CREATE INDEX "City_country_population" ON "City"("country", "population" DESC)`
  var statement: String {
    let name = ([table] + terms.map(\.column)).joined(separator: "_")
    let columns = terms.map { term in
      quoted(term.column) + (term.collation.map { " COLLATE \($0)" } ?? "")
        + (term.order?.isDescending == true ? " DESC" : "") + (term.order?.nulls ?? "")
    }
    return
      "CREATE INDEX \(quoted(name)) ON \(quoted(table))(\(columns.joined(separator: ", ")))"
  }

  /// True if an index with these columns begins with the suggested ones. An expression in it is nil.
  /// Collations and orders are not compared.
  package func isServed(by columns: [String?]) -> Bool {
    columns.count >= terms.count
      && zip(columns, terms).allSatisfy { $0.map(folded) == folded($1.column) }
  }
}

/// The part of a statement that a column of an index serves.
package enum IndexUse: Hashable, Sendable {
  case equality
  case range
  case order(IndexSuggestion.Order)

  /// The order that the statement asks for; nil if any order serves.
  package var order: IndexSuggestion.Order? {
    if case .order(let order) = self { order } else { nil }
  }
}
