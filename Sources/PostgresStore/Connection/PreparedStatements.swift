// A statement's key, which is its text with the types of its parameters → its name on a connection.

/// The prepared statements of one connection. The least recently used one is evicted first.
struct PreparedStatements {
  private let capacity: Int
  private var names: [String: (name: String, lastUse: UInt64)] = [:]
  private var counter: UInt64 = 0

  init(capacity: Int = 256) { self.capacity = max(1, capacity) }

  /// The name of the statement with this key; nil if it is not prepared.
  mutating func name(for key: String) -> String? {
    guard let name = names[key]?.name else { return nil }
    counter &+= 1
    names[key] = (name, counter)
    return name
  }

  /// A name for a new statement, and the name of the statement that must be deallocated, if any.
  /// O(n) if one is evicted.
  mutating func insert(_ key: String) -> (name: String, evicted: String?) {
    var evicted: String?
    if names.count >= capacity,
      let oldest = names.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      names[oldest.key] = nil
      evicted = oldest.value.name
    }
    counter &+= 1
    let name = "livefetch_\(counter)"
    names[key] = (name, counter)
    return (name, evicted)
  }

  mutating func remove(_ key: String) { names[key] = nil }
}

extension PreparedStatements {
  /// The greatest length of a prepared statement in bytes: a longer one is a list of constants, which differs from
  /// request to request, and each prepared one needs memory in the server.
  private static let maxBytes = 8_192

  /// The functions that convert their constants before they search.
  private static let searchCalls = ["begins", "contains", "ends", "like"].map {
    Array("livefetch_\($0)(".utf8)
  }

  /// False for a statement that is sent with its text each time: one longer than `maxBytes`, and one that calls
  /// a search function. PostgreSQL uses a generic plan after five executions, which converts the constant of
  /// the search again for each row. That takes longer than planning.
  ///
  /// - Complexity: O(length).
  static func shouldPrepare(_ sql: String) -> Bool {
    guard sql.utf8.count <= maxBytes else { return false }
    var rest = sql.utf8[...]
    // The functions are in the schema `livefetch`.
    while let point = rest.firstIndex(of: 0x2E) {
      rest = rest[point...].dropFirst()
      for name in searchCalls where rest.starts(with: name) { return false }
    }
    return true
  }
}
