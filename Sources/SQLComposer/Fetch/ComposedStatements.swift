// Statements that were composed for earlier requests, by what their SQL depends on.

import FetchModel

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

/// Composed statements of a store, shared by its readers, by what their SQL depends on.
package typealias ComposedStatements<Key: Hashable & Sendable> = BoundedCache<Key, FetchStatement>
