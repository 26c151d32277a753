// The migration of a store to another version of its model: the caller's options, and the plan that
// is reported.

/// The plan of a migration.
public struct MigrationPlan: Sendable {
  /// Descriptions of the steps, for users.
  public package(set) var steps: [String] = []
  /// The reasons why the migration is impossible; empty if it is possible.
  public package(set) var refusals: [String] = []
  /// The losses. The migration runs only if they are allowed.
  public package(set) var losses: [String] = []
  /// The path of the copy of the unmigrated file; nil without one.
  public package(set) var backup: String?

  package init() {}
}

/// The options of a migration.
public struct MigrationOptions: Sendable {
  /// True to make the plan without carrying it out.
  public var isDryRun = false
  /// True to allow the loss of values that the new version cannot hold.
  public var allowsLoss = false
  /// The path of a copy of the file, made before the migration; no file may exist there. nil for no
  /// copy, which a PostgreSQL database never has.
  public var backup: String?
  /// The caller's SQL on the old tables, run in the same transaction before the plan is made.
  public var before: [MigrationScript] = []
  /// The caller's SQL on the new tables, run at the end of the same transaction.
  public var after: [MigrationScript] = []

  /// True if the migration runs SQL of the caller.
  package var hasScripts: Bool { !before.isEmpty || !after.isEmpty }

  /// Creates the default options: migrate, refuse losses, make no copy.
  public init() {}
}

/// Statements that a migration runs in addition to its own.
public struct MigrationScript: Sendable, Hashable {
  /// The file's name, for error messages.
  public let name: String
  /// The statements, separated by semicolons.
  public let sql: String

  /// Makes a migration script.
  public init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }
}
