// A range of positions → the objects changed in it, their differing properties, and the objects
// whose to-many relationships changed.

import FetchModel
import SQLComposer
import SQLResults

extension History {
  /// Returns the changes after `position`, up to the state that `connection` sees. O(changed rows).
  ///
  /// - Parameter last: The newest position of that state.
  func changeSet(
    after position: Int64, upTo last: Int64, on connection: Connection
  ) throws(StoreError) -> ChangeSet {
    var changes = ChangeSet(start: HistoryPosition(position))
    guard position < last else { return changes }
    changes.hasStatesBetween = position + 1 < last
    for table in try tables(changedAfter: position, upTo: last, on: connection) {
      guard let query = changeQuery(of: table) else { continue }
      try connection.run(query.statement(after: HistoryPosition(position))) { row in
        query.add(row, to: &changes)
        return true
      }
    }
    return changes
  }
}
