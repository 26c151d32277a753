// Many resumptions → few rings of their workers' bells.
//
// A worker that is woken looks through all its suspended connections for those that were resumed: woken
// for each of ten thousand it spends more time on that than on their answers.

/// Workers that were given something to do and are still to be woken: give many answers with one of
/// these, then ``ring()``.
public final class GatheredRings {
  /// How many resumptions a worker hears of at a time, so that it is busy with the first while the
  /// last are made.
  private static let most = 256

  private var waiting: [(bell: WorkerBell, count: Int)] = []

  public init() {}

  func add(_ bell: WorkerBell) {
    guard let place = waiting.firstIndex(where: { $0.bell === bell }) else {
      return waiting.append((bell, 1))
    }
    waiting[place].count += 1
    guard waiting[place].count >= Self.most else { return }
    waiting[place].count = 0
    bell.ring()
  }

  /// Wakes those that were not woken yet.
  public func ring() {
    for (bell, count) in waiting where count > 0 { bell.ring() }
    waiting = []
  }
}
