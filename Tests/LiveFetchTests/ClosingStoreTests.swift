// A local store is closed while a wait begins.

import FetchModel
import LiveFetch
import Synchronization
import TestSupport
import Testing

@Suite("A store that closes", .mayBlock)
struct ClosingStoreTests {
  /// Requests begin on other threads while the store closes, so some are between the check that it
  /// is open and the engine.
  @Test("A wait that begins while the store closes is answered")
  func waitsWhileClosing() async throws {
    let request = try JSON(parsing: Array(#"{"entity":"city","since":"now","wait":60}"#.utf8))
    for round in 0..<30 {
      let opened = try OpenedStore(.local, sql: "CREATE TABLE city(id INTEGER PRIMARY KEY);")
      let store = try #require(opened.store as? LocalStore)
      let begun = Counter()
      let ended = Counter()
      for _ in 0..<64 {
        Task.detached {
          begun.add()
          _ = try? await store.fetch(request)
          ended.add()
        }
      }
      #expect(await reached(round * 2, by: begun))
      store.close()
      try #require(await reached(64, by: ended), "\(ended.value)")
    }
  }

  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
  }

  private func reached(_ count: Int, by counter: Counter) async -> Bool {
    for _ in 0..<20_000 where counter.value < count { try? await Task.sleep(for: .milliseconds(2)) }
    return counter.value >= count
  }
}
