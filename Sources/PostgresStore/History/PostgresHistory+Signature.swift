// Tables and triggers as they are → a signature for each, which is compared with the stored one.

extension PostgresHistory {
  /// Object ids below are those of PostgreSQL's own types.
  private static let firstCreatedID = 16_384

  /// SQL for the signature of the table whose object id is `r.relation`: the database, the table's
  /// name, columns, keys and partitions, the types that were created for its columns (also those within others:
  /// the labels of enums, the attributes of composites), its history table, and the state of the triggers. The `xmin` of a column's entry changes with `ALTER COLUMN … TYPE int USING c * 2`,
  /// and not with TRUNCATE, CLUSTER and VACUUM FULL. That of a trigger changes when the trigger is disabled
  /// and enabled again, and when a partition is detached and attached again.
  private static let expression = """
    md5(concat_ws(';', \(HistoryEpoch.database),
      (SELECT concat_ws(' ', n.nspname, c.relname, c.relkind) FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = r.relation),
      (SELECT string_agg(concat_ws(' ', a.attrelid = r.relation, a.attnum, a.attname, a.atttypid,
          a.atttypmod, a.attcollation, a.attnotnull, a.attgenerated, a.attidentity,
          CASE WHEN a.attrelid = r.relation THEN a.xmin END),
          ',' ORDER BY a.attrelid = r.relation, a.attnum)
        FROM pg_catalog.pg_attribute AS a WHERE NOT a.attisdropped AND a.attnum > 0 AND a.attrelid
          IN (r.relation, pg_catalog.to_regclass('livefetch.history_' || r.relation))),
      (WITH RECURSIVE used(type) AS (
          SELECT a.atttypid FROM pg_catalog.pg_attribute AS a
          WHERE a.attrelid = r.relation AND a.attnum > 0 AND NOT a.attisdropped
            AND a.atttypid >= \(firstCreatedID)
          UNION SELECT inner_type.id FROM used JOIN pg_catalog.pg_type AS t ON t.oid = used.type
          CROSS JOIN LATERAL (SELECT t.typelem UNION ALL SELECT t.typbasetype
            UNION ALL SELECT g.rngsubtype FROM pg_catalog.pg_range AS g
              WHERE t.oid IN (g.rngtypid, g.rngmultitypid)
            UNION ALL SELECT c.atttypid FROM pg_catalog.pg_attribute AS c
              WHERE c.attrelid = t.typrelid AND c.attnum > 0 AND NOT c.attisdropped) AS inner_type(id)
          WHERE inner_type.id >= \(firstCreatedID))
        SELECT concat_ws(';',
          (SELECT string_agg(concat_ws(' ', e.enumtypid, e.enumlabel), ','
              ORDER BY e.enumtypid, e.enumsortorder)
            FROM pg_catalog.pg_enum AS e WHERE e.enumtypid IN (SELECT type FROM used)),
          (SELECT string_agg(concat_ws(' ', c.attrelid, c.attnum, c.attname, c.atttypid, c.atttypmod),
              ',' ORDER BY c.attrelid, c.attnum)
            FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_attribute AS c ON c.attrelid = t.typrelid
            WHERE t.oid IN (SELECT type FROM used) AND c.attnum > 0 AND NOT c.attisdropped))),
      (SELECT string_agg(concat_ws(' ', i.indexrelid, i.indisprimary, i.indisvalid,
          i.indimmediate, i.indkey, i.indpred IS NULL, i.indexprs IS NULL), ',' ORDER BY i.indexrelid)
        FROM pg_catalog.pg_index AS i WHERE i.indrelid = r.relation AND i.indisunique),
      (SELECT string_agg(concat_ws(' ', k.conname, k.conkey, k.confrelid, k.confkey, k.confdeltype),
          ',' ORDER BY k.conname)
        FROM pg_catalog.pg_constraint AS k WHERE k.conrelid = r.relation AND k.contype = 'f'),
      (SELECT string_agg(p.relid::oid::text, ' ' ORDER BY p.relid::oid)
        FROM pg_catalog.pg_partition_tree(r.relation) AS p WHERE p.isleaf),
      (SELECT string_agg(concat_ws(' ', t.tgrelid, t.tgname, t.xmin, t.tgtype, t.tgenabled, t.tgqual IS NULL,
          f.proname, md5(f.prosrc), f.prosecdef), ',' ORDER BY t.tgrelid, t.tgname)
        FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_proc AS f ON f.oid = t.tgfoid
        WHERE f.pronamespace = 'livefetch'::regnamespace
          AND f.proname = ANY (ARRAY[\(PostgresTrackedTable.functionNames)]::name[])
          AND t.tgrelid = ANY (ARRAY(SELECT r.relation UNION ALL
            SELECT p.relid::oid FROM pg_catalog.pg_partition_tree(r.relation) AS p)))))
    """

  /// The signature of one table; nil if the table or its history does not exist.
  static func signature(
    of table: UInt32, on connection: PostgresConnection
  ) throws(PostgresError) -> String? {
    let result = try connection.query(
      """
      SELECT \(expression) FROM (SELECT $1::oid AS relation) AS r
      WHERE pg_catalog.to_regclass('livefetch.history_' || r.relation) IS NOT NULL
      """, [.integer(Int64(table))])
    return result.rowCount == 0 ? nil : result.text(0, 0)
  }

  /// True if no tracked table, history or trigger has changed since the installation, no change was
  /// lost, and no table has been added. O(columns).
  ///
  /// - Parameter locked: the tables that were locked at the installation, which may differ.
  static func isIntact(
    except locked: Set<OID> = [], on connection: PostgresConnection
  ) throws(PostgresError) -> Bool {
    let others = "relation <> ALL ('{\(locked.map(String.init).joined(separator: ","))}'::oid[])"
    let exists = try connection.query(
      "SELECT pg_catalog.to_regclass('livefetch.captured') IS NOT NULL")
    guard try exists.bool(0, 0) else { return false }
    let result = try connection.query(
      """
      SELECT NOT EXISTS (SELECT FROM livefetch.captured AS r
          WHERE \(others) AND r.signature <> \(Self.expression))
        AND NOT EXISTS (SELECT FROM livefetch.hole WHERE \(others))
        AND (SELECT format FROM livefetch.store) = \(Self.format),
        (SELECT string_agg(relation::text, ',') FROM livefetch.captured)
      """)
    guard try result.bool(0, 0) else { return false }
    let tracked = Set(result.text(0, 1).split(separator: ",").compactMap { UInt32($0) })
    let catalog = try CatalogReader(connection: connection).read()
    let tables = Set(catalog.tables.compactMap { PostgresTrackedTable($0)?.oid })
    return tracked.subtracting(locked) == tables.subtracting(locked)
  }
}
