// Rows of a file → rows of one table with their history, in one transaction.
//
// Values are bound directly from the file's bytes. If all rows are inserted and the table has no
// triggers other than the history's, the import disables these triggers and writes the same history
// rows itself. If a model file describes the entity, each row passes through a save instead. Memory use
// does not depend on the number of rows.

import FetchModel
import LiveFetchCSQLite
import SQLComposer
import SaveExecution

/// An import into one entity of a file that no server has open. For one thread.
public final class TableImport {
  /// The numbers of processed rows.
  public struct Counts: Sendable, Hashable {
    /// The number of inserted rows.
    public var inserted = 0
    /// The number of updated rows.
    public var updated = 0
  }

  let connection: Connection
  let table: SaveTable
  /// True if a row may refer to another row of the table.
  public let refersToItself: Bool
  private let isTracked: Bool
  private let makesTable: Bool
  private let lock: FileLock
  private let log: ImportLog?
  private(set) var writer: RowWriter
  /// The numbers of rows processed so far.
  public private(set) var counts = Counts()
  /// Set if a model file describes the entity.
  private let saver: ImportedRowSaver?
  /// True if a row can be refused after it has changed something: foreign keys are checked at the
  /// commit, or a trigger can leave out the row.
  private let hasLateRefusals: Bool

  /// Opens the file at `path` and begins the import.
  ///
  /// - Parameters:
  ///   - key: The properties that identify existing rows. Empty: every row is inserted.
  ///   - isLenient: True to store values that their column's type does not include, unconverted. A
  ///     model file's rules apply regardless.
  ///   - new: The entity's table, to be created first, together with the file if it does not exist.
  /// - Throws: ``ImportError`` if the import cannot begin.
  public init(
    path: String, entity name: String, key: [String] = [], isLenient: Bool = false,
    creating new: NewTable? = nil
  ) throws(ImportError) {
    do {
      if new != nil { try NewTable.createFile(path) }
      lock = try FileLock(beside: path)
      connection = try Connection(path: path, access: .write)
      try connection.execute("PRAGMA cache_size = -65536")
      isTracked = try History.isPresent(on: connection)
      if isTracked { try Self.continueHistory(on: connection) }
      try connection.execute("BEGIN IMMEDIATE")
      if let new { try Self.make(new, on: connection) }
      let introspection = try Introspection(of: connection)
      table = try SaveTable.imported(name, in: introspection)
      refersToItself = table.refersToItself(in: introspection.schema)
      let hasTriggers = try Self.hasOtherTriggers(table.table.name, on: connection)
      hasLateRefusals = introspection.schema.hasDeferredKeys || hasTriggers
      writer = try RowWriter(table, key: key)
      writer.isLenient = isLenient
      makesTable = new != nil
      saver =
        introspection.model.file == nil
        ? nil : ImportedRowSaver(entity: table.index, in: introspection)
      log =
        isTracked && key.isEmpty && new == nil && saver == nil
        ? try Self.log(of: table, introspection, on: connection) : nil
    } catch {
      throw ImportError(error)
    }
  }

  /// Reports invalid names or too many columns as errors of the imported file, not of the disk.
  private static func make(_ new: NewTable, on connection: Connection) throws(StoreError) {
    do throws(StoreError) {
      try connection.execute(new.sql)
    } catch {
      guard case .failed(let reason) = error else { throw error }
      throw .unusable("the table \(new.name) cannot be created: \(reason)")
    }
  }

  /// Continues the file's history as serving the file would.
  private static func continueHistory(on connection: Connection) throws(StoreError) {
    let introspection = try Introspection(of: connection)
    let history = History(model: introspection.model, schema: introspection.schema)
    _ = try history.setUp(on: connection, journalMode: "wal")
  }

  /// Returns nil if the triggers have to write the history.
  private static func log(
    of table: SaveTable, _ introspection: Introspection, on connection: Connection
  ) throws(StoreError) -> ImportLog? {
    let history = History(model: introspection.model, schema: introspection.schema)
    guard let tracked = history.tables.first(where: { $0.entity == table.index }),
      tracked.tableInfo.key.kind == .rowidAlias,
      try !hasOtherTriggers(tracked.layout.table, on: connection)
    else { return nil }
    csqlite_enable_triggers(connection.handle, 0)
    return try ImportLog(tracked, on: connection)
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
  /// Returns those of a file's names that are not imported, because their values follow from others.
  public func derivedNames(among names: [String]) -> [String] { table.derivedNames(among: names) }

  /// Sets the properties of the following rows' fields, by name, alias or column.
  public func use(properties: [String]) throws(ImportError) {
    try writer.use(properties, on: connection)
  }

  /// Writes a row. Returns the reason if the row is refused; a refused row leaves no changes.
  ///
  /// - Throws: An error after which the import cannot continue; call ``cancel()`` then.
  public func add(_ fields: [ImportedField]) throws(StoreError) -> RowRefusal? {
    guard hasLateRefusals, saver == nil else { return try write(fields) }
    let before = counts
    try connection.run("SAVEPOINT livefetch_row")
    var refusal = try write(fields)
    if refusal == nil, connection.hasDeferredViolations {
      refusal = RowRefusal(
        detail: "a relationship refers to an object that does not exist", isMissingObject: true)
    }
    if refusal != nil {
      try connection.run("ROLLBACK TO livefetch_row")
      counts = before
    }
    try connection.run("RELEASE livefetch_row")
    return refusal
  }

  private func write(_ fields: [ImportedField]) throws(StoreError) -> RowRefusal? {
    let outcome =
      if let saver { try saver.save(fields, mappedBy: writer, on: connection) } else {
        try writer.write(fields, on: connection)
      }
    switch outcome {
    case .inserted:
      try log?.recordInsert(of: connection.lastRowID)
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
  /// Commits all rows. If a table was created in a tracked file, the file begins a new history.
  public func commit() throws(StoreError) {
    try log?.finish()
    if isTracked, !makesTable {
      let last = try connection.first("SELECT max(position) FROM main.livefetch_position") {
        $0.integer(0)
      }
      try History.stamp(position: last ?? 0, on: connection)
    }
    try connection.run("COMMIT")
    if isTracked, makesTable { try Self.continueHistory(on: connection) }
    close()
  }

  /// Rolls everything back.
  public func cancel() {
    if !connection.isInAutocommit { try? connection.run("ROLLBACK") }
    close()
  }

  private func close() {
    writer.close()
    sqlite3_wal_checkpoint_v2(connection.handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    connection.close()
  }
}
