// Combines the wakeups of many resumed connections.
//
// A worker that wakes walks through all its suspended connections to find the resumed ones. One
// wakeup for each of ten thousand connections would cost more than their responses.

/// Workers with resumed connections that were not woken yet. Resume many connections with one
/// instance, then call ``wake()``.
public final class WakeupBatch {
  /// The number of resumptions after which a worker is woken, so that it works in parallel with
  /// further resumptions.
  private static let most = 256

  private var waiting: [(wakeup: WakeupEvent, count: Int)] = []
  /// The number of resumptions so far.
  private(set) var count = 0

  /// Makes an empty batch.
  public init() {}

  func add(_ wakeup: WakeupEvent) {
    count += 1
    guard let place = waiting.firstIndex(where: { $0.wakeup === wakeup }) else {
      return waiting.append((wakeup, 1))
    }
    waiting[place].count += 1
    guard waiting[place].count >= Self.most else { return }
    waiting[place].count = 0
    wakeup.signal()
  }

  /// Wakes the remaining workers.
  public func wake() {
    for (wakeup, count) in waiting where count > 0 { wakeup.signal() }
    waiting = []
  }
}
