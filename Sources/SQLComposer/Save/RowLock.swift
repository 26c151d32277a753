// The ids of rows → a statement that locks them in the order of their keys, for PostgreSQL.
//
//     SELECT 1 FROM "public"."city" WHERE "id" = ANY (?::integer[]) ORDER BY "id" FOR NO KEY UPDATE

import FetchModel

/// The lock that a change needs.
package enum RowLock: Sendable, Hashable {
  /// Foreign keys may refer to the row meanwhile.
  case update
  case delete

  fileprivate var clause: String {
    switch self {
    case .update: "FOR NO KEY UPDATE"
    case .delete: "FOR UPDATE"
    }
  }

  /// Returns the clauses after WHERE that lock the rows of `alias`.
  package func clauses(_ key: Key, _ alias: String) -> String {
    let columns = key.columns.map { qualified($0, alias) }.joined(separator: ", ")
    return " ORDER BY \(columns) \(clause) OF \(quoted(alias))"
  }
}

extension SaveStatements {
  /// Selects rows and locks them. Binds ``SaveTable/lockValues(_:)``.
  package func lock(_ lock: RowLock, in table: SaveTable) -> String {
    text(lock == .delete ? .lockForDelete : .lock, of: table) {
      let names = table.keyColumns.map { quoted(table.columns[$0].name) }
      let arrays = table.keyColumns.map { "?::\(table.columns[$0].declaredType)[]" }
      let condition =
        names.count == 1
        ? "\(names[0]) = ANY (\(arrays[0]))"
        : """
        (\(names.joined(separator: ", "))) IN \
        (SELECT * FROM unnest(\(arrays.joined(separator: ", "))))
        """
      return """
        SELECT 1 FROM \(table.source) WHERE \(condition) \
        ORDER BY \(names.joined(separator: ", ")) \(lock.clause)
        """
    }
  }
}

extension SaveTable {
  /// Returns an array for each column of the key, with its values in the rows with these ids; nil if
  /// no row can have one of them.
  package func lockValues(_ ids: Set<ObjectID>) -> [SQLValue]? {
    let rows = ids.compactMap { key.bindings(of: $0) }.filter { $0.count == keyColumns.count }
    guard !rows.isEmpty, !keyColumns.isEmpty else { return nil }
    return keyColumns.indices.map { part in
      .text(ArrayLiteral.text(of: rows.map { $0[part] }))
    }
  }
}
