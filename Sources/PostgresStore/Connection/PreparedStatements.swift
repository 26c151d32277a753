// Statement texts → names of statements that are prepared on a connection.

/// The prepared statements of one connection. The least recently used one is evicted first.
struct PreparedStatements {
  private let capacity: Int
  private var names: [String: (name: String, lastUse: UInt64)] = [:]
  private var uses: UInt64 = 0

  init(capacity: Int = 256) { self.capacity = max(1, capacity) }

  /// The name of the statement with this text; nil if it is not prepared.
  mutating func name(for sql: String) -> String? {
    guard let name = names[sql]?.name else { return nil }
    uses &+= 1
    names[sql] = (name, uses)
    return name
  }

  /// A name for a new statement, and the name of the statement that must be deallocated, if any.
  /// O(n) if one is evicted.
  mutating func insert(_ sql: String) -> (name: String, evicted: String?) {
    var evicted: String?
    if names.count >= capacity,
      let oldest = names.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      names[oldest.key] = nil
      evicted = oldest.value.name
    }
    uses &+= 1
    let name = "livefetch_\(uses)"
    names[sql] = (name, uses)
    return (name, evicted)
  }

  mutating func remove(_ sql: String) { names[sql] = nil }

  mutating func removeAll() { names.removeAll() }
}
