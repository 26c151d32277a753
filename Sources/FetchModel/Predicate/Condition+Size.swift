// The sizes of conditions and expressions: the number of their operations, and the memory that they
// need.

extension ResolvedExpression {
  /// The number of operations, comparisons and calls including itself, at most `limit`. O(limit).
  func size(upTo limit: Int) -> Int {
    var size = Size(limit: limit)
    size.count(self)
    return size.count
  }
}

extension Condition {
  /// The memory in bytes that the condition and what is derived from it need while it is followed,
  /// about. O(operations and constants).
  public var memorySize: Int {
    var size = Size(limit: .max)
    size.count(self)
    return size.memory
  }
}

extension GroupedQuery {
  /// The memory in bytes that the expressions and the condition need while they are followed, about.
  /// O(operations and constants).
  public var memorySize: Int {
    var size = Size(limit: .max)
    size.count(having)
    for value in columns.map(\.value) + groups + order.map(\.value) { size.count(value) }
    return size.memory
  }
}

private struct Size {
  let limit: Int
  var count = 0
  /// The number of constants, and the bytes of their texts.
  var constants = 0
  var bytes = 0
  var memory: Int { count * 256 + constants * 160 + bytes }

  mutating func count(_ value: ResolvedExpression) {
    count += 1
    guard count < limit else { return }
    if let constant = value.constant { add([constant]) }
    count(value.parts)
  }

  mutating func count(_ condition: Condition) {
    count += 1
    guard count < limit else { return }
    switch condition {
    case .between(let interval): add([interval.lower, interval.upper])
    case .membership(let membership): add(membership.values)
    case .constant, .and, .or, .comparison, .exists: break
    }
    count(condition.parts)
  }

  private mutating func count(_ parts: (conditions: [Condition], values: [ResolvedExpression])) {
    for condition in parts.conditions { count(condition) }
    for value in parts.values { count(value) }
  }

  private mutating func add(_ values: [Value]) {
    constants += values.count
    for value in values {
      switch value {
      case .string(let text), .json(let text), .id(.text(let text)): bytes += text.utf8.count
      case .binary(let binary): bytes += binary.count
      case .null, .boolean, .integer, .double, .date, .id(.integer): break
      }
    }
  }
}
