// Statements that were composed for earlier requests, by what their SQL depends on.

import FetchModel
import Synchronization

/// The values that items contain. Items of the same kind are interchangeable.
package struct ItemKind: Sendable, Hashable {
  package let entity: Int
  package let selection: [SelectedValue]
  package let integersAsStrings: Bool
  /// The rules, with parameters for the caller's values, under which the items are read.
  package let rules: CallerAccess?

  package init(
    entity: Int, selection: [SelectedValue], integersAsStrings: Bool, rules: CallerAccess? = nil
  ) {
    self.entity = entity
    self.selection = selection
    self.integersAsStrings = integersAsStrings
    self.rules = rules
  }
}

/// Composed statements of a store, shared by its readers. Each is composed once.
package final class ComposedStatements<Key: Hashable & Sendable>: Sendable {
  /// The maximum number of statements. Clients determine them by their fetches. Beyond this number, all are dropped.
  private static var capacity: Int { 1_000 }

  // Protects the statements. Never held while a statement is composed.
  private let statements = Mutex<[Key: FetchStatement]>([:])

  package init() {}

  /// Returns the statement of a key.
  ///
  /// - Parameter compose: Called for a new key.
  package func statement(of key: Key, _ compose: () -> FetchStatement) -> FetchStatement {
    if let known = statements.withLock({ $0[key] }) { return known }
    let statement = compose()
    statements.withLock { statements in
      if statements.count >= Self.capacity { statements.removeAll() }
      statements[key] = statement
    }
    return statement
  }
}
