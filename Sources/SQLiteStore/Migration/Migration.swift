// A file that remembers a model + another version of it → the file under the new version, or as it
// was. Everything happens in one transaction: whoever pulls the plug finds the one or the other.

import FetchModel

/// How a migration is carried out.
public struct MigrationOptions: Sendable {
  /// Whether the plan is made and nothing done.
  public var isDryRun = false
  /// Whether values may go that the new version has no place for.
  public var allowsLoss = false
  /// Where the file is copied to before; nil for no copy.
  public var backup: String?
  /// SQL of one's own, run in the same transaction when the tables are the new ones.
  public var sql: String?

  public init() {}
}

extension SQLiteStore {
  /// The model that the file at `path` remembers; nil where it remembers none.
  public static func rememberedModel(path: String) throws(StoreError) -> ModelFile? {
    let connection = try Connection(path: path, access: .readOnlyFile)
    defer { connection.close() }
    return try ModelOpening.remembered(on: connection)
  }

  /// Everything in which the tables of the file at `path` are not those of `model`.
  public static func mismatches(
    path: String, with model: ModelFile
  ) throws(StoreError) -> [String] {
    let connection = try Connection(path: path, access: .readOnlyFile)
    defer { connection.close() }
    let catalogue = try CatalogueReader(connection: connection).tables()
    return ModelMapping(ModelTables(model), catalogue, isUTF8: true).problems
  }

  /// Leads the file at `path` from the model that it remembers to `model`.
  ///
  /// - Parameter progress: told of each statement: how many are done, of how many, and which comes.
  /// - Throws: ``StoreError/unusable(_:)`` with every reason why it is refused.
  public static func migrate(
    path: String, to model: ModelFile, options: MigrationOptions = .init(),
    progress: (_ done: Int, _ all: Int, _ step: String) -> Void = { _, _, _ in }
  ) throws(StoreError) -> MigrationPlan {
    let lock = try FileLock(beside: path)
    defer { withExtendedLifetime(lock) {} }
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    guard let old = try ModelOpening.remembered(on: connection) else {
      throw .unusable("the file remembers no model to migrate from")
    }
    var plan = try MigrationPlanner(from: old, to: model, on: connection).plan
    if options.isDryRun { return plan }
    try check(plan, options)
    if let backup = options.backup {
      try connection.run("VACUUM main INTO ?", [.text(backup)])
      plan.backup = backup
    }
    try MigrationRun(connection: connection, plan: plan, model: model, sql: options.sql)
      .run(progress)
    return plan
  }

  private static func check(
    _ plan: MigrationPlan, _ options: MigrationOptions
  ) throws(StoreError) {
    var reasons = plan.refusals
    if !options.allowsLoss { reasons += plan.losses.map { "would lose \($0)" } }
    guard reasons.isEmpty else { throw .unusable(reasons.joined(separator: "\n")) }
  }
}

/// One migration while it is carried out.
private struct MigrationRun {
  let connection: Connection
  let plan: MigrationPlan
  let model: ModelFile
  let sql: String?

  func run(_ progress: (Int, Int, String) -> Void) throws(StoreError) {
    // Tables are replaced under the names by which others refer to them.
    try connection.execute("PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
    try connection.trustSchema()
    try connection.execute("BEGIN IMMEDIATE")
    do {
      try carryOut(progress)
      try connection.execute("COMMIT")
    } catch {
      if !connection.isInAutocommit { try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  private func carryOut(_ progress: (Int, Int, String) -> Void) throws(StoreError) {
    try dropTriggers()
    for (index, statement) in plan.statements.enumerated() {
      progress(index, plan.statements.count, statement.name)
      do throws(StoreError) {
        try connection.execute(statement.sql)
      } catch .failed(let reason) {
        throw .unusable("\(statement.name): \(reason)")
      }
    }
    if let sql { try connection.execute(sql) }
    try checkLinks()
    try ModelOpening.remember(model, on: connection)
    progress(plan.statements.count, plan.statements.count, "done")
  }

  /// Rules and history stand still meanwhile; they are made anew when the file is opened.
  private func dropTriggers() throws(StoreError) {
    let names = try connection.all(
      """
      SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND
      (name LIKE 'model\\_%' ESCAPE '\\' OR name LIKE 'livefetch\\_%' ESCAPE '\\')
      """
    ) { $0.text(0) }
    for name in names { try connection.execute("DROP TRIGGER main.\(quoted(name))") }
  }

  private func checkLinks() throws(StoreError) {
    let broken = try connection.first("PRAGMA foreign_key_check") { $0.text(0) }
    if let broken { throw .unusable("\(broken): a row refers to an object that is not there") }
  }
}
