// A database that stores a model, and another version of that model → the database under the new
// version, or unchanged. One transaction covers everything. Servers of the database notice the new
// tables and open it again.

import FetchModel
import ModelStorage
import SQLComposer

extension PostgresStore {
  /// Migrates a database from the model that it stores to `model`. O(rows) of the rebuilt tables,
  /// which other sessions can neither read nor write until the end.
  ///
  /// - Parameters:
  ///   - target: as for ``init(_:options:)``.
  ///   - options: `backup` is not used: `pg_dump` copies a database. A dry run executes the scripts of
  ///     `before` too, under the locks of their statements, and rolls them back at the end.
  ///   - progress: Called before each statement with the number of completed statements, their total
  ///     number, and the name of the next one. The scripts of `before` are not counted.
  /// - Throws: ``StoreError/unusable(_:)`` with every reason for the refusal. The database is then
  ///   unchanged.
  public static func migrate(
    _ target: String, to model: ModelFile, options: MigrationOptions = .init(),
    progress: (_ done: Int, _ all: Int, _ step: String) -> Void = { _, _, _ in }
  ) throws(StoreError) -> MigrationPlan {
    let schema = PostgresStoreOptions.defaultSchema
    let connection = try storing { () throws(PostgresError) in
      try PostgresConnection(target, setup: "SET search_path = \(quoted(schema))")
    }
    defer { connection.close() }
    let run = DatabaseMigration(
      connection: connection, schema: schema, model: model, options: options)
    return try run.run(progress)
  }
}

/// A migration in progress.
private struct DatabaseMigration {
  let connection: PostgresConnection
  let schema: String
  let model: ModelFile
  let options: MigrationOptions

  private var dialect: ModelDialect { .postgres(schema: schema) }

  func run(_ progress: (Int, Int, String) -> Void) throws(StoreError) -> MigrationPlan {
    let installation = ModelInstallation(connection: connection, schema: schema, given: model)
    return try installation.transaction { () throws(StoreError) in
      guard let old = try ModelInstallation.storedModel(on: connection) else {
        throw .unusable("the database stores no model to migrate from")
      }
      for script in options.before { try run(script) }
      let planner = try MigrationPlanner(
        from: ModelInstallation.tables(of: old, dialect),
        to: ModelInstallation.tables(of: model, dialect)
      ) { sql throws(StoreError) in
        try storing { () throws(PostgresError) in try connection.query(sql).integer(0, 0) }
      }
      let plan = planner.plan
      if options.isDryRun { return (plan, false) }
      try check(plan)
      try execute(planner.statements, progress)
      try installation.complete(ModelInstallation.tables(of: model, dialect))
      return (plan, true)
    }
  }

  /// - Throws: Every reason for a refusal.
  private func check(_ plan: MigrationPlan) throws(StoreError) {
    var reasons = plan.refusals
    if !options.allowsLoss { reasons += plan.losses.map { "would lose \($0)" } }
    guard reasons.isEmpty else { throw .unusable(reasons.joined(separator: "\n")) }
  }

  private func execute(
    _ statements: [NamedStatement], _ progress: (Int, Int, String) -> Void
  ) throws(StoreError) {
    try ModelInstallation.dropTriggers(on: connection, schema)
    let all = statements.count + options.after.count
    for (index, statement) in statements.enumerated() {
      progress(index, all, statement.name)
      try execute(statement.sql, statement.name)
    }
    for (index, script) in options.after.enumerated() {
      progress(statements.count + index, all, script.name)
      try run(script)
    }
    progress(all, all, "done")
  }

  /// Runs a script in a block, where PostgreSQL refuses statements that end the transaction.
  private func run(_ script: MigrationScript) throws(StoreError) {
    try execute("DO \(literal("BEGIN EXECUTE \(literal(script.sql)); END"))", script.name)
  }

  private func execute(_ sql: String, _ name: String) throws(StoreError) {
    do throws(PostgresError) {
      try connection.execute(sql)
    } catch {
      guard case .refused(let refusal) = error else { throw StoreError(error) }
      throw .unusable("\(name): \(refusal.message)")
    }
  }
}
