// A connection string → the database's catalog and model, its history, and the settings of every
// connection.

import FetchModel
import ModelStorage
import SQLComposer

/// A database that has been connected to once.
struct DatabaseOpening {
  let catalog: Catalog
  let introspection: Introspection
  let databaseName: String
  /// The tables whose changes are recorded; nil if the database is served without a history.
  private(set) var tracked: [PostgresTrackedTable]?
  private(set) var newlyTracked: [String] = []
  /// The tables whose changes cannot be recorded yet, because a transaction holds a lock of them.
  private(set) var locked: [PostgresTrackedTable] = []
  private(set) var readOnlyReason: String?
  /// True if the server was in recovery.
  let isStandby: Bool
  /// Statements that every connection runs first.
  let connectionSetup: String

  /// Turns `synchronous_commit` on if it is off: a save is answered after its commit is flushed.
  private static let flushing = """
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'
    """

  /// The oldest supported server.
  private static let oldestVersion = 140_000

  init(_ target: String, _ options: PostgresStoreOptions) throws(StoreError) {
    connectionSetup =
      "SET search_path = \(quoted(Catalog.schema)); \(HistoryEpoch.setup); \(Self.flushing)"
    let connection: PostgresConnection
    do {
      connection = try PostgresConnection(target, setup: connectionSetup)
    } catch {
      throw .storageFailed("cannot connect: \(Self.text(error))")
    }
    defer { connection.close() }
    connection.deadline = .now + .seconds(60)
    try Self.check(connection)
    var found: PostgresHistory.Installation?
    let model = ModelInstallation(connection: connection, given: options.model)
    isStandby = try withStoreErrors { () throws(PostgresError) in try Self.isStandby(connection) }
    (found, readOnlyReason) = try Self.install(model, connection, isStandby: isStandby, options)
    tracked = found?.tracked
    newlyTracked = found?.changed ?? []
    locked = found?.locked ?? []
    (catalog, databaseName) = try withStoreErrors { () throws(PostgresError) in
      (
        try CatalogReader(connection: connection).read(),
        try connection.query("SELECT current_database()").text(0, 0)
      )
    }
    var tables = catalog.composed(
      tracked: Set(tracked?.map(\.oid) ?? []), locked: Set(locked.map(\.oid)))
    for index in tables.indices {
      guard let id = tables[index].viewID else { continue }
      let view = "\(quoted(Catalog.schema)).\(quoted(tables[index].name))"
      tables[index].isIdentifiedByID = Self.isUnique(id.name, in: view, connection)
    }
    introspection = try .of(
      tables, try model.tables(),
      .postgres(tracked: tracked ?? []))
  }

  /// True if the column of a view has another value in each of the first rows. Also true if the view
  /// cannot be read in time, and if it calls a volatile function, which may write: it is not executed then.
  private static func isUnique(
    _ column: String, in view: String, _ connection: PostgresConnection
  ) -> Bool {
    let sql = """
      SELECT count(*) = count(DISTINCT value)
      FROM (SELECT \(quoted(column)) AS value FROM \(view)
        LIMIT \(TableDescription.lookedAtRows)) AS v
      """
    let isUnique = try? connection.withDeadline(.seconds(5)) { () throws(PostgresError) -> Bool in
      if try connection.query(volatility, [.text(view)]).bool(0, 0) { return true }
      return try connection.query(sql).bool(0, 0)
    }
    return isUnique ?? true
  }

  /// True if a view, or a view that it reads, calls a volatile function. Dependencies do not name the
  /// functions of PostgreSQL itself, such as `nextval`, so the functions are taken from the stored query.
  private static let volatility = """
    WITH RECURSIVE views (id) AS (
      SELECT oid FROM pg_class WHERE oid = $1::regclass AND relkind = 'v'
      UNION
      SELECT c.oid FROM views AS v JOIN pg_rewrite AS r ON r.ev_class = v.id
        JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
          AND d.refclassid = 'pg_class'::regclass
        JOIN pg_class AS c ON c.oid = d.refobjid AND c.relkind = 'v')
    SELECT EXISTS (
      SELECT FROM views AS v JOIN pg_rewrite AS r ON r.ev_class = v.id
        CROSS JOIN regexp_matches(
          r.ev_action::text, ':(funcid|opfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') AS found
        JOIN pg_proc AS p ON p.oid = found[2]::oid WHERE p.provolatile = 'v')
    """

  static func isStandby(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
    try connection.query("SELECT pg_is_in_recovery()").bool(0, 0)
  }

  private static func check(_ connection: PostgresConnection) throws(StoreError) {
    guard connection.serverVersion >= oldestVersion else {
      throw .unusable("the server is older than PostgreSQL 14")
    }
    let encoding = try withStoreErrors { () throws(PostgresError) in
      try connection.query("SHOW server_encoding").text(0, 0)
    }
    guard encoding == "UTF8" else {
      throw .unusable("the database has the encoding \(encoding), not UTF8")
    }
  }

  /// Installs the model, the history and the functions. Returns no tables if the database is only
  /// read, and the reason if the options do not ask for that.
  private static func install(
    _ model: ModelInstallation, _ connection: PostgresConnection, isStandby: Bool,
    _ options: PostgresStoreOptions
  ) throws(StoreError) -> (PostgresHistory.Installation?, String?) {
    if options.isReadOnly { return (nil, nil) }
    if isStandby { return (nil, "the server is a standby") }
    do throws(StoreError) {
      // First: derived attributes of the model call them.
      try withStoreErrors { () throws(PostgresError) in try PostgresFunctions.install(connection) }
      try model.install()
      let result = try withStoreErrors { () throws(PostgresError) in
        try PostgresHistory.install(on: connection)
      }
      return (result, nil)
    } catch {
      switch error {
      case .readOnly:
        return (
          nil,
          "the role may not create the schema livefetch, or does not own it, or the server accepts no writes"
        )
      case .busy: throw .unusable("a transaction holds a lock of a table; try again when it ends")
      default: throw error
      }
    }
  }

  private static func text(_ error: PostgresError) -> String {
    switch error {
    case .server(let error): error.message
    case .disconnected(let text), .malformed(let text): text
    case .timedOut, .cancelled, .noFreeConnection, .closed: "connecting takes too long"
    }
  }
}
