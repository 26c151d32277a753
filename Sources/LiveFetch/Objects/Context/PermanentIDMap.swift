// Maps the temporary ids of recent inserts to their permanent ids.

/// Keeps at least the last ``most`` and at most twice as many entries, so that a long-lived context
/// does not grow.
struct PermanentIDMap {
  static let most = 10_000

  private var latest: [String: ObjectID] = [:]
  private var earlier: [String: ObjectID] = [:]

  subscript(name: String) -> ObjectID? { latest[name] ?? earlier[name] }

  mutating func merge(_ ids: [String: ObjectID]) {
    guard !ids.isEmpty else { return }
    if latest.count >= Self.most { (earlier, latest) = (latest, [:]) }
    latest.merge(ids) { $1 }
  }
}
