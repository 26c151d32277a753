// Scheduled bodies: order, cancellation, release.

import TestSupport
import Testing

@testable import LiveFetchHTTPServer

extension HTTPServerTests {
  @Suite struct Timing {
    @Test func `bodies run in the order of their times`() async throws {
      let deadlines = try Deadlines()
      let ran = ConcurrentList<Int>()
      let base = Deadlines.now + 300_000_000
      for number in (0..<100).shuffled() {
        deadlines.schedule(at: base + UInt64(number) * 100_000) { ran.append(number) }
      }
      #expect(await eventually { ran.count == 100 })
      #expect(ran.all == Array(0..<100))
    }

    @Test func `equal times run in the order of scheduling`() async throws {
      let deadlines = try Deadlines()
      let ran = ConcurrentList<Int>()
      let time = Deadlines.now + 20_000_000
      for number in 0..<100 { deadlines.schedule(at: time) { ran.append(number) } }
      #expect(await eventually { ran.count == 100 })
      #expect(ran.all == Array(0..<100))
    }

    @Test func `an earlier one scheduled later runs earlier`() async throws {
      let deadlines = try Deadlines()
      let ran = ConcurrentList<String>()
      let base = Deadlines.now
      deadlines.schedule(at: base + 800_000_000) { ran.append("late") }
      deadlines.schedule(at: base + 300_000_000) { ran.append("early") }
      deadlines.schedule(after: -1) { ran.append("at once") }
      deadlines.schedule(at: 0) { ran.append("long ago") }
      #expect(await eventually { ran.count == 4 })
      #expect(ran.all.suffix(2) == ["early", "late"])
    }

    @Test func `none runs before its time`() async throws {
      let deadlines = try Deadlines()
      let times = ConcurrentList<UInt64>()
      let wanted = Deadlines.now + 50_000_000
      deadlines.schedule(at: wanted) { times.append(Deadlines.now) }
      #expect(await eventually { times.count == 1 })
      #expect(times.all[0] >= wanted)
    }

    @Test func `a cancelled one never runs and frees its body`() async throws {
      final class Witness: Sendable {}
      let deadlines = try Deadlines()
      let ran = ConcurrentList<String>()
      weak var witness: Witness?
      let deadline: Deadline
      do {
        let strong = Witness()
        witness = strong
        deadline = deadlines.schedule(after: 0.3) { [strong] in ran.append("\(strong)") }
      }
      #expect(witness != nil)
      #expect(deadline.cancel())
      #expect(witness == nil)
      #expect(!deadline.cancel())
      deadlines.schedule(after: 0.4) { ran.append("after") }
      #expect(await eventually { ran.count == 1 })
      #expect(ran.all == ["after"])
    }

    @Test func `one that has run cannot be cancelled`() async throws {
      let deadlines = try Deadlines()
      let ran = ConcurrentList<String>()
      let deadline = deadlines.schedule(after: 0) { ran.append("ran") }
      #expect(await eventually { ran.count == 1 })
      #expect(!deadline.cancel())
    }

    @Test func `cancelled ones do not pile up`() throws {
      let deadlines = try Deadlines()
      for _ in 0..<100_000 { deadlines.schedule(after: 60) {}.cancel() }
      #expect(deadlines.count <= 2048)
    }

    @Test func `thousands run, each once, cancelled ones not`() async throws {
      let deadlines = try Deadlines()
      let ran = ConcurrentList<Int>()
      let seed = UInt64.random(in: .min ... .max)
      var random = SeededRandom(seed: seed)
      var expected: Set<Int> = []
      for number in 0..<10_000 {
        let seconds = Double.random(in: 0.05...0.2, using: &random)
        let deadline = deadlines.schedule(after: seconds) { ran.append(number) }
        if Bool.random(using: &random), deadline.cancel() { continue }
        expected.insert(number)
      }
      #expect(await eventually { ran.count >= expected.count })
      try await Task.sleep(for: .milliseconds(50))
      #expect(ran.count == expected.count, "seed \(seed)")
      #expect(Set(ran.all) == expected, "seed \(seed)")
    }

    @Test func `a body may schedule, and may stop the deadlines`() async throws {
      let deadlines = try Deadlines()
      let ran = ConcurrentList<String>()
      deadlines.schedule(after: 0.01) { [deadlines] in
        ran.append("first")
        deadlines.schedule(after: 0.01) {
          ran.append("second")
          deadlines.stop()
        }
        deadlines.schedule(after: 0.1) { ran.append("never") }
      }
      #expect(await eventually { ran.count == 2 })
      try await Task.sleep(for: .milliseconds(150))
      #expect(ran.all == ["first", "second"])
      deadlines.schedule(after: 0) { ran.append("never") }
      #expect(deadlines.count == 0)
    }

    @Test func `letting go ends the thread, wherever it happens`() async throws {
      let ran = ConcurrentList<String>()
      for _ in 0..<50 {
        weak var gone: Deadlines?
        do {
          let deadlines = try Deadlines()
          gone = deadlines
          deadlines.schedule(after: 0.001) { ran.append("ran") }
          try await Task.sleep(for: .milliseconds(1))
        }
        #expect(await eventually { gone == nil })
      }
    }
  }
}
