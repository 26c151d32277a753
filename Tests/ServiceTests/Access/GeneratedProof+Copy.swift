// The copy of a generated store that has only what the caller may read.

import FetchModel
import TestSupport
import Testing

extension GeneratedProof {
  /// A store with the rows that the caller may read, without the hidden columns.
  func copy() throws -> AccessFixture {
    try copy(access.rulesOfCopy.without(access.hidden(from: users[0])))
  }

  /// - Parameter rules: Those of the copy; nil for none.
  func copy(_ rules: GeneratedStore.Rules?) throws -> AccessFixture {
    let hidden = access.hidden(from: users[0])
    guard !store.isModel else {
      let file = store.model(rules ?? .init(), without: hidden)
      return try AccessFixture(model: file, users: users)
    }
    var sql = tables
    for entity in roots {
      let condition = store.condition(entity, ids: try readable(entity))
      let table = GeneratedStore.quoted(store.entities[entity].name)
      sql += "DELETE FROM \(table) WHERE NOT \(condition);"
      for attribute in store.entities[entity].attributes where hidden.contains(attribute.name) {
        sql += "ALTER TABLE \(table) DROP COLUMN \(GeneratedStore.quoted(attribute.name));"
      }
    }
    for join in store.joins() {
      let table = GeneratedStore.quoted(join.table)
      sql += "DELETE FROM \(table) WHERE NOT (\(isLinked(join.ends, "")));"
    }
    return try AccessFixture(sql, rules: rules.map(store.accessFile), users: users)
  }

  /// Compares the results of fetches with those of a copy that has no rules at all. Headers and ETags
  /// differ: those of responses under rules depend on the caller.
  mutating func compareWithoutRules() throws {
    let copy = try copy(nil)
    if store.isModel { try synchronize(copy) }
    for _ in 1...12 {
      let fetch = oneIn(3) ? requests.dictionaries() : requests.fetch()
      let request = GeneratedRequest(target: fetch.target)
      let (own, copied) = (try ask(fixture, request), try ask(copy, request))
      #expect(
        "\(own.status) \(masked(own.text))" == "\(copied.status) \(masked(copied.text))",
        "\(comment)\n\(request.target)")
    }
  }

  /// SQL that is true for a row of a table between objects if both are in the tables of `schema`.
  func isLinked(
    _ ends: [(columns: [String], target: Int)], _ schema: String
  ) -> String {
    ends.map { columns, target in
      let root = store.root(of: target)
      let table = schema + GeneratedStore.quoted(store.entities[root].name)
      let keys = GeneratedStore.list(store.keyColumns(of: root))
      return "(\(GeneratedStore.list(columns))) IN (SELECT \(keys) FROM \(table))"
    }.joined(separator: " AND ")
  }

  /// SQL that removes the references of the copy to rows that it will not have, if they would prevent
  /// the deletion of these rows.
  func freeing(
    _ tables: [(name: String, keys: [String], condition: String)]
  ) -> String {
    guard store.isModel, !TestedStore.isPostgres else { return "" }
    var sql = ""
    for (index, entity) in store.entities.enumerated() {
      let table = GeneratedStore.quoted(store.entities[store.root(of: index)].name)
      for reference in entity.references where reference.deleteRule == "Deny" {
        let target = store.entities[store.root(of: reference.target)].name
        for (name, keys, condition) in tables where name == target {
          sql += """
            UPDATE main.\(table) SET "\(reference.name)" = NULL WHERE "\(reference.name)" NOT IN
              (SELECT \(GeneratedStore.list(keys)) FROM w.\(GeneratedStore.quoted(name))
                WHERE \(condition));
            """
        }
      }
    }
    return sql
  }

  /// The columns of a table of the copy.
  private func columns(of table: String, in copy: AccessFixture) throws -> [String] {
    try copy.file.texts(
      TestedStore.isPostgres
        ? """
        SELECT column_name::text FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name = '\(table)' ORDER BY ordinal_position
        """
        : "SELECT name FROM pragma_table_info('\(table)')")
  }

  /// The rows of a table of the store, as a table in the SQL of the copy.
  private func rows(of table: String) throws -> String {
    let name = GeneratedStore.quoted(table)
    guard TestedStore.isPostgres else { return "w.\(name)" }
    let rows = try fixture.file.texts(
      "SELECT coalesce(json_agg(o), '[]')::text FROM public.\(name) o")
    let literal = rows.joined().replacing("'", with: "''")
    return "json_populate_recordset(NULL::public.\(name), '\(literal)')"
  }

  /// Makes the rows of the copy those that the caller may read, without the hidden columns.
  func synchronize(_ copy: AccessFixture) throws {
    let schema = TestedStore.isPostgres ? "public." : "main."
    var list: [(name: String, keys: [String], condition: String)] = []
    for entity in roots {
      let condition = store.condition(entity, ids: try readable(entity))
      list.append((store.entities[entity].name, store.keyColumns(of: entity), condition))
    }
    for join in store.joins() {
      list.append((join.table, join.ends.flatMap(\.columns), isLinked(join.ends, schema)))
    }
    var (deletions, insertions, updates) = (freeing(list), "", "")
    for (name, keys, condition) in list {
      let columns = try columns(of: name, in: copy)
      let rows = try rows(of: name)
      let table = GeneratedStore.quoted(name)
      let (key, all) = (GeneratedStore.list(keys), GeneratedStore.list(columns))
      deletions += """
        DELETE FROM \(schema)\(table) WHERE (\(key)) NOT IN
          (SELECT \(key) FROM \(rows) WHERE \(condition));
        """
      insertions += """
        INSERT INTO \(schema)\(table)(\(all)) SELECT \(all) FROM \(rows)
          WHERE \(condition) AND (\(key)) NOT IN (SELECT \(key) FROM \(schema)\(table));
        """
      let same = keys.map { "o.\"\($0)\" = \(table).\"\($0)\"" }.joined(separator: " AND ")
      for column in columns where !keys.contains(column) {
        let value = "(SELECT o.\"\(column)\" FROM \(rows) o WHERE \(same))"
        // PostgreSQL does not compare values of the type json.
        let isOther =
          TestedStore.isPostgres
          ? "\"\(column)\"::text IS DISTINCT FROM \(value)::text"
          : "\"\(column)\" IS NOT \(value)"
        updates += "UPDATE \(schema)\(table) SET \"\(column)\" = \(value) WHERE \(isOther);"
      }
    }
    guard !TestedStore.isPostgres else {
      // Foreign keys and a model's triggers do nothing then; those that record the history do.
      try copy.file.runExternally(
        """
        BEGIN; SET LOCAL session_replication_role = replica;
        \(deletions) \(insertions) \(updates) COMMIT;
        """)
      return try copy.file.settle()
    }
    // A model's triggers change what refers to a deleted or changed row.
    try copy.file.runExternally(
      """
      ATTACH '\(fixture.file.path)' AS w; BEGIN; \(deletions) \(insertions) \(updates) \(updates)
      COMMIT; DETACH w;
      """)
    try copy.file.settle()
  }
}
