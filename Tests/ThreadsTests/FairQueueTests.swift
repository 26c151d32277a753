// The fair queue: the turns of callers and connections, capacity, removal.

import Testing

@testable import LiveFetchThreads

@Suite struct FairQueueTests {
  private static func key(_ caller: String, _ connection: UInt64 = 0) -> QueueKey {
    QueueKey(caller: caller, connection: connection)
  }

  private static func taken(_ queue: inout FairQueue<String>) -> [String] {
    var all: [String] = []
    while let next = queue.popFirst() { all.append(next) }
    return all
  }

  @Test func `callers take turns, and the connections of a caller do within its turn`() {
    var queue = FairQueue<String>(capacity: 100)
    for name in ["a1", "a2", "a3"] { _ = queue.append(name, for: Self.key("a", 1)) }
    _ = queue.append("A1", for: Self.key("a", 2))
    for name in ["b1", "b2"] { _ = queue.append(name, for: Self.key("b", 1)) }
    #expect(queue.count == 6)
    #expect(Self.taken(&queue) == ["a1", "b1", "A1", "b2", "a2", "a3"])
    #expect(queue.isEmpty)
  }

  @Test func `a caller that is not allowed keeps its turn and its elements`() {
    var queue = FairQueue<String>(capacity: 100)
    for (caller, name) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "c1"), ("c", "c2")] {
      _ = queue.append(name, for: Self.key(caller))
    }
    #expect(queue.popFirst { $0 != "a" && $0 != "b" } == "c1")
    #expect(queue.popFirst { $0 == "d" } == nil)
    #expect(queue.count == 4)
    #expect(Self.taken(&queue) == ["a1", "b1", "c2", "a2"])
  }

  @Test func `one caller's elements keep their order`() {
    var queue = FairQueue<String>(capacity: 100)
    for number in 0..<20 { _ = queue.append("\(number)", for: QueueKey()) }
    #expect(Self.taken(&queue) == (0..<20).map { "\($0)" })
  }

  @Test func `a caller that returns is queued after waiting callers`() {
    var queue = FairQueue<String>(capacity: 100)
    for name in ["a1", "a2"] { _ = queue.append(name, for: Self.key("a")) }
    _ = queue.append("b1", for: Self.key("b"))
    #expect(queue.popFirst() == "a1")
    _ = queue.append("c1", for: Self.key("c"))
    #expect(queue.popFirst() == "b1")
    _ = queue.append("b2", for: Self.key("b"))
    #expect(Self.taken(&queue) == ["a2", "c1", "b2"])
  }

  @Test func `a full queue replaces the newest element of the client that has most`() {
    var queue = FairQueue<String>(capacity: 3)
    for name in ["a1", "a2", "a3"] { _ = queue.append(name, for: Self.key("a")) }
    guard case .refused = queue.append("a4", for: Self.key("a")) else {
      Issue.record("the caller with most is not refused")
      return
    }
    guard case .replaced("a3") = queue.append("b1", for: Self.key("b")) else {
      Issue.record("another caller gets no place")
      return
    }
    guard case .refused = queue.append("b2", for: Self.key("b")) else {
      Issue.record("a caller gets more than its share")
      return
    }
    #expect(queue.count == 3)
    #expect(Self.taken(&queue) == ["a1", "b1", "a2"])
  }

  @Test func `removed elements do not change the turns of the others`() {
    var queue = FairQueue<String>(capacity: 100)
    for name in ["x1", "a2"] { _ = queue.append(name, for: Self.key("a")) }
    _ = queue.append("x2", for: Self.key("b"))
    for name in ["c1", "x3"] { _ = queue.append(name, for: Self.key("c")) }
    #expect(queue.removeFirst { $0.hasPrefix("x") }.sorted() == ["x1", "x2"])
    #expect(queue.count == 3)
    _ = queue.append("b3", for: Self.key("b"))
    #expect(Self.taken(&queue) == ["a2", "c1", "b3", "x3"])
  }

  @Test func `everything can be taken out at once`() {
    var queue = FairQueue<String>(capacity: 100)
    for name in ["a1", "a2"] { _ = queue.append(name, for: Self.key("a")) }
    _ = queue.append("b1", for: Self.key("b"))
    #expect(queue.removeAll() == ["a1", "b1", "a2"])
    #expect(queue.popFirst() == nil)
  }
}
