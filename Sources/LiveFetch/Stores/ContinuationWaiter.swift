// The engine's answers → the tasks that wait for them.

import FetchModel
import LiveQueries

/// A task that waits for one answer of the engine; nil if there will be none.
typealias ContinuationWaiter = SingleShotContinuation<LiveAnswer?>

extension SingleShotContinuation: LiveWaiter where Value == LiveAnswer? {}

/// Passes the engine's answers on to waiting tasks.
struct ContinuationDelivery: LiveDelivery {
  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    for waiter in waiters { (waiter as? ContinuationWaiter)?.end(answer) }
  }
}

extension SaveReceipt {
  init(_ result: SaveResult) {
    self.init(
      token: result.token.description,
      ids: Dictionary(result.ids.map { ($0.name, $0.id) }) { $1 },
      inserted: result.inserted, updated: result.updated, deleted: result.deleted)
  }
}
