// Old images, gathered once for many questions about one moment of the past.
//
// A question about the past makes a table of all that was touched since ("shadow") for itself, which
// costs as much as was touched, however little it asks. Where much was touched and several ask, the
// shadows are made once for the rest of the read transaction: temporary tables with an index by key,
// under the names of the common table expressions that they stand for. They end with the transaction.

import CSQLite
import FetchModel

/// The shadows that a connection has gathered in its read transaction.
struct GatheredPast {
  /// From how many touched rows on it is worth the while.
  var fewestRows: Int64 = 1_000
  /// How many questions in a row about one position make their own shadows before.
  var patience = 2
  /// What was asked about last, and how often in a row.
  fileprivate var asked: (position: Int64, times: Int)?
  /// Whose images the tables hold, and up to which position they were looked for.
  fileprivate var shadows: (position: Int64, end: Int64)?
  /// How many positions are taken at a time; between two times the connection's limits count.
  fileprivate static let step: Int64 = 2_000

  /// The transaction has ended, and with it the tables.
  mutating func forget() { self = GatheredPast(fewestRows: fewestRows, patience: patience) }

  /// Whether a question about `position` is one of so many that it had better be served together
  /// with the others.
  fileprivate mutating func isWanted(_ position: Int64, upTo newest: Int64) -> Bool {
    guard newest - position >= fewestRows else { return false }
    let times = asked?.position == position ? asked?.times ?? 0 : 0
    asked = (position, times + 1)
    return times >= patience
  }
}

extension ReadMoment {
  /// The moment as the newest one, where it is that.
  func settled(_ moment: Moment) -> Moment { moment == .past(token.position) ? .now : moment }

  /// Composes questions about `moment`, which may read shadows that were gathered before.
  func composer(at moment: Moment) throws(StoreError) -> FetchComposer {
    guard case .past(let position) = moment, connection.access != .write,
      try connection.gathersPast(of: history, after: position, upTo: token.position)
    else { return composer }
    var composer = composer
    composer.pastIsGathered = true
    return composer
  }
}

extension Connection {
  /// Whether every shadow of `position` stands gathered.
  ///
  /// - Throws: ``StoreError/queryTimeout`` where the time is over before they do; the next question
  ///   goes on from there.
  fileprivate func gathersPast(
    of history: History, after position: Int64, upTo newest: Int64
  ) throws(StoreError) -> Bool {
    guard !isInAutocommit, past.isWanted(position, upTo: newest) else { return false }
    if past.shadows?.position != position { try makeShadows(of: history, position) }
    while let filled = past.shadows?.end, filled < newest {
      guard !hasToEnd else { throw .queryTimeout }
      let end = min(filled + GatheredPast.step, newest)
      try writingTemporaryTables { () throws(StoreError) in
        for table in history.tables {
          try run(table.layout.gathering, [.integer(filled), .integer(end)])
        }
      }
      past.shadows?.end = end
    }
    return true
  }

  private func makeShadows(of history: History, _ position: Int64) throws(StoreError) {
    let isAnew = past.shadows != nil
    past.shadows = nil
    try writingTemporaryTables { () throws(StoreError) in
      for table in history.tables {
        let name = table.layout.shadowName
        if isAnew { try execute("DROP TABLE IF EXISTS temp.\(name)") }
        try execute(table.layout.gatheredTable(indexedBy: table.links.map(\.key.columns)))
      }
    }
    past.shadows = (position, position)
  }

  /// Nothing is broken off inside: SQLite would end the whole transaction with a statement that
  /// writes.
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
