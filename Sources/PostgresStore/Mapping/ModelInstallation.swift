// A database and a model, given or stored in the database → the model's tables and triggers, which
// are created where they are missing, and the entities that are served.
//
//     livefetch.model     one row: the model's text, and the signature of its triggers
//
// The triggers are in the schema of the tables, so that the model's rules stay when the history is
// removed.

import FetchModel
import ModelStorage
import SQLComposer

/// Installs a model.
struct ModelInstallation {
  let connection: PostgresConnection
  /// The model that the caller gave.
  let given: ModelFile?

  static let creation = """
    CREATE TABLE IF NOT EXISTS livefetch.model (
      single boolean PRIMARY KEY DEFAULT true CHECK (single), text text NOT NULL,
      triggers text NOT NULL)
    """

  /// Returns the model that the database stores; nil without one.
  static func storedModel(on connection: PostgresConnection) throws(StoreError) -> ModelFile? {
    let text = try withStoreErrors { () throws(PostgresError) -> String? in
      let exists = try connection.query("SELECT to_regclass('livefetch.model') IS NOT NULL")
      guard try exists.bool(0, 0) else { return nil }
      return try connection.query("SELECT text FROM livefetch.model").rows().first?[0].string
    }
    return try text.map { text throws(StoreError) in try ModelFile(stored: text) }
  }

  /// Returns the tables of the model; nil if neither the caller nor the database has one.
  func tables() throws(StoreError) -> ModelTables? {
    let stored = try Self.storedModel(on: connection)
    guard let model = given ?? stored else { return nil }
    let tables = try Self.tables(of: model)
    if given != nil, let stored, tables.tables != ModelTables(stored, .postgres).tables {
      throw .unusable(
        "the database was created for another version of the model, with different tables")
    }
    return tables
  }

  /// - Throws: ``StoreError/unusable(_:)`` for a model that PostgreSQL cannot hold.
  static func tables(of model: ModelFile) throws(StoreError) -> ModelTables {
    let tables = ModelTables(model, .postgres)
    let names = tables.tables.flatMap { [$0.name] + $0.columns.map(\.name) }
    if let long = names.first(where: { $0.utf8.count > ModelDialect.maxNameBytes }) {
      throw .unusable("the name `\(long)` is longer than PostgreSQL's 63 bytes")
    }
    for entity in model.entities {
      guard let attribute = entity.attributes.first(where: \.isOpaque) else { continue }
      throw .unusable(
        "\(entity.name).\(attribute.name): there is no transformer `\(attribute.transformer ?? "")`"
      )
    }
    guard tables.fieldsWithoutColumn.isEmpty else {
      throw .unusable(
        "PostgreSQL has no generated column for a date or binary field: "
          + tables.fieldsWithoutColumn.joined(separator: ", "))
    }
    return tables
  }

  /// Creates the tables if the schema has none, and the triggers that differ from the model's.
  func install() throws(StoreError) {
    try transaction { () throws(StoreError) in
      guard let tables = try tables() else { return ((), true) }
      if try catalog().tables.isEmpty {
        try tables.checkNames()
        try run(tables.creation)
      }
      let stored = try Self.storedModel(on: connection)
      if stored != tables.file {
        let problems = try mismatches(of: tables, unlike: stored)
        guard problems.isEmpty else { throw Self.refusal(problems) }
      }
      try complete(tables)
      try run(ModelTriggers(tables).recomputation(unlike: stored))
      return ((), true)
    }
  }

  /// Runs `body` in a transaction, which is committed if it returns true. Servers that install or
  /// migrate at the same time wait for each other.
  func transaction<Result>(
    _ body: () throws(StoreError) -> (Result, isKept: Bool)
  ) throws(StoreError) -> Result {
    do {
      try withStoreErrors { () throws(PostgresError) -> Void in
        try connection.execute(
          """
          BEGIN; SET LOCAL lock_timeout = '\(PostgresHistory.lockTimeout)';
          SELECT pg_advisory_xact_lock(\(PostgresHistory.lockNumber));
          """)
      }
      let (result, isKept) = try body()
      try withStoreErrors { () throws(PostgresError) -> Void in
        try connection.execute(isKept ? "COMMIT" : "ROLLBACK")
      }
      return result
    } catch {
      connection.rollBack()
      throw error
    }
  }

  /// Creates the triggers, and stores the model. If fetches have other results than with the model before,
  /// a new epoch begins.
  func complete(_ tables: ModelTables) throws(StoreError) {
    let triggers = ModelTriggers(tables).statements.filter { !ModelTriggers.isRepetition($0) }
    try ensure(triggers)
    let stored = try Self.storedModel(on: connection)
    let isOutdated = (stored?.fetchDefaults ?? []) != tables.file.fetchDefaults
    try withStoreErrors { () throws(PostgresError) -> Void in
      if isOutdated { try PostgresHistory.expireTokens(on: connection) }
      try connection.execute("CREATE SCHEMA IF NOT EXISTS livefetch; \(Self.creation)")
      try connection.query(
        """
        INSERT INTO livefetch.model (text, triggers) VALUES ($1, \(Self.signature))
        ON CONFLICT (single) DO UPDATE SET text = excluded.text, triggers = excluded.triggers
        """,
        [
          .text(String(decoding: tables.file.text, as: UTF8.self)),
          .text(triggers.map(\.sql).joined(separator: "\n")),
        ])
    }
  }

  private static let signature = "md5($2)"

  func catalog() throws(StoreError) -> Catalog {
    try withStoreErrors { () throws(PostgresError) in
      try CatalogReader(connection: connection).read()
    }
  }

  static func refusal(_ problems: [String]) -> StoreError {
    .unusable("the tables do not match the model:\n" + problems.joined(separator: "\n"))
  }

  /// Returns the problems of the tables that were found, as ``ModelMapping`` does; without any, those
  /// of their rows.
  ///
  /// - Parameter stored: The model that the database stores; nil without one.
  private func mismatches(
    of tables: ModelTables, unlike stored: ModelFile?
  ) throws(StoreError) -> [String] {
    let mapping = ModelMapping(
      tables, try catalog().composed(tracked: []), dialect: tables.dialect.dialect)
    let found = mapping.problems(unlike: stored)
    guard found.isEmpty else { return found }
    var problems: [String] = []
    for column in mapping.columnsToFill(unlike: stored) {
      let missing = try withStoreErrors { () throws(PostgresError) in
        try connection.query(column.countSQL).integer(0, 0)
      }
      if missing > 0 { problems.append(column.problem(missing)) }
    }
    return problems
  }

  /// Recreates the triggers unless they are the model's.
  private func ensure(_ expected: [NamedStatement]) throws(StoreError) {
    let names = Set(expected.map(\.name))
    let found = try withStoreErrors { () throws(PostgresError) in
      try Self.triggers(on: connection)
    }
    let taken = found.filter { names.contains($0.name) && !$0.isOwn }
    guard taken.isEmpty else {
      throw ModelTriggers.refusal(ofTakenNames: taken.map(\.name))
    }
    let isInPlace = try withStoreErrors { () throws(PostgresError) -> Bool in
      let exists = try connection.query("SELECT to_regclass('livefetch.model') IS NOT NULL")
      guard try exists.bool(0, 0) else { return false }
      guard Set(found.filter(\.isOwn).map(\.name)) == names else { return false }
      let stored = try connection.query(
        "SELECT triggers = md5($1) FROM livefetch.model",
        [.text(expected.map(\.sql).joined(separator: "\n"))])
      return stored.rowCount == 0 ? false : try stored.bool(0, 0)
    }
    guard !isInPlace else { return }
    try Self.dropTriggers(on: connection)
    try run(expected)
  }

  /// Removes the triggers of every model, with their functions.
  static func dropTriggers(on connection: PostgresConnection) throws(StoreError) {
    try withStoreErrors { () throws(PostgresError) -> Void in
      for trigger in try triggers(on: connection) where trigger.isOwn {
        try connection.execute("DROP FUNCTION \(trigger.function) CASCADE")
      }
    }
  }

  /// A trigger whose name begins like those of a model, and that calls a function of the same name.
  private struct FoundTrigger {
    let name: String
    let function: String
    /// The text of the function.
    let source: String

    /// True for a trigger that LiveFetch made for this or another model: its function has the form
    /// that every version writes.
    var isOwn: Bool {
      ModelTriggers.isName(name) && source.hasPrefix("\nBEGIN\n  ")
        && source.hasSuffix(";\n  RETURN NULL;\nEND ")
    }
  }

  private static func triggers(
    on connection: PostgresConnection
  ) throws(PostgresError) -> [FoundTrigger] {
    let rows = try connection.query(
      """
      SELECT DISTINCT t.tgname::text, p.oid::regprocedure::text, p.prosrc
      FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
      WHERE n.nspname = $1::text AND t.tgname ^@ '\(ModelTriggers.prefix)' AND p.proname = t.tgname
      """, [.text(Catalog.schema)]
    ).rows()
    return rows.map {
      FoundTrigger(
        name: $0[0].string ?? "", function: $0[1].string ?? "", source: $0[2].string ?? "")
    }
  }

  private func run(_ statements: [NamedStatement]) throws(StoreError) {
    for statement in statements {
      do throws(PostgresError) {
        try connection.execute(statement.sql)
      } catch {
        guard case .server(let refusal) = error else { throw StoreError(error) }
        throw .unusable("\(statement.name): \(refusal.message)")
      }
    }
  }
}

extension Introspection {
  /// Returns the entities of a catalog: the model's, or those that the tables imply.
  ///
  /// - Parameter model: nil without a model.
  static func of(
    _ catalog: [TableDescription], _ model: ModelTables?, _ dialect: Dialect
  ) throws(StoreError) -> Introspection {
    guard let model else { return Introspection(tables: catalog, dialect: dialect) }
    let mapping = ModelMapping(model, catalog, dialect: dialect)
    let problems = mapping.problems(unlike: model.file)
    guard problems.isEmpty else { throw ModelInstallation.refusal(problems) }
    return mapping.introspection
  }
}
