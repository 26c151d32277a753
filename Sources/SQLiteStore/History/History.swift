// The change history of a file: the rows that each save changed, with their old values.
//
//     livefetch_store(key, value)                  format, epoch, signature of the schema, forms of
//                                                  columns, journal mode, model, and the id in
//                                                  the names of backups
//     livefetch_position(position, nonce, source)  a row for each changed row, in order
//     livefetch_save(position, at)                 the last position of each save, and its time
//     livefetch_history_<table>(…)                 see HistoryLayout
//
// A state of the store is identified by its newest position. There always is one: a new epoch
// begins with a position without changes. Positions are never reused within a file.

import FetchModel
import SQLComposer
import SQLResults

/// The tracked tables of a file. Immutable: the state is in the file.
struct History: Sendable {
  /// The format of the tables above.
  static let format: Int64 = 3

  let model: Model
  let schema: Schema
  let tables: [TrackedTable]
  /// The query for each table's changes, in the order of `tables`.
  private let changeQueries: [ChangeQuery]
  /// The index in `tables` of each table number.
  private let places: [Int: Int]

  init(model: Model, schema: Schema) {
    self.model = model
    self.schema = schema
    tables = schema.trackedTables(model)
    changeQueries = tables.map { ChangeQuery(table: $0, schema: schema, model: model) }
    places = Dictionary(
      tables.enumerated().map { ($1.number, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The tracked table with this number, a value of `livefetch_position.source`.
  func table(number: Int64) -> TrackedTable? {
    Int(exactly: number).flatMap { places[$0] }.map { tables[$0] }
  }

  func changeQuery(of table: TrackedTable) -> ChangeQuery? {
    places[table.number].map { changeQueries[$0] }
  }
}

// MARK: - Tokens

extension History {
  /// Returns the newest position that `connection` sees, as a token.
  func newestToken(on connection: Connection) throws(StoreError) -> Token {
    let token = try connection.first(
      """
      SELECT position, nonce, (SELECT value FROM main.livefetch_store WHERE key = 'epoch')
      FROM main.livefetch_position ORDER BY position DESC LIMIT 1
      """
    ) { row in
      Token(
        epoch: row.text(2), position: HistoryPosition(row.integer(0)),
        nonce: UInt32(truncatingIfNeeded: row.integer(1)))
    }
    guard let token else { throw .unusable("the file's history is empty") }
    return token
  }

  /// Returns `.known` if the history reaches back to `token` without a gap.
  ///
  /// Pruning deletes only the oldest positions. So if a row exists, all later ones exist as well.
  func validity(
    of token: Token, on connection: Connection
  ) throws(StoreError) -> TokenValidity {
    let isKnown = try connection.first(
      """
      SELECT 1 FROM main.livefetch_position WHERE position = ?1 AND nonce = ?2
      AND ?3 = (SELECT value FROM main.livefetch_store WHERE key = 'epoch')
      """, [.integer(token.position.number), .integer(Int64(token.nonce)), .text(token.epoch)]
    ) { _ in true }
    return isKnown == true ? .known : .expired
  }
}
