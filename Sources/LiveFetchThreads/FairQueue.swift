// Elements of many callers → one order in which no caller waits for another's backlog.
//
// Two levels of round robin: each caller with elements gets one turn per round, and within a caller
// each connection does. Elements of one connection keep their order. When the queue is full, a new
// element replaces the newest element of the caller that has the most, so that one caller cannot
// shut the others out.

import DequeModule

/// The caller and connection to which an element belongs.
public struct QueueKey: Hashable, Sendable {
  public var caller: String
  public var connection: UInt64

  /// Without arguments, elements keep the order in which they arrive.
  @inlinable
  public init(caller: String = "", connection: UInt64 = 0) {
    self.caller = caller
    self.connection = connection
  }
}

/// A queue that is fair between callers, and between the connections of one caller. A plain value,
/// which its owner protects. Appending and removing are O(1), amortized. It is public and inlinable, so
/// that the compiler specializes it in other modules.
public struct FairQueue<Element> {
  /// The result of appending an element.
  public enum Admission {
    case queued
    /// The queue is full, and its caller has at least as many elements as any other.
    case refused
    /// The element was queued in place of this one, which has left the queue.
    case replaced(Element)
  }

  @usableFromInline var callers = Rotation<String, Rotation<UInt64, Deque<Element>>>()
  @usableFromInline let capacity: Int
  @inlinable public var count: Int { callers.total }

  @inlinable
  public init(capacity: Int) {
    self.capacity = capacity
  }

  @inlinable public var isEmpty: Bool { count == 0 }

  /// Appends an element. O(callers) if the queue is full.
  @inlinable
  public mutating func append(_ element: Element, for key: QueueKey) -> Admission {
    guard count >= capacity else {
      insert(element, for: key)
      return .queued
    }
    let longest = callers.members.max { $0.value.total < $1.value.total }
    guard let longest, (callers.members[key.caller]?.total ?? 0) + 1 < longest.value.total,
      let last = removeLast(of: longest.key)
    else { return .refused }
    insert(element, for: key)
    return .replaced(last)
  }

  /// Removes and returns the next element of the callers for which `isAllowed` returns true. Others
  /// keep their turns. O(callers) if it returns false.
  @inlinable
  public mutating func popFirst(where isAllowed: (String) -> Bool = { _ in true }) -> Element? {
    callers.popFirst(where: isAllowed) { $0.popFirst { $0.popFirst() } }
  }

  /// Removes and returns the elements that are first on their connections and for which `predicate`
  /// returns true. O(connections).
  @inlinable
  public mutating func removeFirst(where predicate: (Element) -> Bool) -> [Element] {
    let isFound = callers.members.values.contains { connections in
      connections.members.values.contains { $0.first.map(predicate) ?? false }
    }
    // Most times there is none, and nothing is copied.
    guard isFound else { return [] }
    var removed: [Element] = []
    callers.updateAll { connections in
      connections.updateAll { elements in
        while let first = elements.first, predicate(first) {
          _ = elements.popFirst()
          removed.append(first)
        }
      }
    }
    return removed
  }

  /// Removes and returns all elements.
  @inlinable
  public mutating func removeAll() -> [Element] {
    var removed: [Element] = []
    removed.reserveCapacity(count)
    while let element = popFirst() { removed.append(element) }
    return removed
  }

  @inlinable
  mutating func insert(_ element: Element, for key: QueueKey) {
    callers.update(key.caller) { $0.update(key.connection) { $0.append(element) } }
  }

  @inlinable
  mutating func removeLast(of caller: String) -> Element? {
    var last: Element?
    callers.update(caller) { connections in
      guard let connection = connections.last else { return }
      connections.update(connection) { last = $0.popLast() }
    }
    return last
  }
}

/// A container of elements.
@usableFromInline
protocol Holding {
  init()
  /// The number of elements.
  var total: Int { get }
}

/// Members that take turns. A member without elements is removed.
@usableFromInline
struct Rotation<Key: Hashable, Member: Holding>: Holding {
  @usableFromInline var members: [Key: Member] = [:]
  /// The members' keys in the order of their turns.
  @usableFromInline var turns = Deque<Key>()
  @usableFromInline var total = 0

  @inlinable init() {}

  @inlinable var last: Key? { turns.last }

  /// Removes an element of the first member in turn for whose key `isAllowed` returns true.
  @inlinable
  mutating func popFirst<Element>(
    where isAllowed: (Key) -> Bool = { _ in true }, _ take: (inout Member) -> Element?
  ) -> Element? {
    guard let turn = turns.firstIndex(where: isAllowed) else { return nil }
    let key = turns.remove(at: turn)
    guard let index = members.index(forKey: key) else { return nil }
    let element = take(&members.values[index])
    if element != nil { total -= 1 }
    if members.values[index].total > 0 {
      turns.append(key)
    } else {
      members.remove(at: index)
    }
    return element
  }

  /// Changes one member, which is created if it does not exist. O(members) if it becomes empty.
  @inlinable
  mutating func update(_ key: Key, _ change: (inout Member) -> Void) {
    let before = members[key]?.total ?? 0
    change(&members[key, default: Member()])
    let after = members[key]?.total ?? 0
    total += after - before
    if before == 0, after > 0 { turns.append(key) }
    guard after == 0 else { return }
    members[key] = nil
    if before > 0 { turns.removeAll { $0 == key } }
  }

  /// Changes every member. O(members).
  @inlinable
  mutating func updateAll(_ change: (inout Member) -> Void) {
    for key in Array(members.keys) {
      if let index = members.index(forKey: key) { change(&members.values[index]) }
    }
    members = members.filter { $0.value.total > 0 }
    turns.removeAll { members[$0] == nil }
    total = members.values.reduce(0) { $0 + $1.total }
  }
}

extension Deque: Holding {
  @usableFromInline var total: Int { count }
}
