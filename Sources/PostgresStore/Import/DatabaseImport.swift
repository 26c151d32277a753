// Rows of a file → rows of one table, in one transaction.
//
// Rows are inserted in batches, each by one statement. If the server refuses a batch, its rows are
// inserted one by one, and those that it refuses are reported. With a key, each row is looked up first.
// The history's triggers record the rows. Where the database stores a model, each row is a save under
// the model's rules. Before a row without an id, the sequence of ids continues after those of earlier
// rows.

import FetchModel
import ModelStorage
import SQLComposer
import SaveExecution

/// An import into one entity of a PostgreSQL database. For one thread.
public final class DatabaseImport {
  /// A row that was not imported.
  public struct RefusedRow: Sendable {
    /// The row's line in the file.
    public let line: Int
    /// The row as the file contains it.
    public let raw: [UInt8]
    /// The reason.
    public let refusal: RowRefusal

    /// Makes a refused row.
    public init(line: Int, raw: [UInt8], refusal: RowRefusal) {
      (self.line, self.raw, self.refusal) = (line, raw, refusal)
    }
  }

  /// Saves rows under the rules of a model.
  private struct RowSaver {
    let builder: ImportedRowRequestBuilder
    let executor: SaveExecutor
  }

  /// A row that waits for its batch.
  struct PendingRow {
    let values: RowValues
    let line: Int
    let raw: [UInt8]
  }

  /// The parameters of one statement; PostgreSQL accepts at most 65,535.
  private static let maxParameters = 60_000
  /// The rows of one statement.
  private static let maxRows = 500

  private let connection: PostgresConnection
  private let saveConnection: PostgresSaveConnection
  private let table: SaveTable
  /// True if a row may refer to another row of the table.
  public let refersToItself: Bool
  /// Saves rows under the model's rules; nil in a database without a model.
  private let saver: RowSaver?
  /// The columns that identify existing rows; empty to insert every row.
  private let key: [Int]
  /// True if the import creates the table.
  private let createsTable: Bool
  /// The columns whose values sequences assign.
  private let assigned: Set<Int>
  /// Those of them for which rows contained values since their sequences were advanced.
  private var written: Set<Int> = []
  /// True if a row was updated by a key that leaves out a column whose values sequences assign.
  private var updatesAssigned: Bool { updated > 0 && !assigned.isSubset(of: key) }
  /// The column of each field of the rows.
  private var columns: [Int] = []
  /// Those whose fields are texts of ids.
  private var idColumns: Set<Int> = []
  /// The fields of the key's columns.
  private var keyFields: [Int] = []
  private var pending: [PendingRow] = []
  /// The number of inserted rows.
  public private(set) var inserted = 0
  /// The number of updated rows.
  public private(set) var updated = 0

  /// Connects to the database and begins the import.
  ///
  /// - Parameters:
  ///   - target: As for ``PostgresStore/init(_:options:)``.
  ///   - name: The entity, or its table.
  ///   - key: The properties that identify existing rows; empty to insert every row.
  ///   - new: The entity's table, to be created first.
  /// - Throws: ``ImportError`` if the import cannot begin.
  public init(
    _ target: String, entity name: String, key: [String], creating new: NewTable?
  ) throws(ImportError) {
    do {
      let connection = try Self.connect(target)
      self.connection = connection
      if let new { try Self.create(new, on: connection) }
      let introspection = try Self.introspection(on: connection)
      let table = try SaveTable.imported(name, in: introspection)
      self.table = table
      refersToItself = table.refersToItself(in: introspection.schema)
      saver = try Self.saver(of: table, in: introspection)
      self.key = try table.key(imported: key)
      assigned = try Self.assignedColumns(of: table, on: connection)
      // References are checked row by row, so that a refusal names its row.
      try withStoreErrors { () throws(PostgresError) in
        _ = try connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
      }
    } catch {
      throw ImportError(error)
    }
    createsTable = new != nil
    saveConnection = PostgresSaveConnection(
      connection, hasSavepoints: true, maxResponseBytes: .max)
  }

  /// True if the database has an entity or a table with this name.
  public static func isKnown(_ name: String, in target: String) throws(StoreError) -> Bool {
    let connection = try connect(target)
    defer { connection.close() }
    if try introspection(on: connection).model.entityIndex(named: name) != nil { return true }
    return try withStoreErrors { () throws(PostgresError) in
      try connection.query(
        "SELECT to_regclass($1) IS NOT NULL", [.text("\(quoted(Catalog.schema)).\(quoted(name))")]
      ).bool(0, 0)
    }
  }

  private static func connect(_ target: String) throws(StoreError) -> PostgresConnection {
    try withStoreErrors { () throws(PostgresError) in
      let connection = try PostgresConnection(
        target, setup: "SET search_path = \(quoted(Catalog.schema))")
      try connection.execute("BEGIN")
      return connection
    }
  }

  private static func create(
    _ new: NewTable, on connection: PostgresConnection
  ) throws(StoreError) {
    if let name = new.nameThatIsTooLong {
      throw .unusable("the table \(new.name) cannot be created: '\(name)' is too long a name")
    }
    do throws(PostgresError) {
      try connection.execute(new.sql)
    } catch {
      guard case .server(let refusal) = error else { throw StoreError(error) }
      throw .unusable("the table \(new.name) cannot be created: \(refusal.message)")
    }
  }

  private static func introspection(
    on connection: PostgresConnection
  ) throws(StoreError) -> Introspection {
    let catalog = try withStoreErrors { () throws(PostgresError) in
      try CatalogReader(connection: connection).read()
    }
    let model = ModelInstallation(connection: connection, given: nil)
    return try .of(
      catalog.composed(tracked: []), try model.tables(), .postgres())
  }

  /// Returns the columns whose values sequences assign.
  private static func assignedColumns(
    of table: SaveTable, on connection: PostgresConnection
  ) throws(StoreError) -> Set<Int> {
    let integers = table.columns.indices.filter { table.columns[$0].type == .integer }
    return try withStoreErrors { () throws(PostgresError) in
      let places = try connection.query(
        """
        SELECT place - 1 FROM unnest($2::text[]) WITH ORDINALITY AS c (name, place)
        WHERE pg_get_serial_sequence($1::text, name) IS NOT NULL
        """, [.text(name(of: table)), arrayText(integers.map { table.columns[$0].name })])
      return Set(
        try (0..<places.rowCount).map { row throws(PostgresError) in
          integers[Int(try places.integer(row, 0))]
        })
    }
  }

  private static func saver(
    of table: SaveTable, in introspection: Introspection
  ) throws(StoreError) -> RowSaver? {
    guard introspection.model.file != nil else { return nil }
    let executor = SaveExecutor(model: introspection.model, schema: introspection.schema)
    // The end of a save checks such relationships. Each row is a save, which would check all earlier
    // rows again.
    guard !executor.readsHistory else {
      throw .unusable(
        "the model has required or counted relationships, which an import into PostgreSQL does not "
          + "check: send the rows to POST /v1/save")
    }
    return RowSaver(
      builder: ImportedRowRequestBuilder(entity: table.index, model: introspection.model),
      executor: executor)
  }
}

// MARK: - Rows

extension DatabaseImport {
  /// Returns those of a file's names that are not imported, because their values follow from others.
  public func derivedNames(among names: [String]) -> [String] { table.derivedNames(among: names) }

  /// Sets the properties of the following rows' fields, by name or column.
  public func use(properties: [String]) throws(ImportError) {
    columns = try table.columns(imported: properties)
    idColumns = Set(columns.filter(table.holdsIDs))
    keyFields = try table.fields(of: key, in: columns)
  }

  /// Writes a row, or keeps it for the next batch. Returns the rows that were refused by the call.
  ///
  /// - Throws: An error after which the import cannot continue; call ``cancel()`` then.
  public func add(
    _ fields: [ImportedField], line: Int, raw: [UInt8]
  ) throws(StoreError) -> [RefusedRow] {
    if let saver {
      let refusal = try save(fields, with: saver)
      return refusal.map { [RefusedRow(line: line, raw: raw, refusal: $0)] } ?? []
    }
    let row: PendingRow
    switch values(fields) {
    case .success(let values): row = PendingRow(values: values, line: line, raw: raw)
    case .failure(let refusal):
      return try flush() + [RefusedRow(line: line, raw: raw, refusal: refusal)]
    }
    guard key.isEmpty else {
      try advanceSequences(before: row.values.columns)
      return try merge(row).map { [self.refused(row, $0)] } ?? []
    }
    var refused: [RefusedRow] = []
    if let first = pending.first, first.values.columns != row.values.columns {
      refused = try flush()
    }
    pending.append(row)
    if pending.count >= batchSize(row) { refused += try flush() }
    return refused
  }

  /// Writes the rows that wait for a batch. Returns those that were refused.
  public func flush() throws(StoreError) -> [RefusedRow] {
    defer { pending.removeAll(keepingCapacity: true) }
    guard let first = pending.first else { return [] }
    try advanceSequences(before: first.values.columns)
    if try insert(pending, columns: first.values.columns) == nil { return [] }
    var result: [RefusedRow] = []
    for row in pending {
      if let refusal = try insert([row], columns: row.values.columns) {
        result.append(refused(row, refusal))
      }
    }
    return result
  }

  private func refused(_ row: PendingRow, _ refusal: RowRefusal) -> RefusedRow {
    RefusedRow(line: row.line, raw: row.raw, refusal: refusal)
  }

  /// The number of rows of a batch. It is 1 if the table refers to itself: one statement would accept rows
  /// that refer to each other in a circle, which are refused where they are in two batches.
  private func batchSize(_ row: PendingRow) -> Int {
    let count = row.values.columns.count
    return refersToItself || count == 0 ? 1 : min(Self.maxRows, Self.maxParameters / count)
  }

  private func values(_ fields: [ImportedField]) -> Result<RowValues, RowRefusal> {
    guard fields.count == columns.count else {
      return .failure(
        RowRefusal(detail: "\(fields.count) values, where \(columns.count) are expected"))
    }
    for field in keyFields {
      switch fields[field] {
      case .missing, .null, .json(.null):
        return .failure(table.refusal(ofMissingKey: columns[field]))
      default: continue
      }
    }
    var row = RowValues()
    for (field, column) in zip(fields, columns) {
      if case .missing = field { continue }
      let holdsIDs = idColumns.contains(column)
      guard let value = field.value(in: table.columns[column], holdsIDs: holdsIDs) else {
        return .failure(table.refusal(of: field, in: column))
      }
      row.append(value, to: column)
    }
    return .success(row)
  }
}

// MARK: - Rows under a model's rules

extension DatabaseImport {
  /// Saves a row. Returns the reason if it is refused.
  private func save(
    _ fields: [ImportedField], with saver: RowSaver
  ) throws(StoreError) -> RowRefusal? {
    let found: ObjectID?
    switch values(fields) {
    case .success(let values):
      try advanceSequences(before: values.columns)
      found = key.isEmpty ? nil : try id(of: values)
    case .failure(let refusal): return refusal
    }
    try saveConnection.run("SAVEPOINT livefetch_row")
    do throws(SaveError) {
      let request = try saver.builder.request(fields, of: columns, in: table, id: found)
      _ = try saver.executor.execute(request, on: saveConnection, token: .untracked)
    } catch {
      guard !saveConnection.isTransactionOver else {
        throw .failed("PostgreSQL rolled the import back")
      }
      try saveConnection.run("ROLLBACK TO livefetch_row; RELEASE livefetch_row")
      return try RowRefusal(of: error)
    }
    try saveConnection.run("RELEASE livefetch_row")
    if found == nil { inserted += 1 } else { updated += 1 }
    return nil
  }

  /// Returns the id of the row that has the key of `row`.
  private func id(of row: RowValues) throws(StoreError) -> ObjectID? {
    let values = keyFields.compactMap { row[columns[$0]] }
    let condition = keyFields.map { "\(name(columns[$0])) = ?" }.joined(separator: " AND ")
    let id = quoted(ModelTables.keyName)
    let found = try saveConnection.row(
      "SELECT \(id) FROM \(tableName) WHERE \(condition) LIMIT 1", values)
    guard case .integer(let id)? = found?.first else { return nil }
    return .integer(id)
  }
}

// MARK: - Statements

extension DatabaseImport {
  private var tableName: String { Self.name(of: table) }

  private static func name(of table: SaveTable) -> String {
    "\(quoted(Catalog.schema)).\(table.table.quotedName)"
  }

  private func name(_ column: Int) -> String { quoted(table.columns[column].name) }

  private func insert(
    _ rows: [PendingRow], columns: [Int]
  ) throws(StoreError) -> RowRefusal? {
    guard !columns.isEmpty else {
      return try run(
        "INSERT INTO \(tableName) DEFAULT VALUES", rows[0].values, [], inserting: 1
      ) { inserted += $0 }
    }
    let places = "(\(columns.map { _ in "?" }.joined(separator: ", ")))"
    let sql = """
      INSERT INTO \(tableName) (\(columns.map(name).joined(separator: ", "))) \
      VALUES \(rows.map { _ in places }.joined(separator: ", "))
      """
    return try run(
      sql, rows[0].values, rows.flatMap(\.values.values), inserting: rows.count
    ) { inserted += $0 }
  }

  /// Updates the row with the key of `row`, or inserts it.
  private func merge(_ row: PendingRow) throws(StoreError) -> RowRefusal? {
    let found = keyFields.compactMap { row.values[columns[$0]] }
    let condition = keyFields.map { "\(name(columns[$0])) = ?" }.joined(separator: " AND ")
    guard
      try saveConnection.row("SELECT 1 FROM \(tableName) WHERE \(condition) LIMIT 1", found) != nil
    else {
      return try insert([row], columns: row.values.columns)
    }
    let set = zip(row.values.columns, row.values.values).filter { !key.contains($0.0) }
    guard !set.isEmpty else {
      updated += 1
      return nil
    }
    let sql = """
      UPDATE \(tableName) SET \(set.map { "\(name($0.0)) = ?" }.joined(separator: ", ")) \
      WHERE \(condition)
      """
    return try run(sql, row.values, set.map(\.1), then: found) { updated += $0 }
  }

  /// Runs a statement. Returns the reason if it is refused, or if a trigger or rule leaves out a row;
  /// it has then changed nothing.
  ///
  /// - Parameters:
  ///   - count: The number of rows of an INSERT; nil for an UPDATE.
  ///   - done: receives the number of written rows.
  private func run(
    _ sql: String, _ row: RowValues, _ values: [SQLValue], then more: [SQLValue] = [],
    inserting count: Int? = nil, done: (Int) -> Void
  ) throws(StoreError) -> RowRefusal? {
    try saveConnection.run("SAVEPOINT livefetch_row")
    let refusal: RowRefusal?
    if let constraint = try saveConnection.attempt(sql, values, then: more) {
      let problem = ConstraintProblem(
        constraint, columns: saveConnection.columns(of: constraint, in: table, row: row), on: table)
      refusal = RowRefusal(problem)
    } else if saveConnection.changedRows < count ?? 1 {
      refusal = .leftOut(isInsert: count != nil)
    } else {
      refusal = nil
      done(saveConnection.changedRows)
    }
    try saveConnection.run(
      refusal == nil ? "RELEASE livefetch_row" : "ROLLBACK TO livefetch_row; RELEASE livefetch_row")
    return refusal
  }
}

// MARK: - The end

extension DatabaseImport {
  /// Commits all rows. If a table was created in a database with a history, it begins a new one.
  ///
  /// - Throws: An error after which nothing is imported; call ``cancel()`` then.
  public func commit() throws(StoreError) {
    try advanceSequences(before: [])
    try withStoreErrors { () throws(PostgresError) -> Void in try connection.execute("COMMIT") }
    // The rows are stored, whatever follows. Servers install a missing history too.
    if createsTable { try? addToHistory() }
    connection.close()
  }

  private func addToHistory() throws(PostgresError) {
    let isTracked = try connection.query("SELECT to_regclass('livefetch.store') IS NOT NULL")
    if try isTracked.bool(0, 0) { _ = try PostgresHistory.install(on: connection) }
  }

  /// Advances sequences past the values of earlier rows, before rows that leave the columns out. A
  /// sequence that the role may not read stays as it is.
  ///
  /// - Parameter columns: The columns of the rows.
  private func advanceSequences(before columns: [Int]) throws(StoreError) {
    let next = assigned.intersection(columns)
    let passed = written.subtracting(next)
    written = next
    guard inserted > 0 || updatesAssigned, !passed.isEmpty else { return }
    try withStoreErrors { () throws(PostgresError) in
      for column in passed.sorted() {
        try connection.query(
          """
          SELECT setval(s, m) FROM (
            SELECT pg_get_serial_sequence($1::text, $2::text)::regclass AS s,
              (SELECT max(\(name(column)))::bigint FROM \(tableName)) AS m) AS found
          WHERE CASE WHEN has_sequence_privilege(s::oid, 'SELECT, USAGE')
            THEN m > coalesce(pg_sequence_last_value(s), 0) ELSE FALSE END
          """, [.text(tableName), .text(table.columns[column].name)])
      }
    }
  }

  /// Rolls everything back.
  public func cancel() {
    connection.rollBack()
    connection.close()
  }
}
