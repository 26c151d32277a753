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
    let connection = try withStoreErrors { () throws(PostgresError) in
      try PostgresConnection(target, setup: "SET search_path = \(quoted(Catalog.schema))")
    }
    defer { connection.close() }
    let run = DatabaseMigration(connection: connection, model: model, options: options)
    return try run.run(progress)
  }
}

/// A migration in progress.
private struct DatabaseMigration {
  let connection: PostgresConnection
  let model: ModelFile
  let options: MigrationOptions

  func run(_ progress: (Int, Int, String) -> Void) throws(StoreError) -> MigrationPlan {
    let installation = ModelInstallation(connection: connection, given: model)
    return try installation.transaction { () throws(StoreError) in
      guard let old = try ModelInstallation.storedModel(on: connection) else {
        throw .unusable("the database stores no model to migrate from")
      }
      for script in options.before { try run(script) }
      let tables = try ModelInstallation.tables(of: old)
      let privileges = try withStoreErrors { () throws(PostgresError) in
        try TablePrivileges.read(of: tables.tables.map(\.name), on: connection)
      }
      let planner = try MigrationPlanner(
        from: tables, to: ModelInstallation.tables(of: model),
        catalog: installation.catalog().composed(tracked: []),
        dependents: dependents(of: tables),
        count: { sql throws(StoreError) in
          try withStoreErrors { () throws(PostgresError) in try connection.query(sql).integer(0, 0)
          }
        }, privileges: { TablePrivileges.moves(privileges, from: $1, to: $0) })
      let plan = planner.plan
      if options.isDryRun { return (plan, false) }
      try check(plan)
      try execute(planner.statements, progress)
      try installation.complete(ModelInstallation.tables(of: model))
      return (plan, true)
    }
  }

  /// Returns, by the names of the model's tables, what is dropped with them: views, indexes, constraints,
  /// triggers and other objects that neither a model nor the history has made, and privileges of columns.
  private func dependents(of tables: ModelTables) throws(StoreError) -> [String: [String]] {
    let rows = try withStoreErrors { () throws(PostgresError) in
      try connection.query(
        Self.dependents,
        [
          .text(Catalog.schema), arrayText(tables.tables.map(\.name)),
          arrayText(tables.indexes.map(\.name)),
        ]
      ).rows()
    }
    return Dictionary(grouping: rows) { $0[0].string ?? "" }
      .mapValues { $0.compactMap { row in row[1].string } }
  }

  /// $1 is the schema, $2 the names of its tables, $3 those of their indexes. Views depend on a table
  /// through their rules, and on each other.
  private static let dependents = """
    WITH RECURSIVE tables (name, id, type) AS (
      SELECT c.relname::text, c.oid, c.reltype
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = $1::text AND c.relname = ANY ($2::text[])
    ), relations (name, id) AS (
      SELECT name, id FROM tables
      UNION
      SELECT l.name, r.ev_class FROM relations AS l
        JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = l.id
          AND d.classid = 'pg_rewrite'::regclass
        JOIN pg_rewrite AS r ON r.oid = d.objid
    )
    SELECT name, pg_describe_object('pg_class'::regclass, id, 0)
    FROM relations WHERE id NOT IN (SELECT id FROM tables)
    UNION
    SELECT t.name, pg_describe_object(d.classid, d.objid, d.objsubid)
    FROM tables AS t JOIN pg_depend AS d ON d.deptype IN ('a', 'n') AND (
        d.refclassid = 'pg_class'::regclass AND d.refobjid = t.id
        OR d.refclassid = 'pg_type'::regclass AND d.refobjid = t.type)
      LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
      LEFT JOIN pg_constraint AS k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
      LEFT JOIN pg_trigger AS g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
      LEFT JOIN pg_proc AS p ON p.oid = g.tgfoid
    WHERE d.classid NOT IN ('pg_rewrite'::regclass, 'pg_attrdef'::regclass)
      AND NOT coalesce(
        c.relkind = 'S' OR c.relkind = 'i' AND c.relname = ANY ($3::text[])
        OR k.contype IN ('p', 'n')
        OR k.contype = 'f' AND k.conrelid IN (SELECT id FROM tables)
          AND k.confrelid IN (SELECT id FROM tables)
        OR g.tgisinternal OR p.pronamespace::regnamespace::text = 'livefetch'
        OR g.tgname ^@ '\(ModelTriggers.prefix)' AND p.proname = g.tgname, false)
    UNION
    SELECT t.name, format('privileges of %s on the column %s.%s', \(TablePrivileges.role), t.name, k.attname)
    FROM tables AS t JOIN pg_attribute AS k ON k.attrelid = t.id AND NOT k.attisdropped
      CROSS JOIN aclexplode(k.attacl) AS a
    ORDER BY 1, 2
    """

  /// - Throws: Every reason for a refusal.
  private func check(_ plan: MigrationPlan) throws(StoreError) {
    var reasons = plan.refusals
    if !options.allowsLoss { reasons += plan.losses.map { "would lose \($0)" } }
    guard reasons.isEmpty else { throw .unusable(reasons.joined(separator: "\n")) }
  }

  private func execute(
    _ statements: [NamedStatement], _ progress: (Int, Int, String) -> Void
  ) throws(StoreError) {
    try ModelInstallation.dropTriggers(on: connection)
    let last =
      options.hasScripts
      ? try ModelTriggers(ModelInstallation.tables(of: model)).recomputation() : []
    let all = statements.count + options.after.count + last.count
    var done = 0
    func carryOut(_ statement: NamedStatement) throws(StoreError) {
      progress(done, all, statement.name)
      try execute(statement.sql, statement.name)
      done += 1
    }
    for statement in statements { try carryOut(statement) }
    try nameAsNew()
    for script in options.after {
      progress(done, all, script.name)
      try run(script)
      done += 1
    }
    for statement in last { try carryOut(statement) }
    progress(all, all, "done")
  }

  /// Gives the constraints and sequences of rebuilt tables the names that they have in a table that is created
  /// under its own name. PostgreSQL names them by the table, but not again when the table is renamed.
  private func nameAsNew() throws(StoreError) {
    let tables = try ModelInstallation.tables(of: model).tables.map(\.name)
    try withStoreErrors { () throws(PostgresError) -> Void in
      let rows = try connection.query(
        Self.draftNames, [.text(Catalog.schema), arrayText(tables)]
      ).rows()
      for row in rows {
        let text = row.map { $0.string ?? "" }
        let (table, old, label) = (text[0], text[2], text[3])
        let new = ObjectName.of(table: table, column: text[1], label: label)
        let place = "\(quoted(Catalog.schema))."
        let isTaken = try connection.query(
          "SELECT to_regclass($1::text) IS NOT NULL", [.text(place + quoted(new))]
        ).bool(0, 0)
        guard old != new, label == "not_null" || !isTaken else { continue }
        try connection.execute(
          label == "seq"
            ? "ALTER SEQUENCE \(place)\(quoted(old)) RENAME TO \(quoted(new))"
            : "ALTER TABLE \(place)\(quoted(table)) RENAME CONSTRAINT \(quoted(old)) "
              + "TO \(quoted(new))")
      }
    }
  }

  /// The constraints and sequences with names of drafts: the table, the column, the name, and the last part
  /// of the name. $1 is the schema, $2 the names of its tables.
  private static let draftNames = """
    SELECT * FROM (
      SELECT c.relname::text, coalesce(a.attname::text, ''), k.conname::text AS name,
        CASE k.contype WHEN 'p' THEN 'pkey' ELSE 'not_null' END AS label
      FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
        LEFT JOIN pg_attribute AS a
          ON k.contype = 'n' AND a.attrelid = c.oid AND a.attnum = k.conkey[1]
      WHERE k.contype IN ('p', 'n') AND c.relnamespace = (
        SELECT oid FROM pg_namespace WHERE nspname = $1::text)
      UNION ALL
      SELECT c.relname::text, a.attname::text, s.relname::text, 'seq'
      FROM pg_class AS s JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid
          AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
        JOIN pg_class AS c ON c.oid = d.refobjid
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
      WHERE s.relkind = 'S' AND s.relnamespace = c.relnamespace AND c.relnamespace = (
        SELECT oid FROM pg_namespace WHERE nspname = $1::text)
    ) AS n (table_name, column_name, name, label)
    WHERE table_name = ANY ($2::text[]) AND name ^@ 'migrating_'
    """

  /// Runs a script in a block, where PostgreSQL refuses statements that end the transaction.
  private func run(_ script: MigrationScript) throws(StoreError) {
    try execute("DO \(literal("BEGIN EXECUTE \(literal(script.sql)); END"))", script.name)
  }

  private func execute(_ sql: String, _ name: String) throws(StoreError) {
    do throws(PostgresError) {
      try connection.execute(sql)
    } catch {
      guard case .server(let refusal) = error else { throw StoreError(error) }
      throw .unusable("\(name): \(refusal.message)")
    }
  }
}

/// The names that PostgreSQL gives to constraints and sequences.
enum ObjectName {
  /// Returns `table_column_label`. The longer one of the first two is shortened until the name has at most
  /// 63 bytes.
  ///
  /// - Parameter column: empty for a name without a column.
  static func of(table: String, column: String, label: String) -> String {
    let rest = ModelDialect.maxNameBytes - label.utf8.count - (column.isEmpty ? 1 : 2)
    var (first, second) = (table.utf8.count, column.utf8.count)
    while first + second > rest {
      if first > second { first -= 1 } else { second -= 1 }
    }
    let parts = [prefix(of: table, first), prefix(of: column, second), label]
    return parts.filter { !$0.isEmpty }.joined(separator: "_")
  }

  /// Returns the longest beginning of whole code points with at most `count` bytes.
  private static func prefix(of text: String, _ count: Int) -> String {
    var scalars = Substring(text).unicodeScalars
    while scalars.reduce(0, { $0 + UTF8.width($1) }) > count { scalars.removeLast() }
    return String(scalars)
  }
}
