// Positions → the saves between them, each folded to what it did: objects inserted, updated (with
// the properties that changed) and deleted. What came and went within one save is not named.

import FetchModel

extension History {
  /// The saves after `token`, oldest first, at most `limit`; nil where the token cannot be continued
  /// from. Without a token: everything that history holds.
  ///
  /// The cost grows with the rows touched in these saves, and a little with those touched since.
  func changes(
    after token: Token?, limit: Int, on connection: Connection
  ) throws(StoreError) -> ChangeHistory? {
    let newest = try newestToken(on: connection)
    if let token, try standing(of: token, on: connection) == .expired { return nil }
    let oldest = try oldestToken(epoch: newest.epoch, on: connection)
    let from = token ?? oldest ?? newest
    let saves = try SaveRange.all(after: from, upTo: newest, limit: limit, on: connection)
    let to = saves.count < limit ? newest : saves.last?.token ?? newest
    guard let last = saves.last else { return ChangeHistory(from: from, to: to, saves: []) }
    var folds = [SaveFold](repeating: SaveFold(), count: saves.count)
    for table in try tables(touchedAfter: from.position, upTo: last.token.position, on: connection)
    {
      let reader = ChangeReader(table: table, saves: saves, first: from.position)
      try reader.fold(into: &folds, history: self, on: connection)
    }
    let records = zip(saves, folds).map { $1.record(of: $0) }
    return ChangeHistory(from: from, to: to, saves: records)
  }

  private func oldestToken(
    epoch: String, on connection: Connection
  ) throws(StoreError) -> Token? {
    try connection.first(
      "SELECT position, nonce FROM main.livefetch_position ORDER BY position LIMIT 1"
    ) {
      Token(
        epoch: epoch, position: $0.integer(0), nonce: UInt32(truncatingIfNeeded: $0.integer(1)))
    }
  }

  /// The followed tables of which rows were touched.
  func tables(
    touchedAfter first: Int64, upTo last: Int64, on connection: Connection
  ) throws(StoreError) -> [FollowedTable] {
    try connection.all(
      """
      SELECT DISTINCT source FROM main.livefetch_position WHERE position > ? AND position <= ?
      ORDER BY source
      """, [.integer(first), .integer(last)]
    ) { $0.integer(0) }.compactMap(table(number:))
  }
}

/// The end of one save.
struct SaveRange {
  let token: Token
  let at: Double

  /// Commits of others that nobody has stamped yet are one save, now.
  static func all(
    after first: Token, upTo newest: Token, limit: Int, on connection: Connection
  ) throws(StoreError) -> [SaveRange] {
    var saves = try connection.all(
      """
      SELECT s.position, p.nonce, s.at FROM main.livefetch_save AS s
      JOIN main.livefetch_position AS p USING (position)
      WHERE s.position > ? ORDER BY s.position LIMIT ?
      """, [.integer(first.position), .integer(Int64(max(0, limit)))]
    ) { row in
      SaveRange(
        token: Token(
          epoch: first.epoch, position: row.integer(0),
          nonce: UInt32(truncatingIfNeeded: row.integer(1))),
        at: row.double(2))
    }
    if saves.count < limit, (saves.last?.token ?? first).position < newest.position {
      saves.append(SaveRange(token: newest, at: currentSeconds()))
    }
    return saves
  }
}

/// What one save did, while it is found out table by table.
struct SaveFold {
  private var inserted: [Int: [ObjectID]] = [:]
  private var deleted: [Int: [ObjectID]] = [:]
  private var updatedOrder: [Int: [ObjectID]] = [:]
  private var updated: [Int: [ObjectID: [String]]] = [:]

  mutating func insert(_ id: ObjectID, _ entity: Int) { inserted[entity, default: []].append(id) }
  mutating func delete(_ id: ObjectID, _ entity: Int) { deleted[entity, default: []].append(id) }

  mutating func update(_ id: ObjectID, _ entity: Int, _ properties: [String]) {
    if updated[entity]?[id] == nil { updatedOrder[entity, default: []].append(id) }
    let known = updated[entity]?[id] ?? []
    updated[entity, default: [:]][id] = known + properties.filter { !known.contains($0) }
  }

  func record(of save: SaveRange) -> SaveRecord {
    var updates: [Int: [(id: ObjectID, properties: [String])]] = [:]
    for (entity, ids) in updatedOrder {
      let others = Set((inserted[entity] ?? []) + (deleted[entity] ?? []))
      let kept = ids.filter { !others.contains($0) }
      if !kept.isEmpty { updates[entity] = kept.map { ($0, updated[entity]?[$0] ?? []) } }
    }
    return SaveRecord(
      token: save.token, at: Instant(secondsSince1970: save.at) ?? Instant(seconds: 0),
      inserted: inserted, updated: updates, deleted: deleted)
  }
}
