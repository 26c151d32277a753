// A file that stores a model, and another version of that model → the file under the new version,
// or unchanged. One transaction covers everything, so a crash leaves either the old state or the
// new one.

import FetchModel
import ModelStorage
import SQLComposer

extension SQLiteStore {
  /// ``MigrationOptions``, for files in which another type has this name.
  public typealias MigrationSettings = MigrationOptions

  /// Returns the model that the file at `path` stores; nil if it stores none.
  public static func storedModel(path: String) throws(StoreError) -> ModelFile? {
    let connection = try Connection(path: path, access: .readOnlyFile)
    defer { connection.close() }
    return try ModelOpening.storedModel(on: connection)
  }

  /// Returns the model of a new file that is made for `model`. Leaves no file.
  public static func model(ofNewFileFor model: ModelFile) throws(StoreError) -> Model {
    let connection = try Connection(path: nil, access: .write)
    defer { connection.close() }
    let opening = ModelOpening(connection: connection, given: model)
    return try opening.open()?.model ?? Model(entities: [], file: model)
  }

  /// Returns the differences found between the tables of the file at `path` and those of `model`.
  public static func mismatches(
    path: String, with model: ModelFile
  ) throws(StoreError) -> [String] {
    let connection = try Connection(path: path, access: .readOnlyFile)
    defer { connection.close() }
    return try ModelOpening.mismatches(of: ModelTables(model, .sqlite), on: connection)
  }

  /// Migrates the file at `path` from the model that it stores to `model`. O(rows) of the rebuilt
  /// tables.
  ///
  /// - Parameter progress: Called before each statement with the number of completed statements,
  ///   their total number, and the name of the next one. Called once more at the end.
  /// - Throws: ``StoreError/unusable(_:)`` with every reason for the refusal. The file is then
  ///   unchanged, and no copy remains.
  public static func migrate(
    path: String, to model: ModelFile, options: MigrationOptions = .init(),
    progress: (_ done: Int, _ all: Int, _ step: String) -> Void = { _, _, _ in }
  ) throws(StoreError) -> MigrationPlan {
    let lock = try FileLock(beside: path)
    defer { withExtendedLifetime(lock) {} }
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    guard let old = try ModelOpening.storedModel(on: connection) else {
      throw .unusable("the file stores no model to migrate from")
    }
    let run = MigrationRun(connection: connection, old: old, model: model, options: options)
    if options.isDryRun { return try run.dryRun().plan }
    guard let backup = options.backup else { return try run.migrate(progress) }
    // A refused migration makes no copy.
    let planned = try run.dryRun()
    try run.check(planned.plan)
    // A migration that leaves every row unchanged makes no copy.
    guard !planned.statements.isEmpty || options.hasScripts else {
      return try run.migrate(progress)
    }
    try backUpFile(of: path, at: backup)
    do {
      var plan = try run.migrate(progress)
      plan.backup = backup
      return plan
    } catch {
      removeFiles(backup)
      throw error
    }
  }
}

extension SQLiteStore {
  fileprivate static func backUpFile(of path: String, at backup: String) throws(StoreError) {
    do {
      _ = try backUp(path: path, to: backup)
    } catch {
      switch error {
      case .source(let reason): throw reason
      case .destination(.diskFull): throw .diskFull
      case .destination: throw .failed("the copy \(backup) cannot be written")
      }
    }
  }
}

/// A migration in progress.
private struct MigrationRun {
  let connection: Connection
  let old: ModelFile
  let model: ModelFile
  let options: MigrationOptions

  /// Returns the plan and leaves the file unchanged.
  func dryRun() throws(StoreError) -> MigrationPlanner {
    try transaction(keeps: false) { () throws(StoreError) in try prepare() }
  }

  /// Carries the plan out. Another process may have written since the dry run, so this makes the
  /// plan again.
  func migrate(_ progress: (Int, Int, String) -> Void) throws(StoreError) -> MigrationPlan {
    try transaction(keeps: true) { () throws(StoreError) in
      let planner = try prepare()
      try check(planner.plan)
      try run(planner.statements, progress)
      return planner
    }.plan
  }

  /// - Throws: Every reason for a refusal.
  func check(_ plan: MigrationPlan) throws(StoreError) {
    var reasons = plan.refusals
    if !options.allowsLoss { reasons += plan.losses.map { "would lose \($0)" } }
    guard reasons.isEmpty else { throw .unusable(reasons.joined(separator: "\n")) }
  }

  private func transaction(
    keeps: Bool, _ body: () throws(StoreError) -> MigrationPlanner
  ) throws(StoreError) -> MigrationPlanner {
    // Tables are replaced under the names by which other tables refer to them.
    try connection.execute("PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
    try connection.enableTrustedSchema()
    return try connection.transaction(keeps: keeps, body)
  }

  /// Runs the scripts that precede the migration, and makes the plan.
  private func prepare() throws(StoreError) -> MigrationPlanner {
    for script in options.before { try connection.run(script) }
    let tables = ModelTables(old, .sqlite)
    let catalog = try SchemaReader(connection: connection).tables()
    return try MigrationPlanner(
      from: tables, to: ModelTables(model, .sqlite), catalog: catalog,
      dependents: dependents(of: catalog, besides: tables)
    ) { sql throws(StoreError) in try connection.first(sql) { $0.integer(0) } ?? 0 }
  }

  /// Returns for each table the names of its indexes, triggers and constraints that are dropped with it and
  /// that neither a model nor the history created.
  private func dependents(
    of catalog: [TableDescription], besides known: ModelTables
  ) throws(StoreError) -> [String: [String]] {
    let objects = try connection.all(
      """
      SELECT tbl_name, type, name, sql FROM main.sqlite_schema
      WHERE type IN ('index', 'trigger') AND sql IS NOT NULL
        AND name NOT LIKE 'livefetch\\_%' ESCAPE '\\' ORDER BY type, name
      """
    ) { row in
      (
        table: folded(row.text(0)), type: row.text(1),
        object: NamedStatement(name: row.text(2), sql: row.text(3))
      )
    }
    let indexes = Set(known.indexes.map { folded($0.name) })
    var result: [String: [String]] = [:]
    for table in catalog where !table.isView {
      let others = objects.filter { entry in
        entry.table == folded(table.name) && !ModelOpening.isOwn(entry.object)
          && !(entry.type == "index" && indexes.contains(folded(entry.object.name)))
      }
      var names = others.map { "\($0.type) \($0.object.name)" }
      for index in table.uniqueIndexes where index.name.hasPrefix("sqlite_autoindex_") {
        let columns = index.parts.compactMap(\.column).joined(separator: ", ")
        names.append("constraint UNIQUE (\(columns)) of \(table.name)")
      }
      result[table.name] = names
    }
    let modelled = Set(known.tables.map { folded($0.name) })
    for table in catalog where modelled.contains(folded(table.name)) {
      // The tables of a model have no such constraints.
      var scanner = IndexScanner(table.sql)
      guard scanner.parenthesized(after: "check") != nil else { continue }
      result[table.name, default: []].append("CHECK constraints of \(table.name)")
    }
    return result
  }

  private func run(
    _ statements: [NamedStatement], _ progress: (Int, Int, String) -> Void
  ) throws(StoreError) {
    try dropTriggers()
    let triggers = ModelTriggers(ModelTables(model, .sqlite))
    let last = options.hasScripts ? triggers.recomputation() : []
    let all = statements.count + options.after.count + last.count
    var done = 0
    func execute(_ statement: NamedStatement) throws(StoreError) {
      progress(done, all, statement.name)
      do throws(StoreError) {
        try connection.execute(statement.sql)
      } catch .failed(let reason) {
        throw .unusable("\(statement.name): \(reason)")
      }
      done += 1
    }
    for statement in statements { try execute(statement) }
    for script in options.after {
      progress(done, all, script.name)
      try connection.run(script)
      done += 1
    }
    for statement in last { try execute(statement) }
    try checkForeignKeys()
    try ModelOpening.checkNames(of: triggers.statements, on: connection)
    try ModelOpening.store(model, on: connection)
    progress(all, all, "done")
  }

  /// Drops the triggers of the rules and of the history, and ends the history. Opening the file creates
  /// the triggers again and begins a new history.
  private func dropTriggers() throws(StoreError) {
    if try History.isPresent(on: connection) {
      try connection.execute("DELETE FROM main.livefetch_store WHERE key = 'schema'")
    }
    try History.dropTriggers(on: connection)
    try ModelOpening.dropTriggers(on: connection)
  }

  private func checkForeignKeys() throws(StoreError) {
    let broken = try connection.all("PRAGMA foreign_key_check") { row in
      "\(row.text(0)) \(row.integer(1)): refers to a \(row.text(2)) that is not there"
    }
    guard !broken.isEmpty else { return }
    let more = broken.count > 10 ? ["and \(broken.count - 10) more"] : []
    throw .unusable((broken.prefix(10) + more).joined(separator: "\n"))
  }
}
