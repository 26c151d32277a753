// The objects of another store → a PostgreSQL database without tables.

import FetchModel
import ModelStorage
import SQLComposer

/// Writes the tables of a database in one transaction. For one thread.
public final class CopyToDatabase: CopyDestination, CopyConnection {
  private let target: String
  private let connection: PostgresConnection
  private let save: PostgresSaveConnection
  private let tables: ModelTables

  /// Connects to the database and creates the tables of `model`.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if the database has tables, or cannot have the model's.
  public init(_ target: String, model: ModelFile) throws(StoreError) {
    self.target = target
    tables = try ModelInstallation.tables(of: model)
    let connection = try withStoreErrors { () throws(PostgresError) in
      try PostgresConnection(target, setup: "SET search_path = \(quoted(Catalog.schema))")
    }
    self.connection = connection
    save = PostgresSaveConnection(connection, hasSavepoints: false, maxResponseBytes: .max)
    do throws(StoreError) {
      try run("BEGIN")
      let catalog = try withStoreErrors { () throws(PostgresError) in
        try CatalogReader(connection: connection).read()
      }
      guard catalog.tables.isEmpty else { throw .unusable("the database has tables already") }
      try copy.begin()
    } catch {
      cancel()
      throw error
    }
  }

  private var copy: ModelCopy { ModelCopy(tables, on: self) }

  package func run(_ sql: String) throws(StoreError) {
    do throws(PostgresError) {
      try connection.execute(sql)
    } catch {
      guard case .server(let refusal) = error else { throw StoreError(error) }
      throw .unusable(refusal.message)
    }
  }

  package func insert(_ sql: String, _ values: [SQLValue]) throws(StoreError) {
    do throws(StoreError) {
      _ = try save.attempt(sql, values, then: [])
    } catch {
      switch error {
      case .failed(let text), .unsupported(let text): throw .unusable(text)
      default: throw error
      }
    }
  }

  /// Inserts objects of an entity.
  public func write(_ items: [JSON], of entity: String) throws(StoreError) {
    try copy.write(items, of: entity)
  }

  /// Commits the copy, with the model and with statistics for the first plans. Then adds the history.
  public func finish(_ state: CopiedState) throws(StoreError) {
    try copy.finish(highestIDs: state.highestIDs)
    try ModelInstallation(connection: connection, given: tables.file).complete(tables)
    try withStoreErrors { () throws(PostgresError) in
      try connection.execute(PostgresIdempotencyTable.creationSQL)
      for record in state.idempotencyRecords {
        try PostgresIdempotencyTable.insert(record, on: connection)
      }
      if !state.apiKeys.isEmpty { try connection.execute(PostgresAPIKeyTable.creation) }
      for key in state.apiKeys { try PostgresAPIKeyTable.insert(key, on: connection) }
    }
    for table in tables.tables { try run("ANALYZE \(quoted(table.name))") }
    try run("COMMIT")
    connection.close()
    // The copy is complete, whatever follows. Servers add a missing history too.
    try? PostgresStore(target).close()
  }

  /// Rolls the copy back and closes the connection.
  public func cancel() {
    connection.rollBack()
    connection.close()
  }
}

extension PostgresStore {
  /// Returns the model that a database stores; nil if it stores none.
  public static func storedModel(_ target: String) throws(StoreError) -> ModelFile? {
    let connection = try withStoreErrors { () throws(PostgresError) in
      try PostgresConnection(target)
    }
    defer { connection.close() }
    return try ModelInstallation.storedModel(on: connection)
  }
}

extension PostgresReadTransaction {
  func copiedState(of model: ModelFile) throws(StoreError) -> CopiedState {
    try withStoreErrors { () throws(PostgresError) in
      CopiedState(
        highestIDs: try highestIDs(of: model),
        idempotencyRecords: try PostgresIdempotencyTable.all(on: connection),
        apiKeys: try PostgresAPIKeyTable.all(on: connection))
    }
  }

  /// Returns by root entity the highest id that the table's sequence has assigned, where it has one.
  private func highestIDs(of model: ModelFile) throws(PostgresError) -> [String: Int64] {
    var highest: [String: Int64] = [:]
    for table in ModelTables(model, .postgres).tables {
      guard let root = table.root else { continue }
      let result = try connection.query(
        """
        SELECT max(pg_sequence_last_value(s.oid::regclass))
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
          JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
            AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
          JOIN pg_class AS s ON s.oid = d.objid AND s.relkind = 'S'
        WHERE n.nspname = $1::text AND lower(c.relname) = lower($2::text)
        """, [.text(Catalog.schema), .text(table.name)])
      if case .integer(let id)? = try result.rows().first?.first { highest[root] = id }
    }
    return highest
  }
}
