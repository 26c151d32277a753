// The order of saves, and the save whose answer was lost.

import DequeModule
import FetchModel
import Foundation

/// Serialises saves.
struct SaveQueue {
  private var isBusy = false
  private var waiting: Deque<CheckedContinuation<Void, Never>> = []

  mutating func leave() {
    if let next = waiting.popFirst() { next.resume() } else { isBusy = false }
  }

  /// Resumes `continuation` when no earlier save is in progress. The queue is busy afterwards.
  mutating func enter(_ continuation: CheckedContinuation<Void, Never>) {
    if isBusy { waiting.append(continuation) } else { continuation.resume() }
    isBusy = true
  }
}

/// The last save, if the store may have made it without an answer. The same changes are submitted again
/// under the same key, and a store that knows keys makes them once. After another save, the same changes
/// are new ones.
struct UnansweredSave {
  /// A save that is under way.
  struct Attempt {
    let body: JSON
    let key: String
    let isRepeated: Bool
  }

  private var save: (body: JSON, key: String)?
  /// The body of the unanswered save; nil if there is none.
  var body: JSON? { save?.body }

  /// Takes the unanswered save if it has this body; otherwise makes a new key.
  mutating func begin(_ body: JSON) -> Attempt {
    guard let save, save.body == body else {
      return Attempt(body: body, key: UUID().uuidString, isRepeated: false)
    }
    self.save = nil
    return Attempt(body: body, key: save.key, isRepeated: true)
  }

  /// Keeps a save that failed, if the store may have made it in this attempt or an earlier one.
  ///
  /// - Parameter error: nil after a success.
  mutating func end(_ attempt: Attempt, _ error: ObjectStoreError?) {
    guard let error else {
      save = nil
      return
    }
    if attempt.isRepeated || error.mayBeMade { save = (attempt.body, attempt.key) }
  }
}
