// A table or view as a database's catalog describes it. Names and relationships of the model come
// later.

import FetchModel

/// A table or view of the catalog.
package struct TableDescription {
  package struct RawForeignKey {
    package let columns: [String]
    package let table: String
    /// nil refers to the primary key of `table`.
    package let referenced: [String]?
    /// `CASCADE`, `SET NULL`, `NO ACTION` or another action.
    package let onDelete: String
    /// In a database with typed columns: false if a value may refer to an equal one with another text.
    package let isExact: Bool

    package init(
      columns: [String], table: String, referenced: [String]?, onDelete: String,
      isExact: Bool = true
    ) {
      self.columns = columns
      self.table = table
      self.referenced = referenced
      self.onDelete = onDelete
      self.isExact = isExact
    }
  }

  package let name: String
  package let isView: Bool
  package let isWithoutRowid: Bool
  package let columns: [Column]
  /// The primary key's columns in key order; empty without a primary key.
  package let primaryKey: [String]
  package let isRowidAlias: Bool
  /// In declaration order.
  package let foreignKeys: [RawForeignKey]
  package let uniqueIndexes: [UniqueIndex]
  /// The CREATE statement.
  package let sql: String
  /// False if changes of the table cannot be recorded although it has a key.
  package let isObservable: Bool
  /// True if a transaction holds the table, so that its changes cannot be recorded yet.
  package var isLocked = false
  /// False for a view whose column `id` is NULL in some rows, or equal in several.
  package var isIdentifiedByID = true

  package init(
    name: String, isView: Bool, isWithoutRowid: Bool, columns: [Column], primaryKey: [String],
    isRowidAlias: Bool, foreignKeys: [RawForeignKey], uniqueIndexes: [UniqueIndex], sql: String,
    isObservable: Bool = true
  ) {
    self.name = name
    self.isView = isView
    self.isWithoutRowid = isWithoutRowid
    self.columns = columns
    self.primaryKey = primaryKey
    self.isRowidAlias = isRowidAlias
    self.foreignKeys = foreignKeys
    self.uniqueIndexes = uniqueIndexes
    self.sql = sql
    self.isObservable = isObservable
  }

  /// The column `id` of a view, if it has one.
  package var viewID: Column? { isView ? column(named: "id") : nil }

  /// The rows of a view in which its column `id` is looked at, to see whether it identifies them.
  package static let lookedAtRows = 1_000

  /// Returns the column with this name, or else the first one that differs from it only in case.
  package func column(named name: String) -> Column? {
    columns.first { $0.name == name } ?? columns.first { folded($0.name) == folded(name) }
  }

  /// Returns how SQLite compares `columns` of this table with the columns that they refer to.
  package func comparisons(_ columns: [String], to target: TableDescription, _ referenced: [String])
    -> [ForeignKeyComparison]
  {
    zip(columns, referenced).map { name, other in
      guard let column = column(named: name), let referenced = target.column(named: other) else {
        return .plain
      }
      let isRowNumber = target.isRowidAlias && target.primaryKey.map(folded) == [folded(other)]
      return ForeignKeyComparison(column, to: referenced, isRowNumber: isRowNumber)
    }
  }
}

extension [TableDescription] {
  /// True if a table's SQL contains DEFERRED. A column's name may cause a false positive.
  package var mayHaveDeferredKeys: Bool {
    contains { folded($0.sql).contains("deferred") }
  }
}
