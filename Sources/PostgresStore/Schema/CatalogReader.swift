// The system catalog of a database → the tables of the served schema.

/// Reads a catalog in the connection's open transaction, or in one of its own if none is open.
struct CatalogReader {
  let connection: PostgresConnection

  /// Reads the tables: eight statements, and one for each partitioned table. O(columns + keys).
  func read() throws(PostgresError) -> Catalog {
    guard connection.isInTransaction else {
      return try connection.withTransaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") {
        () throws(PostgresError) in try readInTransaction()
      }
    }
    return try readInTransaction()
  }

  private func readInTransaction() throws(PostgresError) -> Catalog {
    // With this search path, format_type qualifies the names of types outside pg_catalog.
    let path = try connection.query("SELECT current_setting('search_path')").text(0, 0)
    try setSearchPath("pg_catalog")
    var tables = try tables()
    try addColumns(to: &tables)
    try addLabels(to: &tables)
    try addKeys(to: &tables)
    try addForeignKeys(to: &tables)
    try addPartitions(to: &tables)
    try setSearchPath(path)
    return Catalog(tables: tables.values.sorted { $0.name < $1.name })
  }

  private func setSearchPath(_ path: String) throws(PostgresError) {
    try connection.query(
      "SELECT pg_catalog.set_config('search_path', $1, true)", [.text(path)])
  }

  private func query(_ sql: String) throws(PostgresError) -> [[PostgresValue]] {
    try connection.query(sql, [.text(Catalog.schema)]).rows()
  }

  private func tables() throws(PostgresError) -> [OID: CatalogTable] {
    let rows = try query(
      """
      SELECT c.oid, c.relname, c.relkind, c.relkind = 'r' AND EXISTS (
        SELECT FROM pg_inherits AS i WHERE i.inhparent = c.oid),
        NOT pg_has_role(c.relowner, 'USAGE') OR EXISTS (SELECT FROM pg_depend AS d
          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'),
        row_security_active(c.oid) OR c.relpersistence = 'u' OR c.relkind = 'p' AND EXISTS (
          SELECT FROM pg_partition_tree(c.oid) AS t JOIN pg_class AS p ON p.oid = t.relid
          WHERE p.relpersistence = 'u'),
        has_table_privilege(c.oid, 'SELECT') AND NOT EXISTS (
          SELECT FROM pg_rewrite AS r JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass
            AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
          JOIN pg_class AS b ON b.oid = d.refobjid AND b.relkind IN ('r', 'p', 'v')
          WHERE c.relkind = 'v' AND r.ev_class = c.oid AND b.oid <> c.oid
            AND NOT has_table_privilege(
              CASE WHEN c.reloptions::text ~ 'security_invoker=(true|on|1|yes)' THEN current_user
                ELSE pg_get_userbyid(c.relowner) END, b.oid, 'SELECT'))
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT c.relispartition AND c.relpersistence <> 't'
      """)
    var tables: [OID: CatalogTable] = [:]
    for row in rows {
      guard let oid = row[0].oid, let kind = row[2].string.flatMap(CatalogTable.Kind.init)
      else { continue }
      tables[oid] = CatalogTable(
        oid: oid, name: row[1].string ?? "", kind: kind, hasInheritingTables: row[3] == true,
        isOwnedByOthers: row[4] == true, hasUnrecordableChanges: row[5] == true,
        isLockable: row[6] == true)
    }
    return tables
  }

  private func addColumns(to tables: inout [OID: CatalogTable]) throws(PostgresError) {
    let rows = try query(
      """
      WITH RECURSIVE domains (id, base, modifier, isrequired) AS (
        SELECT oid, typbasetype, typtypmod, typnotnull FROM pg_type WHERE typtype = 'd'
        UNION ALL
        SELECT d.id, t.typbasetype, t.typtypmod, d.isrequired OR t.typnotnull
        FROM domains AS d JOIN pg_type AS t ON t.oid = d.base WHERE t.typtype = 'd'
      ), resolved AS (
        SELECT d.* FROM domains AS d JOIN pg_type AS t ON t.oid = d.base WHERE t.typtype <> 'd'
      )
      SELECT a.attrelid, a.attname, t.oid, format_type(t.oid, coalesce(r.modifier, a.atttypmod)),
        t.typtype, CASE WHEN t.typcategory = 'A' THEN e.oid END,
        CASE WHEN t.typcategory = 'A' THEN e.typtype END,
        NOT a.attnotnull AND r.isrequired IS NOT TRUE,
        a.attgenerated <> '', nullif(a.attidentity, ''),
        -- With the table's id, pg_get_expr waits for locks of the table. It needs the id only for
        -- expressions that name columns, and a default names none.
        CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, 0) END,
        t.typname = 'citext' OR l.collisdeterministic IS FALSE
      FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        LEFT JOIN resolved AS r ON r.id = a.atttypid
        JOIN pg_type AS t ON t.oid = coalesce(r.base, a.atttypid)
        LEFT JOIN pg_type AS e ON e.oid = t.typelem
        LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
      WHERE n.nspname = $1::text AND a.attnum > 0 AND NOT a.attisdropped
        AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
      ORDER BY a.attrelid, a.attnum
      """)
    for row in rows {
      guard let table = row[0].oid else { continue }
      tables[table]?.columns.append(Self.column(row))
    }
  }

  private static func column(_ row: [PostgresValue]) -> CatalogColumn {
    func kind(_ value: PostgresValue) -> CatalogColumn.TypeKind? {
      value.string.flatMap(CatalogColumn.TypeKind.init)
    }
    return CatalogColumn(
      name: row[1].string ?? "", type: row[2].oid ?? 0, typeName: row[3].string ?? "",
      typeKind: kind(row[4]) ?? .base, elementType: row[5].oid, elementKind: kind(row[6]),
      isNullable: row[7] == true, isGenerated: row[8] == true,
      identity: row[9].string.flatMap(CatalogColumn.Identity.init),
      defaultExpression: row[10].string, ignoresCase: row[11] == true)
  }

  private func addLabels(to tables: inout [OID: CatalogTable]) throws(PostgresError) {
    let rows = try connection.query(
      "SELECT enumtypid, enumlabel FROM pg_catalog.pg_enum ORDER BY enumtypid, enumsortorder"
    ).rows()
    guard !rows.isEmpty else { return }
    var labels: [OID: [String]] = [:]
    for row in rows {
      if let type = row[0].oid, let label = row[1].string {
        labels[type, default: []].append(label)
      }
    }
    for oid in Array(tables.keys) {
      for index in tables[oid]?.columns.indices ?? 0..<0 {
        guard let type = tables[oid]?.columns[index].type, let known = labels[type] else {
          continue
        }
        tables[oid]?.columns[index].labels = known
      }
    }
  }

  /// SQL that joins the columns `a` of an index `i`, each with its position `k.place`.
  static let indexColumns = """
    CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place) \
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
    """

  private func addKeys(to tables: inout [OID: CatalogTable]) throws(PostgresError) {
    let rows = try query(
      """
      SELECT i.indrelid, i.indexrelid, i.indisprimary, a.attname,
        pg_get_expr(i.indpred, i.indrelid)
      FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        \(Self.indexColumns)
      WHERE n.nspname = $1::text AND i.indisunique AND i.indisvalid AND i.indimmediate
        AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
      ORDER BY i.indrelid, i.indexrelid, k.place
      """)
    var previous: OID?
    for row in rows {
      guard let table = row[0].oid, let name = row[3].string else { continue }
      if row[2] == true {
        tables[table]?.primaryKey.append(name)
      } else if let condition = row[4].string {
        if row[1].oid != previous {
          tables[table]?.partialUniqueIndexes.append(
            PartialUniqueIndex(columns: [], condition: condition))
        }
        if let last = tables[table]?.partialUniqueIndexes.indices.last {
          tables[table]?.partialUniqueIndexes[last].columns.append(name)
        }
      } else if row[1].oid != previous {
        tables[table]?.uniqueKeys.append([name])
      } else if let last = tables[table]?.uniqueKeys.indices.last {
        tables[table]?.uniqueKeys[last].append(name)
      }
      previous = row[1].oid
    }
  }

  private func addForeignKeys(to tables: inout [OID: CatalogTable]) throws(PostgresError) {
    let rows = try query(
      """
      SELECT k.conrelid, k.conname, k.confrelid, k.confdeltype, a.attname, f.attname, p.place
      FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        CROSS JOIN unnest(k.conkey, k.confkey) WITH ORDINALITY AS p (own, other, place)
        JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = p.own
        JOIN pg_attribute AS f ON f.attrelid = k.confrelid AND f.attnum = p.other
      WHERE n.nspname = $1::text AND k.contype = 'f'
      ORDER BY k.conrelid, k.conkey, k.conname, p.place
      """)
    for row in rows {
      guard let table = row[0].oid, let target = row[2].oid,
        let own = row[4].string, let other = row[5].string
      else { continue }
      if row[6] == 1 {
        tables[table]?.foreignKeys.append(
          CatalogForeignKey(
            name: row[1].string ?? "", columns: [], targetTable: target, targetColumns: [],
            deleteAction: row[3].string.flatMap(CatalogForeignKey.Action.init) ?? .noAction))
      }
      guard let last = tables[table]?.foreignKeys.indices.last else { continue }
      tables[table]?.foreignKeys[last].columns.append(own)
      tables[table]?.foreignKeys[last].targetColumns.append(other)
    }
  }

  private func addPartitions(to tables: inout [OID: CatalogTable]) throws(PostgresError) {
    for table in tables.values where table.kind == .partitionedTable {
      let rows = try connection.query(
        """
        SELECT relid::oid FROM pg_catalog.pg_partition_tree($1::oid::regclass) AS p
        WHERE p.isleaf ORDER BY 1
        """, [.integer(Int64(table.oid))]
      ).rows()
      tables[table.oid]?.leafPartitions = rows.compactMap { $0[0].oid }
    }
  }
}

extension PostgresValue {
  /// The value of a text; nil for other types.
  var string: String? { if case .text(let text) = self { text } else { nil } }

  /// The value of an object identifier; nil for NULL.
  var oid: OID? {
    if case .integer(let value) = self { UInt32(exactly: value) } else { nil }
  }
}
