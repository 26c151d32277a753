// Maps the temporary ids of recent inserts to their permanent ids.

/// Keeps at least the last ``minCount`` entries, and drops older ones, so that a long-lived context
/// does not grow.
struct PermanentIDMap {
  static let minCount = 10_000

  private var latest: [String: ObjectID] = [:]
  private var earlier: [String: ObjectID] = [:]

  /// The permanent id for a temporary one.
  subscript(name: String) -> ObjectID? { latest[name] ?? earlier[name] }

  mutating func merge(_ ids: [String: ObjectID]) {
    guard !ids.isEmpty else { return }
    if latest.count >= Self.minCount { (earlier, latest) = (latest, [:]) }
    latest.merge(ids) { $1 }
  }
}
