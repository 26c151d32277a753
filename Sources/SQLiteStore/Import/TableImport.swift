// Rows of a file → rows of one table, in one transaction, with their history.
//
// Values are bound straight from the file's bytes. Where only inserts are made and the table has no
// triggers but the history's, these are switched off and their rows written here: the same rows for
// half the time. Where a model file rules the store, each row goes the way of a save instead. Memory does not grow with the number of rows.

import CSQLite
import FetchModel

/// An import into one entity of a file that nobody serves.
public final class TableImport {
  /// How many rows were taken.
  public struct Counts: Sendable, Hashable {
    public var inserted = 0
    public var updated = 0
  }

  let connection: Connection
  let table: SaveTable
  private let isFollowed: Bool
  private let makesTable: Bool
  private let lock: FileLock
  private let log: ImportLog?
  private(set) var writer: RowWriter
  public private(set) var counts = Counts()
  /// Where the rules are a model file's.
  private let modelled: ModelledRows?
  /// Whether keys that wait for the commit have to be looked at after each row.
  private let hasDeferredKeys: Bool

  /// Opens the file at `path` and begins.
  ///
  /// - Parameters:
  ///   - key: the properties by which rows are found that are there already; empty: every row is a
  ///     new one.
  ///   - isLenient: whether values that their column's type does not have are taken as they stand.
  ///     A model file's rules hold all the same.
  ///   - new: the entity's table, made first; the file as well where it is not there.
  public init(
    path: String, entity name: String, key: [String] = [], isLenient: Bool = false,
    creating new: NewTable? = nil
  ) throws(ImportError) {
    do {
      if new != nil { try NewTable.touch(path) }
      lock = try FileLock(beside: path)
      connection = try Connection(path: path, access: .write)
      try connection.execute("PRAGMA cache_size = -65536")
      isFollowed = try History.isPresent(on: connection)
      if isFollowed { try Self.continueHistory(on: connection) }
      try connection.execute("BEGIN IMMEDIATE")
      if let new { try Self.make(new, on: connection) }
      let introspection = try Introspection(of: connection)
      table = try Self.table(name, introspection)
      hasDeferredKeys = introspection.schema.hasDeferredKeys
      writer = try RowWriter.with(table, key: key)
      writer.isLenient = isLenient
      makesTable = new != nil
      modelled =
        introspection.model.file == nil
        ? nil : ModelledRows(entity: table.index, introspection)
      log =
        isFollowed && key.isEmpty && new == nil && modelled == nil
        ? try Self.log(of: table, introspection, on: connection) : nil
    } catch let error as StoreError {
      throw .store(error)
    } catch let error as ImportError {
      throw error
    } catch {
      throw .store(.failed("\(error)"))
    }
  }

  /// Whatever is wrong with a table's names or number of columns is the file's, not the disk's.
  private static func make(_ new: NewTable, on connection: Connection) throws(StoreError) {
    do throws(StoreError) {
      try connection.execute(new.sql)
    } catch {
      guard case .failed(let reason) = error else { throw error }
      throw .unusable("the table \(new.name) cannot be made: \(reason)")
    }
  }

  private static func table(
    _ name: String, _ introspection: Introspection
  ) throws(ImportError) -> SaveTable {
    let model = introspection.model
    guard let index = model.entityIndex(named: name) else {
      let hint = nearestName(to: name, among: model.entities.map(\.name))
      throw .unknownEntity(name: name, hint: hint)
    }
    let table = introspection.schema.entities[index]
    guard !table.isView else { throw .readOnlyEntity(name: name) }
    return SaveTable(index: index, entity: model.entities[index], table: table)
  }

  /// Leaves the file's history as serving the file would.
  private static func continueHistory(on connection: Connection) throws(StoreError) {
    let introspection = try Introspection(of: connection)
    let history = History(model: introspection.model, schema: introspection.schema)
    _ = try history.setUp(on: connection, journalMode: "wal")
  }

  /// nil where the triggers have to write the history.
  private static func log(
    of table: SaveTable, _ introspection: Introspection, on connection: Connection
  ) throws(StoreError) -> ImportLog? {
    let history = History(model: introspection.model, schema: introspection.schema)
    guard let followed = history.tables.first(where: { $0.entity == table.index }),
      followed.shape.key.kind == .rowidAlias,
      try !hasOtherTriggers(followed.layout.table, on: connection)
    else { return nil }
    csqlite_enable_triggers(connection.handle, 0)
    return try ImportLog(followed, on: connection)
  }

  private static func hasOtherTriggers(
    _ table: String, on connection: Connection
  ) throws(StoreError) -> Bool {
    try connection.first(
      """
      SELECT 1 FROM main.sqlite_schema WHERE type = 'trigger' AND lower(tbl_name) = lower(?)
      AND name NOT LIKE 'livefetch\\_%' ESCAPE '\\' LIMIT 1
      """, [.text(table)]
    ) { _ in true } ?? false
  }
}

// MARK: - Rows

extension TableImport {
  /// Says which properties the fields of the next rows are, by name, alias or column.
  public func use(properties: [String]) throws(ImportError) {
    try writer.use(properties, on: connection)
  }

  /// Takes one row; gives why not, if it does not fit. A refused row leaves nothing behind.
  ///
  /// - Throws: where the import cannot go on; ``cancel()`` it then.
  public func add(_ fields: [ImportedField]) throws(StoreError) -> RowRefusal? {
    guard hasDeferredKeys, modelled == nil else { return try write(fields) }
    try connection.run("SAVEPOINT livefetch_row")
    var refusal = try write(fields)
    if refusal == nil, connection.hasDeferredViolations {
      try connection.run("ROLLBACK TO livefetch_row")
      refusal = RowRefusal(detail: "a relationship leads to an object that does not exist")
    }
    try connection.run("RELEASE livefetch_row")
    return refusal
  }

  private func write(_ fields: [ImportedField]) throws(StoreError) -> RowRefusal? {
    let outcome =
      if let modelled { try modelled.write(fields, writer, on: connection) } else {
        try writer.write(fields, on: connection)
      }
    switch outcome {
    case .inserted:
      try log?.noteInsert(of: connection.lastRowID)
      counts.inserted += 1
      return nil
    case .updated:
      counts.updated += 1
      return nil
    case .refused(let refusal): return refusal
    }
  }
}

// MARK: - The end

extension TableImport {
  /// Commits everything. A followed file's history begins anew where a table was made.
  public func commit() throws(StoreError) {
    if isFollowed, !makesTable {
      let last = try connection.first("SELECT max(position) FROM main.livefetch_position") {
        $0.integer(0)
      }
      try History.stamp(position: last ?? 0, on: connection)
    }
    try connection.run("COMMIT")
    if isFollowed, makesTable { try Self.continueHistory(on: connection) }
    close()
  }

  /// Takes everything back.
  public func cancel() {
    if !connection.isInAutocommit { try? connection.run("ROLLBACK") }
    close()
  }

  private func close() {
    writer.close()
    log?.close()
    sqlite3_wal_checkpoint_v2(connection.handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    connection.close()
  }
}
