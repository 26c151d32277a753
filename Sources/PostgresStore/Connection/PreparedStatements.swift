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

extension PreparedStatements {
  /// The longest statement in bytes that is kept: a longer one is a list of constants, which differs from
  /// request to request, and each prepared one needs memory in the server.
  private static let longest = 8_192

  /// The functions that convert their constants before they search.
  private static let searches = ["begins", "contains", "ends", "like"].map {
    Array("livefetch_\($0)(".utf8)
  }

  /// False for a statement that is sent as a whole each time: a long one, and one that searches. After
  /// five executions PostgreSQL keeps a plan without the values of the parameters. It converts a constant
  /// again for each row, which takes longer than to plan the statement.
  ///
  /// - Complexity: O(length).
  static func keeps(_ sql: String) -> Bool {
    guard sql.utf8.count <= longest else { return false }
    var rest = sql.utf8[...]
    // The functions are in the schema `livefetch`.
    while let point = rest.firstIndex(of: 0x2E) {
      rest = rest[point...].dropFirst()
      for name in searches where rest.starts(with: name) { return false }
    }
    return true
  }
}
