// A to-one relationship or a join table with the delete rule Cascade → the trigger that also
// deletes the objects at the other end.
//
// If a cascade can reach its own trigger again, the first trigger collects every object to delete and
// deletes them together. PostgreSQL does so in one statement; the triggers of the deleted rows find
// nothing more. SQLite does not fire a trigger recursively, and keeps the objects in a table:
//
//     livefetch_cascade    the objects being deleted: their root entity and ids. Empty except during a
//                          DELETE; while it has rows, nested cascade triggers do nothing

import FetchModel
import SQLComposer

/// The cascades between a model's tables.
package struct CascadeTriggers {
  package static let table = "livefetch_cascade"
  package static let creation = """
    CREATE TABLE IF NOT EXISTS \(table)(entity TEXT, id INTEGER, PRIMARY KEY(entity, id)) \
    WITHOUT ROWID
    """

  /// Deleting a row `go` of `from` also deletes the rows of `to` whose ids are selected: `id`, from the
  /// rows `t` of `table` for which `condition` is true.
  private struct Edge {
    let from: String
    let to: String
    let id: String
    let table: String
    let condition: String

    /// - Parameter word: the word before the condition.
    func source(_ word: String) -> String { "\(quoted(table)) AS t \(word) \(condition)" }
  }

  private let edges: [Edge]
  private let firesRecursively: Bool

  init(_ triggers: ModelTriggers) {
    firesRecursively = triggers.dialect.firesRecursively
    edges = triggers.file.entities.flatMap { entity in
      entity.relationships.compactMap { Self.edge($0, entity.name, triggers) }
    }
  }

  private static func edge(
    _ relationship: ModelFile.Relationship, _ entity: String, _ triggers: ModelTriggers
  ) -> Edge? {
    guard relationship.deleteRule == .cascade else { return nil }
    let key = PropertyKey(entity: entity, property: relationship.name)
    let from = triggers.tableName(of: entity)
    let to = triggers.tableName(of: relationship.destination)
    let own = ModelTriggers.id
    switch triggers.tables.links[key] {
    case .column(let column)?:
      let value = "t.\(quoted(column))"
      return Edge(
        from: from, to: to, id: value, table: from,
        condition: "t.\(own) = go.id AND \(value) IS NOT NULL")
    case .members?, .join?:
      guard let place = triggers.memberColumn(of: key) else { return nil }
      return Edge(
        from: from, to: to, id: "t.\(place.member.map(quoted) ?? own)", table: place.table,
        condition: "t.\(quoted(place.owner)) = go.id")
    case nil: return nil
    }
  }

  /// Returns the edges reachable from `table`.
  private func edges(after table: String) -> [Edge] {
    var tables: Set<String> = [table]
    while true {
      let found = edges.filter { tables.contains($0.from) }
      let more = tables.union(found.map(\.to))
      guard more.count > tables.count else { return found }
      tables = more
    }
  }

  /// True if a cascade from `from` to `to` can reach itself again.
  private func isRecursive(from: String, to: String) -> Bool {
    from == to || edges(after: to).contains { $0.to == from }
  }

  /// True if any cascade can reach itself again, which does not fire its trigger.
  var needsTable: Bool {
    !firesRecursively && edges.contains { isRecursive(from: $0.from, to: $0.to) }
  }

  /// Returns the condition and the statements of a trigger that deletes objects of `to`.
  ///
  /// - Parameters:
  ///   - ids: The text after SELECT that returns their ids.
  ///   - from: The table whose deletes fire the trigger.
  func deletion(
    of ids: String, from: String, to: String, when condition: String
  ) -> (condition: String, statements: [String]) {
    guard isRecursive(from: from, to: to) else {
      return (
        condition, ["DELETE FROM \(quoted(to)) WHERE \(ModelTriggers.id) IN (SELECT \(ids))"]
      )
    }
    let steps = edges(after: to)
    let tables = Set(steps.map(\.to)).union([to]).sorted()
    guard !firesRecursively else {
      return (condition, [Self.deletion(of: ids, to: to, steps, tables)])
    }
    let selects =
      ["SELECT \(literal(to)), \(ids)"]
      + steps.map {
        "SELECT \(literal($0.to)), \($0.id) FROM go JOIN \($0.source("ON")) "
          + "WHERE go.entity = \(literal($0.from))"
      }
    let collecting = """
      INSERT INTO \(Self.table)(entity, id) SELECT entity, id FROM (WITH RECURSIVE \
      go(entity, id) AS (\(selects.joined(separator: " UNION "))) SELECT entity, id FROM go)
      """
    let deleting = tables.map {
      "DELETE FROM \(quoted($0)) WHERE \(ModelTriggers.id) IN "
        + "(SELECT id FROM \(Self.table) WHERE entity = \(literal($0)))"
    }
    return (
      "\(condition) AND NOT EXISTS (SELECT 1 FROM \(Self.table))",
      [collecting] + deleting + ["DELETE FROM \(Self.table)"]
    )
  }

  /// Returns the statement of PostgreSQL, where a recursive query names itself once.
  private static func deletion(
    of ids: String, to: String, _ steps: [Edge], _ tables: [String]
  ) -> String {
    let selects = steps.map {
      "SELECT \(literal($0.to)) AS entity, \($0.id) AS id FROM \($0.source("WHERE")) "
        + "AND go.entity = \(literal($0.from))"
    }
    let deletions = tables.map {
      "DELETE FROM \(quoted($0)) WHERE \(ModelTriggers.id) IN "
        + "(SELECT id FROM go WHERE entity = \(literal($0)))"
    }
    let others = deletions.dropLast().enumerated().map { ", deletion_\($0) AS (\($1))" }
    return """
      WITH RECURSIVE go(entity, id) AS (SELECT \(literal(to)), \(ids) UNION \
      SELECT e.entity, e.id FROM go CROSS JOIN LATERAL (\(selects.joined(separator: " UNION ALL "))) \
      AS e)\(others.joined()) \(deletions.last ?? "")
      """
  }
}
