// Old images, gathered once for many questions about one moment of the past.
//
// A question about the past makes a table of all that was touched since ("shadow") for itself, which
// costs as much as was touched, however little it asks. Where much was touched and several ask, the
// shadow is made once for the rest of the read transaction: a temporary table with indexes by key and
// link, under the name of the common table expression that it stands for. It ends with the transaction.

import FetchModel

/// The shadows that a connection has gathered in its read transaction.
struct GatheredPast {
  /// One table's shadow, and what was asked of it.
  fileprivate struct Shadow {
    /// The position that was asked about last, and how often in a row.
    var asked: Int64
    var times = 0
    /// Whether much was touched after it.
    var isLarge: Bool?
    /// Whose images the temporary table holds, and up to which position they were looked for.
    var filled: (position: Int64, end: Int64)?
  }

  /// From how many touched rows on it is worth the while.
  var fewestRows: Int64 = 1_000
  /// How many questions in a row about one position make their own shadows before.
  var patience = 2
  fileprivate var shadows: [String: Shadow] = [:]
  /// Whether a table could not be made or filled: questions go without.
  fileprivate var hasFailed = false
  /// How many positions are taken at a time; between two times the connection's limits count.
  fileprivate static let step: Int64 = 2_000

  /// The transaction has ended, and with it the tables.
  mutating func forget() { self = GatheredPast(fewestRows: fewestRows, patience: patience) }
}

extension ReadMoment {
  /// The moment as the newest one, where it is that.
  func settled(_ moment: Moment) -> Moment { moment == .past(token.position) ? .now : moment }

  /// The statement that reads some rows of a plan; of the past, from gathered shadows where these
  /// are of use.
  func rowStatement(
    of plan: FetchPlan, ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> FetchStatement {
    let alone = connection.rowStatements.statement(of: plan, ids: ids, at: moment, composer)
    guard case .past(let position) = moment, connection.access != .write,
      try connection.gathersPast(
        alone.shadows, of: history, after: position, upTo: token.position)
    else { return alone }
    var composer = composer
    composer.pastIsGathered = true
    return connection.rowStatements.statement(of: plan, ids: ids, at: moment, composer)
  }
}

extension Connection {
  /// Whether the shadows of `layouts` stand gathered as they were at `position`.
  ///
  /// - Throws: ``StoreError/queryTimeout`` where the time is over before they do; the next question
  ///   goes on from there.
  fileprivate func gathersPast(
    _ layouts: [HistoryLayout], of history: History, after position: Int64, upTo newest: Int64
  ) throws(StoreError) -> Bool {
    guard newest - position >= past.fewestRows, !past.hasFailed, !isInAutocommit else {
      return false
    }
    // Each is asked, so that each counts.
    var isWanted = false
    for layout in layouts {
      if try isGathered(layout, wantedAfter: position) { isWanted = true }
    }
    guard isWanted else { return false }
    let missing = layouts.filter { layout in
      past.shadows[layout.table]?.filled.map { $0 != (position, newest) } ?? true
    }
    guard !missing.isEmpty else { return true }
    do throws(StoreError) {
      try writingTemporaryTables { () throws(StoreError) in
        for layout in missing { try gather(layout, of: history, after: position, upTo: newest) }
      }
    } catch .queryTimeout {
      throw .queryTimeout
    } catch {
      // Without room for them, for one, each question may still find its own way.
      past.hasFailed = true
      if isInAutocommit { throw error }
      return false
    }
    return true
  }

  /// Whether a question about `position` is one of so many, and about so much, that it had better be
  /// served together with the others.
  private func isGathered(
    _ layout: HistoryLayout, wantedAfter position: Int64
  ) throws(StoreError) -> Bool {
    var shadow = past.shadows[layout.table] ?? GatheredPast.Shadow(asked: position)
    defer { past.shadows[layout.table] = shadow }
    if shadow.filled?.position == position { return true }
    if shadow.asked != position {
      (shadow.asked, shadow.times, shadow.isLarge) = (position, 0, nil)
    }
    shadow.times += 1
    guard shadow.times > past.patience else { return false }
    if shadow.isLarge == nil {
      shadow.isLarge =
        try first(
          layout.touchedBeyond, [.integer(position), .integer(max(0, past.fewestRows - 1))]
        ) { _ in true } ?? false
    }
    return shadow.isLarge == true
  }

  private func gather(
    _ layout: HistoryLayout, of history: History, after position: Int64, upTo newest: Int64
  ) throws(StoreError) {
    if past.shadows[layout.table]?.filled?.position != position {
      let links = history.tables.first { $0.layout == layout }?.links.map(\.key.columns) ?? []
      past.shadows[layout.table]?.filled = nil
      try execute("DROP TABLE IF EXISTS temp.\(layout.shadowName)")
      try execute(layout.gatheredTable(indexedBy: links))
      past.shadows[layout.table, default: GatheredPast.Shadow(asked: position)].filled =
        (position, position)
    }
    while let end = past.shadows[layout.table]?.filled?.end, end < newest {
      guard !hasToEnd else { throw .queryTimeout }
      let next = min(end + GatheredPast.step, newest)
      try run(layout.gathering, [.integer(end), .integer(next)])
      past.shadows[layout.table]?.filled?.end = next
    }
  }

  /// No statement is broken off inside: SQLite would end the whole transaction with one that writes.
  private func writingTemporaryTables(
    _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    try execute("PRAGMA query_only = OFF")
    watchesDeadline(false)
    defer {
      watchesDeadline(true)
      try? execute("PRAGMA query_only = ON")
    }
    try body()
  }
}
