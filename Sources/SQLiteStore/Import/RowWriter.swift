// The fields of a row → an INSERT or an UPDATE of the table.
//
// Parameter n of every statement is the n-th field, whichever fields the statement uses. Each set
// of present fields has its own statements, of which a limited number is kept; almost always all fields
// are present.

import FetchModel
import LiveFetchCSQLite
import SQLComposer
import SaveExecution

/// Writes rows of one table.
struct RowWriter {
  enum Outcome {
    case inserted, updated
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
  /// True to store values that their column's type does not include, unconverted.
  var isLenient = false
  /// The table's columns that identify an existing row; empty if every row is an insert.
  private let key: [Int]
  /// The table's column of each field.
  private(set) var columns: [Int] = []
  /// The column of each field, to bind it.
  private var imported: [ImportedColumn] = []
  /// The fields of the key, in key order.
  private var keyFields: [Int] = []
  private var lookup: HeldStatement?
  /// The statements for sets of present fields, without the set of all.
  private var statements: [[Bool]: Statements] = [:]
  private var whole: Statements?
  private var given: [Bool] = []

  static func with(
    _ table: SaveTable, key names: [String]
  ) throws(ImportError) -> RowWriter {
    RowWriter(table: table, key: try table.key(imported: names))
  }

  private init(table: SaveTable, key: [Int]) {
    self.table = table
    self.key = key
  }
}

// MARK: - Fields

extension RowWriter {
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
    given = Array(repeating: true, count: columns.count)
    do throws(StoreError) {
      if !key.isEmpty { lookup = try HeldStatement(lookupSQL, on: connection) }
      whole = try prepare(given, on: connection)
    } catch {
      throw .store(error)
    }
  }

  private func prepare(
    _ given: [Bool], on connection: Connection
  ) throws(StoreError) -> Statements {
    let fields = columns.indices.filter { given[$0] }
    return Statements(
      insert: try HeldStatement(insertSQL(fields), on: connection),
      update: key.isEmpty
        ? nil
        : try updateSQL(fields).map { sql throws(StoreError) in
          try HeldStatement(sql, on: connection)
        })
  }

  private func name(_ field: Int) -> String { quoted(table.columns[columns[field]].name) }

  /// Uses OR ABORT, so that a table's own `ON CONFLICT REPLACE` deletes no rows.
  private func insertSQL(_ fields: [Int]) -> String {
    guard !fields.isEmpty else {
      return "INSERT INTO main.\(table.table.quotedName) DEFAULT VALUES"
    }
    let names = fields.map(name).joined(separator: ", ")
    let places = fields.map { "?\($0 + 1)" }.joined(separator: ", ")
    return """
      INSERT OR ABORT INTO main.\(table.table.quotedName)(\(names)) VALUES (\(places))
      """
  }

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

  /// nil if there are as many fields as columns.
  private func refusal(ofCount fields: [ImportedField]) -> RowRefusal? {
    fields.count == columns.count
      ? nil : RowRefusal(detail: "\(fields.count) values, where \(columns.count) are expected")
  }

  private mutating func statements(
    for fields: [ImportedField], on connection: Connection
  ) throws(StoreError) -> Statements {
    var isWhole = true
    for (index, field) in fields.enumerated() {
      if case .missing = field { given[index] = false } else { given[index] = true }
      isWhole = isWhole && given[index]
    }
    if isWhole, let whole { return whole }
    if let known = statements[given] { return known }
    if statements.count == Self.maxSets { closeSets() }
    let made = try prepare(given, on: connection)
    statements[given] = made
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

  private func run(
    _ statement: HeldStatement, _ fields: [ImportedField], _ outcome: Outcome,
    on connection: Connection
  ) throws(StoreError) -> Outcome {
    for (index, field) in fields.enumerated() where given[index] {
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
