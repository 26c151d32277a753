// A file that remembers a model + another version of it → the file under the new version, or as it
// was. Everything happens in one transaction: whoever pulls the plug finds the one or the other.

import FetchModel

/// How a migration is carried out.
public struct MigrationOptions: Sendable {
  /// Whether the plan is made and nothing done.
  public var isDryRun = false
  /// Whether values may go that the new version has no place for.
  public var allowsLoss = false
  /// Where the file is copied to before, which must not be there; nil for no copy.
  public var backup: String?
  /// SQL of one's own on the old tables, run before the plan is made: in the same transaction.
  public var before: [MigrationScript] = []
  /// SQL of one's own on the new tables, run at the end of the same transaction.
  public var after: [MigrationScript] = []

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
    return try ModelOpening.mismatches(of: ModelTables(model), on: connection)
  }

  /// Leads the file at `path` from the model that it remembers to `model`.
  ///
  /// - Parameter progress: told of each statement: how many are done, of how many, and which comes.
  /// - Throws: ``StoreError/unusable(_:)`` with every reason why it is refused. The file is as it was
  ///   then, and no copy of it is left.
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
    let run = MigrationRun(connection: connection, old: old, model: model, options: options)
    if options.isDryRun { return try run.rehearse() }
    guard let backup = options.backup else { return try run.carryOut(progress) }
    // What is refused anyway needs no copy.
    let rehearsed = try run.rehearse()
    try run.check(rehearsed)
    // Nor does what leaves every row as it is.
    guard !rehearsed.isEmpty || !(options.before + options.after).isEmpty else {
      return try run.carryOut(progress)
    }
    try keepCopy(of: path, at: backup)
    do {
      var plan = try run.carryOut(progress)
      plan.backup = backup
      return plan
    } catch {
      removeFiles(backup)
      throw error
    }
  }
}

extension SQLiteStore {
  fileprivate static func keepCopy(of path: String, at backup: String) throws(StoreError) {
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

/// One migration while it is carried out.
private struct MigrationRun {
  let connection: Connection
  let old: ModelFile
  let model: ModelFile
  let options: MigrationOptions

  /// The plan; the file is left as it is.
  func rehearse() throws(StoreError) -> MigrationPlan {
    try transaction(keeps: false) { () throws(StoreError) in try plan() }
  }

  /// Others may have written since the rehearsal, so the plan is made again.
  func carryOut(_ progress: (Int, Int, String) -> Void) throws(StoreError) -> MigrationPlan {
    try transaction(keeps: true) { () throws(StoreError) in
      let plan = try plan()
      try check(plan)
      try run(plan, progress)
      return plan
    }
  }

  /// - Throws: every reason against the plan.
  func check(_ plan: MigrationPlan) throws(StoreError) {
    var reasons = plan.refusals
    if !options.allowsLoss { reasons += plan.losses.map { "would lose \($0)" } }
    guard reasons.isEmpty else { throw .unusable(reasons.joined(separator: "\n")) }
  }

  private func transaction(
    keeps: Bool, _ body: () throws(StoreError) -> MigrationPlan
  ) throws(StoreError) -> MigrationPlan {
    // Tables are replaced under the names by which others refer to them.
    try connection.execute("PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
    try connection.trustSchema()
    try connection.execute("BEGIN IMMEDIATE")
    do {
      let plan = try body()
      try connection.execute(keeps ? "COMMIT" : "ROLLBACK")
      return plan
    } catch {
      if !connection.isInAutocommit { try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  private func plan() throws(StoreError) -> MigrationPlan {
    for script in options.before { try connection.run(script) }
    return try MigrationPlanner(from: old, to: model, on: connection).plan
  }

  private func run(
    _ plan: MigrationPlan, _ progress: (Int, Int, String) -> Void
  ) throws(StoreError) {
    try dropTriggers()
    let all = plan.statements.count + options.after.count
    for (index, statement) in plan.statements.enumerated() {
      progress(index, all, statement.name)
      do throws(StoreError) {
        try connection.execute(statement.sql)
      } catch .failed(let reason) {
        throw .unusable("\(statement.name): \(reason)")
      }
    }
    for (index, script) in options.after.enumerated() {
      progress(plan.statements.count + index, all, script.name)
      try connection.run(script)
    }
    try checkLinks()
    try ModelOpening.remember(model, on: connection)
    progress(all, all, "done")
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
    let broken = try connection.all("PRAGMA foreign_key_check") { row in
      "\(row.text(0)) \(row.integer(1)): refers to a \(row.text(2)) that is not there"
    }
    guard !broken.isEmpty else { return }
    let more = broken.count > 10 ? ["and \(broken.count - 10) more"] : []
    throw .unusable((broken.prefix(10) + more).joined(separator: "\n"))
  }
}
