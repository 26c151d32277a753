// The statements that read one object by its id: composed once for each kind of item.

import FetchModel
import Synchronization

/// Composed statements of a store, shared by its readers.
final class ObjectStatements: Sendable {
  /// Kinds come from clients' selections: beyond this many, all are forgotten.
  private static let capacity = 1_000

  // Guards the statements; composing happens outside.
  private let statements = Mutex<[ItemKind: FetchStatement]>([:])

  /// The statement of a kind.
  ///
  /// - Parameter compose: makes it where it is not known yet.
  func statement(of kind: ItemKind, _ compose: () -> FetchStatement) -> FetchStatement {
    if let known = statements.withLock({ $0[kind] }) { return known }
    let statement = compose()
    statements.withLock { statements in
      if statements.count >= Self.capacity { statements.removeAll() }
      statements[kind] = statement
    }
    return statement
  }
}

extension FetchStatement {
  /// The same statement with other values.
  func binding(_ bindings: [SQLValue]) -> FetchStatement {
    FetchStatement(sql: sql, bindings: bindings, layout: layout)
  }
}
