// A writable connection and a model, given by the caller or stored in the file → the model mapped to the tables.
// Creates the tables if the file has none, in one transaction, and the triggers of the model in a second one. If
// the second one fails, the tables remain.

import FetchModel
import ModelStorage
import SQLComposer

/// The opening of a file with a model: the tables and triggers are made to fit the model.
struct ModelOpening {
  let connection: Connection
  /// The model that the caller gave; nil to use the stored one.
  let given: ModelFile?

  /// The key of the model in `livefetch_store`.
  private static let key = "model"

  /// Returns the model that the file stores; nil without one.
  static func storedModel(on connection: Connection) throws(StoreError) -> ModelFile? {
    guard try History.isPresent(on: connection) else { return nil }
    let text = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = ?", [.text(key)]
    ) { $0.text(0) }
    return try text.map { text throws(StoreError) in try ModelFile(stored: text) }
  }

  /// Stores `model` in the file, unless it is stored already. Requires the history's tables.
  static func store(_ model: ModelFile, on connection: Connection) throws(StoreError) {
    let text = SQLValue.text(String(decoding: model.text, as: UTF8.self))
    let isStored = try connection.first(
      "SELECT value = ? FROM main.livefetch_store WHERE key = ?", [text, .text(key)]
    ) { $0.integer(0) != 0 }
    guard isStored != true else { return }
    try History.set(key, text, on: connection)
  }

  /// Returns the model and its tables; nil if neither the caller nor the file has a model. Does not store the
  /// model.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if the tables, or the rows in them, do not match the model.
  func open() throws(StoreError) -> Introspection? {
    let stored = try Self.storedModel(on: connection)
    guard let model = given ?? stored else { return nil }
    if let stored, model != stored { try requireSameTables(model, stored) }
    let tables = ModelTables(model, .sqlite)
    if try SchemaReader(connection: connection).tables().isEmpty {
      try tables.checkNames()
      try connection.transaction { () throws(StoreError) in
        let statements = tables.creation
        // SQLite 3.40 refuses its JSON functions in the columns of an untrusted schema.
        if statements.contains(where: { $0.sql.contains("json_") }) {
          try connection.enableTrustedSchema()
        }
        try run(statements)
      }
    }
    let mapping = try Self.mapping(of: tables, on: connection)
    let problems = try Self.mismatches(of: mapping, unlike: stored, on: connection)
    guard problems.isEmpty else { throw Self.refusal(problems) }
    let triggers = Self.triggers(of: mapping)
    try connection.transaction { () throws(StoreError) in
      try install(triggers)
      try run(ModelTriggers(mapping.tables).recomputation(unlike: stored))
    }
    return mapping.introspection
  }

  /// Maps a model to the existing tables, without changing the file. Throws if a table does not match.
  static func introspection(
    of tables: ModelTables, on connection: Connection
  ) throws(StoreError) -> Introspection {
    try matching(tables, on: connection).introspection
  }

  /// Returns the existing tables of a model. Throws if one does not match.
  static func tables(
    of model: ModelFile, on connection: Connection
  ) throws(StoreError) -> ModelTables {
    try matching(ModelTables(model, .sqlite), on: connection).tables
  }

  private static func matching(
    _ tables: ModelTables, on connection: Connection
  ) throws(StoreError) -> ModelMapping {
    let mapping = try mapping(of: tables, on: connection)
    let problems = mapping.problems(unlike: tables.file)
    guard problems.isEmpty else { throw refusal(problems) }
    return mapping
  }

  private static func mapping(
    of tables: ModelTables, on connection: Connection
  ) throws(StoreError) -> ModelMapping {
    let catalog = try SchemaReader(connection: connection).tables()
    let encoding = try connection.first("PRAGMA encoding") { $0.text(0) }
    return ModelMapping(tables, catalog, comparesBytes: encoding == "UTF-8")
  }

  /// Returns the triggers of the model. If a table or column has another name than planned, the triggers that
  /// repeat the actions of foreign keys are left out.
  private static func triggers(of mapping: ModelMapping) -> [NamedStatement] {
    let hasPlannedNames = mapping.hasPlannedNames
    return ModelTriggers(mapping.tables).statements
      .filter { hasPlannedNames || !ModelTriggers.isRepetition($0) }
  }

  private static func refusal(_ problems: [String]) -> StoreError {
    .unusable("the tables do not match the model:\n" + problems.joined(separator: "\n"))
  }

  /// Returns the reasons why the file is not served with a model. O(rows).
  static func mismatches(
    of tables: ModelTables, on connection: Connection
  ) throws(StoreError) -> [String] {
    try mismatches(
      of: try mapping(of: tables, on: connection), unlike: try storedModel(on: connection),
      on: connection)
  }

  /// Returns the problems of the existing tables, as ``ModelMapping`` does. If there are none, and the model is
  /// another one than the file stores, returns the problems of the rows in them. O(rows).
  ///
  /// - Parameter stored: The model that the file stores; nil without one. Rows are not checked for
  ///   properties that it requires too.
  private static func mismatches(
    of mapping: ModelMapping, unlike stored: ModelFile?, on connection: Connection
  ) throws(StoreError) -> [String] {
    let found = mapping.problems(unlike: stored)
    guard found.isEmpty, stored != mapping.tables.file else { return found }
    var problems =
      stored == nil ? mapping.tables.repeatedTriggers(among: triggers(of: mapping)) : []
    for column in mapping.columnsToFill(unlike: stored) {
      let missing = try connection.first(column.countSQL) { $0.integer(0) } ?? 0
      if missing > 0 { problems.append(column.problem(missing)) }
    }
    return problems
  }

  /// Throws if the models have different tables: these are changed only by a migration. Rules may differ.
  private func requireSameTables(
    _ given: ModelFile, _ stored: ModelFile
  ) throws(StoreError) {
    guard ModelTables(given, .sqlite).tables != ModelTables(stored, .sqlite).tables else {
      return
    }
    throw .unusable("the file was created for another version of the model, with different tables")
  }

  /// Replaces all triggers of the model if any differs from `expected`.
  private func install(_ expected: [NamedStatement]) throws(StoreError) {
    let found = try Self.triggers(on: connection).filter(Self.isOwn)
    guard Set(found) != Set(expected) else { return }
    try Self.checkNames(of: expected, on: connection)
    try Self.drop(found, on: connection)
    if expected.contains(where: { $0.sql.contains(CascadeTriggers.table) }) {
      try connection.execute(CascadeTriggers.creation)
    }
    try run(expected)
  }

  /// Drops the triggers of a model, and their table.
  static func dropTriggers(on connection: Connection) throws(StoreError) {
    try drop(try triggers(on: connection).filter(isOwn), on: connection)
    try connection.execute("DROP TABLE IF EXISTS main.\(CascadeTriggers.table)")
  }

  private static func drop(
    _ triggers: [NamedStatement], on connection: Connection
  ) throws(StoreError) {
    for trigger in triggers { try connection.execute("DROP TRIGGER main.\(quoted(trigger.name))") }
  }

  /// Returns the triggers whose names begin with `model_`.
  static func triggers(on connection: Connection) throws(StoreError) -> [NamedStatement] {
    try connection.all(
      """
      SELECT name, sql FROM main.sqlite_schema
      WHERE type = 'trigger' AND name LIKE 'model\\_%' ESCAPE '\\'
      """
    ) { NamedStatement(name: $0.text(0), sql: $0.text(1)) }
  }

  /// True for a trigger that LiveFetch made, for this or another model: its name and its text have the form
  /// that every version of LiveFetch writes.
  static func isOwn(_ trigger: NamedStatement) -> Bool {
    ModelTriggers.isName(trigger.name)
      && trigger.sql.hasPrefix("CREATE TRIGGER \(quoted(trigger.name)) AFTER ")
      && trigger.sql.contains(" ON \"") && trigger.sql.hasSuffix("; END")
  }

  /// Throws if a trigger of another program has the name of one of these.
  static func checkNames(
    of expected: [NamedStatement], on connection: Connection
  ) throws(StoreError) {
    let names = Set(expected.map { folded($0.name) })
    let taken = try triggers(on: connection)
      .filter { names.contains(folded($0.name)) && !isOwn($0) }
    guard taken.isEmpty else {
      throw ModelTriggers.refusal(ofTakenNames: taken.map(\.name))
    }
  }

  /// Executes the statements. Adds the name of a statement to its error.
  private func run(_ statements: [NamedStatement]) throws(StoreError) {
    for statement in statements {
      do throws(StoreError) {
        try connection.execute(statement.sql)
      } catch .failed(let reason) {
        throw .failed("\(statement.name): \(reason)")
      }
    }
  }
}
