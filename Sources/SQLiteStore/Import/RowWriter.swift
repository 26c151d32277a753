// The fields of an imported row → an INSERT into the table, or an UPDATE of the row with the same key. A refused row
// is an outcome, not an error, and changes nothing.
//
// Parameter n of every statement is the n-th field, whichever fields the statement uses. A row may lack fields,
// so each set of present fields has its own statements, of which a limited number is kept. Almost always all
// fields are present.

import FetchModel
import LiveFetchCSQLite
import SQLComposer
import SaveExecution

/// Writes rows of one table.
struct RowWriter {
  enum Outcome {
    case inserted
    /// Also if the row has no field outside the key, so that nothing had to be written.
    case updated
    case refused(RowRefusal)
  }

  private struct Statements {
    let insert: HeldStatement
    /// nil if there is no column to set.
    let update: HeldStatement?
  }

  /// The maximum number of sets of present fields whose statements are kept.
  private static let maxSets = 100

  let table: SaveTable
  /// If true, a value that does not belong to its column's type is stored unconverted, not refused.
  var isLenient = false
  /// The indexes of the table's columns that identify an existing row; empty to insert every row.
  private let key: [Int]
  /// The index of each field's column in the table.
  private(set) var columns: [Int] = []
  /// What the binding of each field needs to know of its column.
  private var imported: [ImportedColumn] = []
  /// The indexes of the fields of the key, in the order of `key`.
  private var keyFields: [Int] = []
  /// Selects the id of the row with a key; nil without a key.
  private var lookup: HeldStatement?
  /// The statements for sets of present fields, except for the set of all.
  private var statements: [[Bool]: Statements] = [:]
  /// The statements for rows with all fields.
  private var whole: Statements?
  /// For each field: true if the current row has it.
  private var present: [Bool] = []

  /// - Parameter names: The properties that identify an existing row; empty to insert every row.
  /// - Throws: ``ImportError`` if `names` are not those of a unique key.
  init(_ table: SaveTable, key names: [String]) throws(ImportError) {
    self.table = table
    key = try table.key(imported: names)
  }
}

// MARK: - Fields

extension RowWriter {
  /// Sets the properties of the following rows' fields, by name, alias or column, and prepares the statements
  /// for rows with all of them. Call ``close()`` after the last row.
  mutating func use(_ names: [String], on connection: Connection) throws(ImportError) {
    columns = try table.columns(imported: names)
    keyFields = try table.fields(of: key, in: columns)
    imported = columns.map { column in
      ImportedColumn(
        table.columns[column],
        untyped: table.attribute(inColumn: column).flatMap { $0.isUntyped ? $0 : nil },
        holdsIDs: table.holdsIDs(column))
    }
    close()
    present = Array(repeating: true, count: columns.count)
    do throws(StoreError) {
      if !key.isEmpty { lookup = try HeldStatement(lookupSQL, on: connection) }
      whole = try prepare(present, on: connection)
    } catch {
      throw .store(error)
    }
  }

  private func prepare(
    _ present: [Bool], on connection: Connection
  ) throws(StoreError) -> Statements {
    let fields = columns.indices.filter { present[$0] }
    return Statements(
      insert: try HeldStatement(insertSQL(fields), on: connection),
      update: key.isEmpty
        ? nil
        : try updateSQL(fields).map { sql throws(StoreError) in
          try HeldStatement(sql, on: connection)
        })
  }

  /// Returns the quoted name of a field's column.
  private func name(_ field: Int) -> String { quoted(table.columns[columns[field]].name) }

  /// Uses OR ABORT, so that a table's own `ON CONFLICT REPLACE` deletes no rows.
  private func insertSQL(_ fields: [Int]) -> String {
    guard !fields.isEmpty else {
      return "INSERT INTO main.\(table.table.quotedName) DEFAULT VALUES"
    }
    let names = fields.map(name).joined(separator: ", ")
    let parameters = fields.map { "?\($0 + 1)" }.joined(separator: ", ")
    return """
      INSERT OR ABORT INTO main.\(table.table.quotedName)(\(names)) VALUES (\(parameters))
      """
  }

  /// Returns nil if there is no field outside the key.
  private func updateSQL(_ fields: [Int]) -> String? {
    let set = fields.filter { !keyFields.contains($0) }
    guard !set.isEmpty else { return nil }
    let values = set.map { "\(name($0)) = ?\($0 + 1)" }.joined(separator: ", ")
    return "UPDATE OR ABORT main.\(table.table.quotedName) SET \(values) WHERE \(keyCondition)"
  }

  private var lookupSQL: String {
    """
    SELECT \(table.key.idExpression(nil)) FROM main.\(table.table.quotedName) \
    WHERE \(keyCondition) LIMIT 1
    """
  }

  private var keyCondition: String {
    keyFields.map { "\(name($0)) = ?\($0 + 1)" }.joined(separator: " AND ")
  }

  /// Closes every statement.
  mutating func close() {
    closeSets()
    whole?.insert.close()
    whole?.update?.close()
    lookup?.close()
    (whole, lookup) = (nil, nil)
  }

  /// Closes the statements for rows without all fields.
  private mutating func closeSets() {
    for held in statements.values {
      held.insert.close()
      held.update?.close()
    }
    statements = [:]
  }
}

// MARK: - Writing

extension RowWriter {
  /// Inserts a row, or updates the existing row with the same key.
  mutating func write(
    _ fields: [ImportedField], on connection: Connection
  ) throws(StoreError) -> Outcome {
    if let refusal = refusal(ofCount: fields) { return .refused(refusal) }
    let statements = try statements(for: fields, on: connection)
    if key.isEmpty { return try run(statements.insert, fields, .inserted, on: connection) }
    switch try find(fields) {
    case .success(nil): return try run(statements.insert, fields, .inserted, on: connection)
    case .success:
      guard let update = statements.update else { return .updated }
      return try run(update, fields, .updated, on: connection)
    case .failure(let refusal): return .refused(refusal)
    }
  }

  /// Returns the refusal of a row with another number of fields than columns; nil if the number is right.
  private func refusal(ofCount fields: [ImportedField]) -> RowRefusal? {
    fields.count == columns.count
      ? nil : RowRefusal(detail: "\(fields.count) values, where \(columns.count) are expected")
  }

  /// Sets `present`, and returns the statements for the present fields. Prepares them if they are not kept.
  private mutating func statements(
    for fields: [ImportedField], on connection: Connection
  ) throws(StoreError) -> Statements {
    var isWhole = true
    for (index, field) in fields.enumerated() {
      if case .missing = field { present[index] = false } else { present[index] = true }
      isWhole = isWhole && present[index]
    }
    if isWhole, let whole { return whole }
    if let known = statements[present] { return known }
    if statements.count == Self.maxSets { closeSets() }
    let made = try prepare(present, on: connection)
    statements[present] = made
    return made
  }

  /// Returns the id of the row with the key in `fields`; nil without such a row, or without a key.
  func find(_ fields: [ImportedField]) throws(StoreError) -> Result<ObjectID?, RowRefusal> {
    if let refusal = refusal(ofCount: fields) { return .failure(refusal) }
    guard let lookup, let pointer = lookup.pointer else { return .success(nil) }
    for field in keyFields {
      switch fields[field] {
      case .missing, .null, .json(.null):
        return .failure(table.refusal(ofMissingKey: columns[field]))
      default:
        if let refusal = bind(fields[field], field, to: lookup) { return .failure(refusal) }
      }
    }
    defer { sqlite3_reset(pointer) }
    let statement = Statement(pointer: pointer)
    return .success(try statement.step() ? statement.id(0) : nil)
  }

  /// Runs a statement with the present fields. Returns `outcome`, or the refusal of the row.
  private func run(
    _ statement: HeldStatement, _ fields: [ImportedField], _ outcome: Outcome,
    on connection: Connection
  ) throws(StoreError) -> Outcome {
    for (index, field) in fields.enumerated() where present[index] {
      if let refusal = bind(field, index, to: statement) { return .refused(refusal) }
    }
    guard let constraint = try statement.run(on: connection) else {
      if connection.changedRows > 0 { return outcome }
      let isInsert = if case .inserted = outcome { true } else { false }
      return .refused(.leftOut(isInsert: isInsert))
    }
    let problem = ConstraintProblem(
      constraint, columns: constraint.columns(in: table), on: table)
    return .refused(RowRefusal(problem))
  }

  /// Binds a field. Returns the refusal of a value that does not belong to the column's type; nil on success.
  private func bind(
    _ field: ImportedField, _ index: Int, to statement: HeldStatement
  ) -> RowRefusal? {
    let parameter = Int32(truncatingIfNeeded: index + 1)
    guard let pointer = statement.pointer else { return nil }
    let binder = FieldBinder(pointer, parameter, imported[index])
    if binder.bind(field) || isLenient && binder.bindUnconverted(field) { return nil }
    return table.refusal(of: field, in: columns[index])
  }
}
