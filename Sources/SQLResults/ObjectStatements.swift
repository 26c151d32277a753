// The statements that read one object. The statement of each kind of item is composed once.

import FetchModel
import SQLComposer
import Synchronization

/// The values that items contain. Items of the same kind are interchangeable.
package struct ItemKind: Sendable, Hashable {
  package let entity: Int
  package let selection: [SelectedValue]
  package let integersAsStrings: Bool

  package init(entity: Int, selection: [SelectedValue], integersAsStrings: Bool) {
    self.entity = entity
    self.selection = selection
    self.integersAsStrings = integersAsStrings
  }
}

/// The composed statements of a store, shared by its readers.
package final class ObjectStatements: Sendable {
  /// The most kinds. Clients determine them by their selections. Beyond this number, all statements
  /// are dropped.
  private static let capacity = 1_000

  // Protects the statements. Never held while a statement is composed.
  private let statements = Mutex<[ItemKind: FetchStatement]>([:])

  package init() {}

  /// Returns the statement of a kind.
  ///
  /// - Parameter compose: Called for a new kind.
  package func statement(of kind: ItemKind, _ compose: () -> FetchStatement) -> FetchStatement {
    if let known = statements.withLock({ $0[kind] }) { return known }
    let statement = compose()
    statements.withLock { statements in
      if statements.count >= Self.capacity { statements.removeAll() }
      statements[kind] = statement
    }
    return statement
  }
}
