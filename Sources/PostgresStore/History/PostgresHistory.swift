// The schema `livefetch`: installing it, comparing it with the catalog, and removing it.
//
//     livefetch.store     one row: the format, the nonce, and the snapshot up to which the history
//                         has been pruned
//     livefetch.captured  the tables whose changes are recorded, with the signature of each
//     livefetch.hole      changes that could not be recorded; each begins a new epoch
//     livefetch.mark      snapshots with their times, for pruning by age
//     livefetch.answer    responses of idempotent saves; see PostgresIdempotencyTable
//     livefetch.history_… the old rows, until they are pruned; see PostgresTrackedTable
//     livefetch.model     the model that the database stores; see ModelInstallation
//     livefetch.key       API keys; see PostgresAPIKeyTable

import SQLComposer

/// The history of a database.
enum PostgresHistory {
  /// The result of an installation.
  struct Installation: Hashable, Sendable {
    /// The tables for which something was created; empty if everything was in place.
    var changed: [String] = []
    /// The tables whose changes are recorded.
    var tracked: [PostgresTrackedTable] = []
    /// The tables whose changes cannot be recorded yet, because a transaction holds a lock of them.
    var locked: [PostgresTrackedTable] = []
  }

  /// The format of the schema that this version creates and reads.
  static let format = 1

  /// The time limit for a lock of the schema `livefetch`, or of a model's table.
  static let lockTimeout = "3s"
  /// The time limit for the lock of a table whose triggers are created. A statement that waits for a lock
  /// blocks later writers of the table.
  static let tableLockTimeout = "100ms"

  /// Creates what is missing and replaces what differs, in one transaction. Begins a new epoch if
  /// anything did. Servers that install at the same time wait for each other.
  ///
  /// A table that a transaction holds for longer than a moment is left for a later installation.
  ///
  /// - Throws: SQLSTATE 42501 if the role may not create the schema or does not own its tables.
  static func install(on connection: PostgresConnection) throws(PostgresError) -> Installation {
    try connection.withTransaction { () throws(PostgresError) in
      try connection.execute(
        """
        SET LOCAL lock_timeout = '\(Self.lockTimeout)'; SET LOCAL search_path = pg_catalog;
        SELECT pg_advisory_xact_lock(\(Self.lockNumber));
        """)
      try createTables(on: connection)
      let catalog = try CatalogReader(connection: connection).read()
      return try update(catalog, on: connection)
    }
  }

  /// The key of the advisory lock: the bytes of "livefetc".
  static let lockNumber = 0x6C69_7665_6665_7463

  private static func createTables(on connection: PostgresConnection) throws(PostgresError) {
    try connection.execute(
      """
      CREATE SCHEMA IF NOT EXISTS livefetch;
      CREATE SEQUENCE IF NOT EXISTS livefetch.history_seq;
      CREATE TABLE IF NOT EXISTS livefetch.store (
        single boolean PRIMARY KEY DEFAULT true CHECK (single), format integer NOT NULL,
        nonce text NOT NULL, horizon pg_snapshot NOT NULL);
      CREATE TABLE IF NOT EXISTS livefetch.captured (
        relation oid PRIMARY KEY, signature text NOT NULL);
      CREATE TABLE IF NOT EXISTS livefetch.hole (
        seq bigint PRIMARY KEY DEFAULT nextval('livefetch.history_seq'),
        relation oid NOT NULL, at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE IF NOT EXISTS livefetch.mark (
        at timestamptz PRIMARY KEY DEFAULT clock_timestamp(), snapshot pg_snapshot NOT NULL);
      \(PostgresIdempotencyTable.creationSQL)
      """)
    let formats = try connection.query("SELECT format FROM livefetch.store").rows()
    guard formats.isEmpty || formats == [[.integer(Int64(Self.format))]] else {
      throw .malformed("the schema livefetch has another format; use the version that created it")
    }
    if formats.isEmpty {
      try connection.execute(
        revocation(of: ["history_seq", "store", "captured", "hole", "mark", "answer"]))
    }
  }

  /// The statement that removes what ALTER DEFAULT PRIVILEGES has given to new tables and sequences of the
  /// schema `livefetch`: the history has values that the roles may not read in the tables.
  static func revocation(of names: [String]) -> String {
    "DO \(literal(revocationBlock(of: names)))"
  }

  /// The same as a block of PL/pgSQL.
  static func revocationBlock(of names: [String]) -> String {
    let list = names.map(literal).joined(separator: ", ")
    return TablePrivileges.revocationBlock(
      where: "c.relnamespace = 'livefetch'::regnamespace AND c.relname IN (\(list))")
  }

  private static func update(
    _ catalog: Catalog, on connection: PostgresConnection
  ) throws(PostgresError) -> Installation {
    var result = Installation()
    let stored = try storedSignatures(on: connection)
    result.tracked = catalog.tables.compactMap(PostgresTrackedTable.init)
    let gone = Set(stored.keys).subtracting(result.tracked.map(\.oid))
    for id in gone.sorted() { try remove(id, on: connection) }
    for tracked in result.tracked {
      let signature = try Self.signature(of: tracked.oid, on: connection)
      guard signature == nil || signature != stored[tracked.oid] else {
        try replaceFunctions(of: tracked, on: connection)
        continue
      }
      if try Self.lock(tracked, hasTriggers: stored[tracked.oid] != nil, on: connection) {
        try create(tracked, on: connection)
        result.changed.append(tracked.name)
      } else {
        result.locked.append(tracked)
      }
    }
    result.tracked.removeAll { result.locked.contains($0) }
    let isIncomplete = try connection.query(
      """
      SELECT EXISTS (SELECT FROM livefetch.hole) OR NOT EXISTS (SELECT FROM livefetch.store)
      """
    ).bool(0, 0)
    if !result.changed.isEmpty || !gone.isEmpty || isIncomplete { try beginEpoch(on: connection) }
    return result
  }

  /// Locks a table for the rest of the transaction. Returns false if another transaction holds it.
  private static func lock(
    _ table: PostgresTrackedTable, hasTriggers: Bool, on connection: PostgresConnection
  ) throws(PostgresError) -> Bool {
    // DROP TRIGGER needs the strongest lock, CREATE TRIGGER one that lets others read.
    let mode = hasTriggers ? "ACCESS EXCLUSIVE" : "SHARE ROW EXCLUSIVE"
    try connection.execute(
      "SAVEPOINT livefetch_lock; SET LOCAL lock_timeout = '\(tableLockTimeout)'")
    do throws(PostgresError) {
      try connection.execute("LOCK TABLE \(table.quotedName) IN \(mode) MODE")
      try connection.execute("SET LOCAL lock_timeout = '\(lockTimeout)'")
      return true
    } catch {
      guard error.isLockTimeout else { throw error }
      try connection.execute("ROLLBACK TO livefetch_lock")
      return false
    }
  }

  /// True if no transaction holds one of `tables` any more, so that its triggers can be created.
  static func canLock(
    anyOf tables: [PostgresTrackedTable], on connection: PostgresConnection
  ) throws(PostgresError) -> Bool {
    guard !tables.isEmpty else { return false }
    let stored = try storedSignatures(on: connection)
    for table in tables {
      let isFree = try connection.withTransaction { () throws(PostgresError) in
        try Self.lock(table, hasTriggers: stored[table.oid] != nil, on: connection)
      }
      if isFree { return true }
    }
    return false
  }

  private static func create(
    _ table: PostgresTrackedTable, on connection: PostgresConnection
  ) throws(PostgresError) {
    try connection.execute(PostgresTrackedTable.removal(of: table.oid))
    try connection.execute(table.creation)
    try storeSignature(of: table, on: connection)
  }

  /// Replaces trigger functions that another version of the program has created. The history goes on.
  private static func replaceFunctions(
    of table: PostgresTrackedTable, on connection: PostgresConnection
  ) throws(PostgresError) {
    let sources = try connection.query(
      """
      SELECT f.prosrc FROM (SELECT $1::oid AS relation) AS r JOIN pg_catalog.pg_proc AS f
        ON f.proname = ANY (ARRAY[\(PostgresTrackedTable.functionNames)]::name[])
      WHERE f.pronamespace = 'livefetch'::regnamespace
      """, [.integer(Int64(table.oid))])
    let present = Set((0..<sources.rowCount).map { sources.text($0, 0) })
    guard present != table.functionSources else { return }
    try connection.execute(table.functions)
    try storeSignature(of: table, on: connection)
  }

  private static func storeSignature(
    of table: PostgresTrackedTable, on connection: PostgresConnection
  ) throws(PostgresError) {
    guard let signature = try Self.signature(of: table.oid, on: connection) else {
      throw .malformed("the table \(table.quotedName) was removed")
    }
    try connection.query(
      """
      INSERT INTO livefetch.captured (relation, signature) VALUES ($1::oid, $2)
      ON CONFLICT (relation) DO UPDATE SET signature = excluded.signature
      """, [.integer(Int64(table.oid)), .text(signature)])
  }

  private static func remove(
    _ table: UInt32, on connection: PostgresConnection
  ) throws(PostgresError) {
    try connection.execute(PostgresTrackedTable.removal(of: table))
    try connection.query(
      "DELETE FROM livefetch.captured WHERE relation = $1::oid", [.integer(Int64(table))])
  }

  /// Begins a new epoch: all earlier tokens expire. The rows of `history_…` stay until they are
  /// pruned.
  private static func beginEpoch(on connection: PostgresConnection) throws(PostgresError) {
    try connection.query(
      """
      INSERT INTO livefetch.store (format, nonce, horizon)
      VALUES (\(Self.format), gen_random_uuid(), pg_current_snapshot())
      ON CONFLICT (single) DO UPDATE SET nonce = excluded.nonce, horizon = excluded.horizon
      """)
    try connection.execute("DELETE FROM livefetch.hole; DELETE FROM livefetch.mark")
  }

  /// Begins a new epoch if there is a history.
  static func expireTokens(on connection: PostgresConnection) throws(PostgresError) {
    let exists = try connection.query("SELECT to_regclass('livefetch.store') IS NOT NULL")
    guard try exists.bool(0, 0) else { return }
    try connection.execute(
      "UPDATE livefetch.store SET nonce = gen_random_uuid(), horizon = pg_current_snapshot()")
  }

  private static func storedSignatures(
    on connection: PostgresConnection
  ) throws(PostgresError) -> [UInt32: String] {
    let rows = try connection.query("SELECT relation, signature FROM livefetch.captured").rows()
    var signatures: [UInt32: String] = [:]
    for row in rows { if let id = row[0].oid { signatures[id] = row[1].string } }
    return signatures
  }

  /// Removes the schema and the triggers. Does nothing if there are none.
  static func detach(on connection: PostgresConnection) throws(PostgresError) {
    try connection.withTransaction { () throws(PostgresError) -> Void in
      try connection.execute(
        """
        SET LOCAL lock_timeout = '\(Self.lockTimeout)';
        SELECT pg_advisory_xact_lock(\(Self.lockNumber));
        DROP SCHEMA IF EXISTS livefetch CASCADE
        """)
    }
  }
}
