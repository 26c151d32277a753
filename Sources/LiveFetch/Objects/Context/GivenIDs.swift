// Temporary names → the permanent ids that they became, of the latest saves.

/// Remembers which ids inserts got: at least the last ``most`` of them, and at most twice as many, so
/// that a context that lives long does not grow.
struct GivenIDs {
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
