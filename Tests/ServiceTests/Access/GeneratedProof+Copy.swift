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
    guard store.isModel else { return "" }
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

  /// Makes the rows of the copy those that the caller may read, without the hidden columns.
  func synchronize(_ copy: AccessFixture) throws {
    var list: [(name: String, keys: [String], condition: String)] = []
    for entity in roots {
      let condition = store.condition(entity, ids: try readable(entity))
      list.append((store.entities[entity].name, store.keyColumns(of: entity), condition))
    }
    for join in store.joins() {
      list.append((join.table, join.ends.flatMap(\.columns), isLinked(join.ends, "main.")))
    }
    var (deletions, insertions, updates) = (freeing(list), "", "")
    for (name, keys, condition) in list {
      let columns = try sqlite(
        copy.file.path, "SELECT name FROM pragma_table_info('\(name)')")
      let table = GeneratedStore.quoted(name)
      let (key, all) = (GeneratedStore.list(keys), GeneratedStore.list(columns))
      deletions += """
        DELETE FROM main.\(table) WHERE (\(key)) NOT IN
          (SELECT \(key) FROM w.\(table) WHERE \(condition));
        """
      insertions += """
        INSERT INTO main.\(table)(\(all)) SELECT \(all) FROM w.\(table)
          WHERE \(condition) AND (\(key)) NOT IN (SELECT \(key) FROM main.\(table));
        """
      let same = keys.map { "o.\"\($0)\" = \(table).\"\($0)\"" }.joined(separator: " AND ")
      for column in columns where !keys.contains(column) {
        let value = "(SELECT o.\"\(column)\" FROM w.\(table) o WHERE \(same))"
        updates +=
          "UPDATE main.\(table) SET \"\(column)\" = \(value) WHERE \"\(column)\" IS NOT \(value);"
      }
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
