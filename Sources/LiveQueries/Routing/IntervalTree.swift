// Maps ranges of values to live queries. A lookup by value returns the queries whose range contains
// it.
//
// A treap ordered by lower bound. Each node stores the greatest upper bound of its subtree. A
// lookup costs O(log n + k) when the k matching ranges are adjacent, and at most O(k log n).
// Insertion and removal cost O(log n).

import FetchModel

/// Live queries by range.
struct IntervalTree {
  private struct Node {
    let range: ValueRange
    let priority: UInt64
    var queries = QueryBag()
    var left = -1
    var right = -1
    /// The greatest upper bound in this subtree; nil if a range has no upper bound.
    var greatest: StoredValue?
  }

  private var nodes: [Node] = []
  private var free: [Int] = []
  private var root = -1
  private var random: UInt64 = 0x9E37_79B9_7F4A_7C15

  var isEmpty: Bool { root < 0 }

  mutating func insert(_ query: LiveQuery, _ range: ValueRange) {
    root = insert(query, range, at: root)
  }

  mutating func remove(_ query: LiveQuery, _ range: ValueRange) {
    root = remove(query, range, at: root)
  }

  /// Calls `body` with the queries of every range that contains `value`.
  func forEach(at value: StoredValue, _ body: (QueryBag) -> Void) {
    visit(from: root, at: value, body)
  }

  /// Calls `body` with the queries of every range.
  func forEach(_ body: (QueryBag) -> Void) { visit(from: root, body) }

  private func visit(from node: Int, at value: StoredValue, _ body: (QueryBag) -> Void) {
    guard node >= 0, nodes[node].greatest.map({ value <= $0 }) ?? true else { return }
    visit(from: nodes[node].left, at: value, body)
    guard nodes[node].range.lower.map({ $0 <= value }) ?? true else { return }
    if nodes[node].range.contains(value) { body(nodes[node].queries) }
    visit(from: nodes[node].right, at: value, body)
  }

  private func visit(from node: Int, _ body: (QueryBag) -> Void) {
    guard node >= 0 else { return }
    body(nodes[node].queries)
    visit(from: nodes[node].left, body)
    visit(from: nodes[node].right, body)
  }

  // MARK: Changing

  private mutating func insert(_ query: LiveQuery, _ range: ValueRange, at node: Int) -> Int {
    guard node >= 0 else { return makeNode(query, range) }
    if range == nodes[node].range {
      nodes[node].queries.insert(query)
      return node
    }
    if range.precedes(nodes[node].range) {
      nodes[node].left = insert(query, range, at: nodes[node].left)
      if priority(nodes[node].left) > nodes[node].priority { return rotateRight(node) }
    } else {
      nodes[node].right = insert(query, range, at: nodes[node].right)
      if priority(nodes[node].right) > nodes[node].priority { return rotateLeft(node) }
    }
    update(node)
    return node
  }

  private mutating func makeNode(_ query: LiveQuery, _ range: ValueRange) -> Int {
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    var node = Node(range: range, priority: random, greatest: range.upper)
    node.queries.insert(query)
    if let index = free.popLast() {
      nodes[index] = node
      return index
    }
    nodes.append(node)
    return nodes.count - 1
  }

  private mutating func remove(_ query: LiveQuery, _ range: ValueRange, at node: Int) -> Int {
    guard node >= 0 else { return node }
    if range == nodes[node].range {
      nodes[node].queries.remove(query)
      guard nodes[node].queries.isEmpty else { return node }
      free.append(node)
      return merge(nodes[node].left, nodes[node].right)
    }
    if range.precedes(nodes[node].range) {
      nodes[node].left = remove(query, range, at: nodes[node].left)
    } else {
      nodes[node].right = remove(query, range, at: nodes[node].right)
    }
    update(node)
    return node
  }

  /// Joins two subtrees. Every range in `left` precedes every range in `right`.
  private mutating func merge(_ left: Int, _ right: Int) -> Int {
    guard left >= 0 else { return right }
    guard right >= 0 else { return left }
    if nodes[left].priority > nodes[right].priority {
      nodes[left].right = merge(nodes[left].right, right)
      update(left)
      return left
    }
    nodes[right].left = merge(left, nodes[right].left)
    update(right)
    return right
  }

  private func priority(_ node: Int) -> UInt64 { node < 0 ? 0 : nodes[node].priority }

  private mutating func rotateRight(_ node: Int) -> Int {
    let upper = nodes[node].left
    nodes[node].left = nodes[upper].right
    nodes[upper].right = node
    update(node)
    update(upper)
    return upper
  }

  private mutating func rotateLeft(_ node: Int) -> Int {
    let upper = nodes[node].right
    nodes[node].right = nodes[upper].left
    nodes[upper].left = node
    update(node)
    update(upper)
    return upper
  }

  private mutating func update(_ node: Int) {
    var greatest = nodes[node].range.upper
    for child in [nodes[node].left, nodes[node].right] where child >= 0 {
      if let bound = greatest {
        greatest = nodes[child].greatest.map { Swift.max(bound, $0) }
      }
    }
    nodes[node].greatest = greatest
  }
}

extension ValueRange {
  /// Orders ranges by lower bound, then by upper bound. No lower bound is the least value, no upper
  /// bound the greatest.
  fileprivate func precedes(_ other: ValueRange) -> Bool {
    switch (lower, other.lower) {
    case (let own?, let others?) where own != others: return own < others
    case (nil, _?): return true
    case (_?, nil): return false
    default: break
    }
    guard let upper else { return false }
    return other.upper.map { upper < $0 } ?? true
  }
}
