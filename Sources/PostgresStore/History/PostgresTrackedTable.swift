// A table → the SQL of its history and of the triggers that fill it.
//
// A changed row of table "City" with the object id 16431 has a row in livefetch.history_16431:
//
//     livefetch_seq      a number from one sequence for all tables
//     livefetch_xid      the top-level transaction
//     livefetch_at       when that transaction began
//     livefetch_existed  true: the columns hold the row's old values;
//                        false: the row was inserted, and only the key's columns are filled
//     livefetch_part     the table or partition that contains the row
//     livefetch_file     its relfilenode, which TRUNCATE and CLUSTER replace
//     livefetch_before   the ctid of the old version of the row; NULL after an insert
//     livefetch_after    the ctid of its new version; NULL after a delete
//     "id", "name", …    every column of the table
//
// A transaction may change a row several times. Its first change has the values from before the
// transaction. The smallest livefetch_seq does not identify the first change: another trigger of the
// table may change the row again before this trigger fires. The ctids identify it: its livefetch_before is not the
// livefetch_after of another change in the same transaction, because PostgreSQL does not reuse a ctid
// while the transaction is open. So an update that changes no value is recorded too: the next change in
// its transaction replaces the version that it created.
//
// A change of the table's columns makes no statement of a user fail: the triggers then add a row to
// livefetch.hole, the changes that were not recorded, and a new epoch of the history begins.

import SQLComposer

/// A table whose changes are recorded.
struct PostgresTrackedTable: Hashable, Sendable {
  struct Column: Hashable, Sendable {
    var name: String
    /// The type in the history table, as SQL.
    var type: String
    /// The type in the table, if it is another one.
    var tableType: String?
  }

  let oid: OID
  let name: String
  /// The name with its schema, quoted.
  let quotedName: String
  let columns: [Column]
  let key: [String]
  /// The tables that have a trigger for TRUNCATE: the table itself, or its partitions.
  let truncated: [OID]

  /// Returns nil if changes of the table cannot be recorded: a view or foreign table, a table without a
  /// key, one with inheriting tables, one that belongs to another role or to an extension, an unlogged
  /// one, one with a row-level security policy that applies to the connection's role, or one with a column whose
  /// name contains `livefetch`.
  init?(_ table: CatalogTable) {
    guard table.kind == .table || table.kind == .partitionedTable, !table.hasInheritingTables,
      !table.isOwnedByOthers, !table.hasUnrecordableChanges,
      let key = table.key, !table.columns.contains(where: { $0.name.contains("livefetch") })
    else { return nil }
    oid = table.oid
    name = table.name
    quotedName = table.quotedName
    columns = table.columns.map { column in
      Column(
        name: column.name, type: column.historyType,
        tableType: column.historyType == column.typeName ? nil : column.typeName)
    }
    self.key = key
    truncated = table.kind == .table ? [table.oid] : table.leafPartitions
  }

  var historyName: String { "livefetch.history_\(oid)" }
  var columnList: String { columns.map { quoted($0.name) }.joined(separator: ", ") }
  var keyList: String { key.map(quoted).joined(separator: ", ") }

  /// SQL for the key's columns by which rows are distinguished. Keys of some types may be equal and have
  /// different ids: 1.5 and 1.50, or texts of a type that ignores case. They are compared as text.
  func identity(_ alias: String? = nil) -> String {
    key.map { name in
      let column = qualified(name, alias)
      let type = columns.first { $0.name == name }?.type ?? ""
      // Without the length or precision.
      let hasUniqueText = Self.typesWithUniqueText.contains(
        type.replacing(/\([0-9]+\)/, with: ""))
      return hasUniqueText ? column : "\(column)::text COLLATE \"C\""
    }.joined(separator: ", ")
  }

  /// The names of types whose equal values have the same text.
  private static let typesWithUniqueText: Set = [
    "bigint", "boolean", "bytea", "character varying", "date", "integer", "smallint", "text",
    "timestamp with time zone", "timestamp without time zone", "uuid",
  ]
}

// MARK: - Statements

extension PostgresTrackedTable {
  private enum Event: String, CaseIterable {
    case insert, update, delete, truncate
  }

  /// The statements that create the history table, the functions and the triggers.
  var creation: String {
    let columns = columns.map { "\(quoted($0.name)) \($0.type)" }.joined(separator: ", ")
    let statements =
      [
        """
        CREATE TABLE \(historyName) (
          livefetch_seq bigint NOT NULL DEFAULT nextval('livefetch.history_seq'),
          livefetch_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
          livefetch_at timestamptz NOT NULL DEFAULT now(),
          livefetch_existed boolean NOT NULL, livefetch_part oid NOT NULL, livefetch_file oid NOT NULL,
          livefetch_before tid, livefetch_after tid, \(columns),
          PRIMARY KEY (livefetch_xid, livefetch_seq))
        """
      ] + [PostgresHistory.revocation(of: ["history_\(oid)"]), functions, privileges] + triggers
    return statements.joined(separator: ";\n")
  }

  /// SQL for the names of the functions of the table with the object id `r.relation`, separated by commas.
  static let functionNames = Event.allCases.map { "'capture_\($0)_' || r.relation" }
    .joined(separator: ", ")

  /// The statements that remove everything that ``creation`` creates. The triggers are removed with
  /// their functions, also from a table that has been renamed.
  static func removal(of table: OID) -> String {
    (Event.allCases.map { "DROP FUNCTION IF EXISTS livefetch.capture_\($0)_\(table)() CASCADE" }
      + ["DROP TABLE IF EXISTS livefetch.history_\(table)"]).joined(separator: ";\n")
  }

  /// The statements that create the triggers. Triggers fire in the order of their names; these names sort
  /// before most others. They contain the object id: a table that becomes a partition gets the triggers
  /// of its parent and keeps its own, and a restored table has triggers of the table that was dumped.
  private var triggers: [String] {
    var statements: [String] = []
    for event in Event.allCases where event != .truncate {
      statements += trigger(event, on: quotedName, "AFTER", "FOR EACH ROW")
    }
    for table in truncated {
      // The names of partitions are not in the catalog that was read.
      statements.append(
        """
        DO $livefetch$ BEGIN
          EXECUTE format('\(trigger(.truncate, on: "%1$s", "BEFORE", "FOR EACH STATEMENT")
            .joined(separator: "; "))', \(table)::oid::regclass::text);
        END $livefetch$
        """)
    }
    return statements
  }

  private func trigger(
    _ event: Event, on table: String, _ time: String, _ level: String
  ) -> [String] {
    let name = "\"!livefetch_\(oid)_\(event)\""
    return [
      """
      CREATE TRIGGER \(name) \(time) \(event.rawValue.uppercased()) ON \(table) \(level) \
      EXECUTE FUNCTION livefetch.capture_\(event)_\(oid)()
      """,
      // Also in sessions that apply the changes of another server.
      "ALTER TABLE \(table) ENABLE ALWAYS TRIGGER \(name)",
    ]
  }

  /// The statements that create the trigger functions, or replace those of another version.
  var functions: String {
    Event.allCases.map { event in
      """
      CREATE OR REPLACE FUNCTION livefetch.capture_\(event)_\(oid)() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER AS $livefetch$\(source(of: event))$livefetch$
      """
    }.joined(separator: ";\n")
  }

  /// The source of each trigger function, as `pg_proc.prosrc` has it.
  var functionSources: Set<String> { Set(Event.allCases.map(source)) }

  /// The functions run with their owner's rights. A caller's search path could replace operators and
  /// types, so each that is not an SQL keyword is qualified with `pg_catalog`.
  private func source(of event: Event) -> String {
    """

    DECLARE r \(historyName); rows bigint;
    BEGIN
    \(body(of: event))
      RETURN NULL;
    END
    """
  }

  /// The statements that let only the table's owner use the functions in triggers, as it does when it
  /// creates a partition.
  private var privileges: String {
    let functions = Event.allCases.map { "livefetch.capture_\($0)_\(oid)()" }.joined(
      separator: ", ")
    return """
      REVOKE EXECUTE ON FUNCTION \(functions) FROM PUBLIC;
      DO $livefetch$ BEGIN
        EXECUTE format('GRANT EXECUTE ON FUNCTION \(functions) TO %I',
          (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = \(oid)));
      END $livefetch$
      """
  }

  private func body(of event: Event) -> String {
    switch event {
    case .insert: guarded(assign(key, of: "NEW")) + keyInsertion
    case .delete: guarded(assign(names, of: "OLD")) + rowInsertion(after: "NULL")
    case .update: updateBody
    case .truncate: truncateBody
    }
  }

  private var names: [String] { columns.map(\.name) }

  /// Returns assignments of a row's columns to the variable `r`.
  private func assign(_ names: [String], of row: String) -> String {
    names.map { "r.\(quoted($0)) := \(row).\(quoted($0));" }.joined(separator: " ")
  }

  /// Assignments fail if the table's columns have changed. An exception handler around them costs no
  /// transaction id as long as they write nothing.
  private func guarded(_ assignments: String) -> String {
    """
      BEGIN
        \(assignments)
      EXCEPTION WHEN OTHERS THEN
        INSERT INTO livefetch.hole (relation) VALUES (TG_RELID);
        RETURN NULL;
      END;

    """
  }

  private static let ctidColumns =
    "livefetch_part, livefetch_file, livefetch_before, livefetch_after"

  private static let fileNode = "pg_catalog.pg_relation_filenode(TG_RELID)"

  private func rowInsertion(after ctid: String) -> String {
    let values = names.map { "r.\(quoted($0))" }.joined(separator: ", ")
    return """
        INSERT INTO \(historyName) (livefetch_existed, \(Self.ctidColumns), \(columnList))
          VALUES (true, TG_RELID, \(Self.fileNode), OLD.ctid, \(ctid), \(values));

      """
  }

  private var keyInsertion: String {
    let values = key.map { "r.\(quoted($0))" }.joined(separator: ", ")
    return """
        INSERT INTO \(historyName) (livefetch_existed, \(Self.ctidColumns), \(keyList))
          VALUES (false, TG_RELID, \(Self.fileNode), NULL, NEW.ctid, \(values));

      """
  }

  private var updateBody: String {
    func keys(_ row: String) -> String {
      "ROW(\(key.map { "\(row).\(quoted($0))" }.joined(separator: ", ")))::pg_catalog.record"
    }
    return guarded(assign(names, of: "OLD")) + """
      \(rowInsertion(after: "NEW.ctid"))
        IF \(keys("OLD")) OPERATOR(pg_catalog.*<>) \(keys("NEW")) THEN
          \(assign(key, of: "NEW"))
      \(keyInsertion)
        END IF;

      """
  }

  /// The maximum number of rows that a TRUNCATE records; a larger table begins a new epoch.
  static let maxTruncatedRows = 100_000

  /// A transaction at a higher isolation level than READ COMMITTED may not see all rows that its
  /// TRUNCATE removes.
  private var truncateBody: String {
    let columns = escaped(columnList, "%", by: "%")
    let insertion =
      "INSERT INTO \(historyName) (livefetch_existed, livefetch_part, livefetch_file, "
      + "livefetch_before, \(columns)) SELECT true, $1, pg_catalog.pg_relation_filenode($1), ctid, "
      + "\(columns) FROM ONLY %s"
    return """
        BEGIN
          IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.~~) 'read%' THEN
            EXECUTE pg_catalog.format('SELECT FROM ONLY %s OFFSET \(Self.maxTruncatedRows) LIMIT 1',
              TG_RELID::pg_catalog.regclass::pg_catalog.text);
            GET DIAGNOSTICS rows = ROW_COUNT;
            IF rows OPERATOR(pg_catalog.=) 0 THEN
              EXECUTE pg_catalog.format(\(literal(insertion)),
                TG_RELID::pg_catalog.regclass::pg_catalog.text) USING TG_RELID;
              RETURN NULL;
            END IF;
          END IF;
        EXCEPTION WHEN OTHERS THEN
        END;
        INSERT INTO livefetch.hole (relation) VALUES (TG_RELID);

      """
  }
}
