// Generated rows of related tables, for parity tests of SQL and the evaluator.

import FetchModel
import SQLComposer
import SQLResults
import Testing

@testable import SQLiteStore

/// A file of generated rows, read by SQL, by a store, and by the evaluator out of memory.
final class NestedFixture {
  static let schema = """
    CREATE TABLE o(id INTEGER PRIMARY KEY, n INTEGER, r REAL, s TEXT, u UUID, d DATETIME, b BOOLEAN);
    CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER, s TEXT, d DATETIME, o_id INTEGER REFERENCES o);
    CREATE TABLE c(id INTEGER PRIMARY KEY, n INTEGER, s TEXT COLLATE NOCASE, d DATETIME,
      o_id INTEGER REFERENCES o, p_id INTEGER REFERENCES p);
    CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, s TEXT, d DATETIME, c_id INTEGER REFERENCES c);
    CREATE TABLE tag(id TEXT PRIMARY KEY NOT NULL, n INTEGER, s TEXT, d DATETIME);
    CREATE TABLE o_tag(o_id INTEGER REFERENCES o, tag_id TEXT REFERENCES tag,
      PRIMARY KEY(o_id, tag_id));
    INSERT INTO o VALUES (1, 1, 0.5, 'a', '6F9619FF-8B86-D011-B42D-00C04FC964FF',
      '2024-02-29T10:00:00Z', 1);
    INSERT INTO p VALUES (1, 1, 'a', '2024-02-29T10:00:00Z', 1);
    INSERT INTO c VALUES (1, 1, 'a', '2024-02-29T10:00:00Z', 1, 1);
    INSERT INTO t VALUES (1, 1, 'a', '2024-02-29T10:00:00Z', 1);
    INSERT INTO tag VALUES ('a', 1, 'a', '2024-02-29T10:00:00Z');

    """

  static let columns = [
    "o": ["id", "n", "r", "s", "u", "d", "b"], "p": ["id", "n", "s", "d", "o"],
    "c": ["id", "n", "s", "d", "o", "p"], "t": ["id", "n", "s", "d", "c"],
    "tag": ["id", "n", "s", "d"],
  ]

  let database: PredicateFixture
  private let file: ScratchFile
  private let store: SQLiteStore
  private let resolver: FetchResolver
  private let tracked: TrackedFile
  private let contents: NestedContents

  init(_ sql: String) throws {
    database = try PredicateFixture("PRAGMA foreign_keys = OFF;" + sql)
    database.isHomogeneous = false
    file = try ScratchFile(sql)
    store = try SQLiteStore(path: file.path)
    resolver = FetchResolver(model: store.model, maxItems: 1_000)
    tracked = try TrackedFile(ScratchFile(sql))
    var tables: [String: [[StoredValue]]] = [:]
    for table in Self.columns.keys {
      tables[table] = try database.stored("SELECT * FROM \(table) ORDER BY id")
    }
    contents = NestedContents(
      model: database.model, tables: tables, links: try database.stored("SELECT * FROM o_tag"))
  }

  deinit { store.close() }

  private func plan(_ text: String, entity: String) throws -> FetchPlan {
    var request = FetchRequest(entity: entity)
    request.predicate = text
    request.shape = .ids
    return try resolver.resolve(request)
  }

  /// The newest position of the file that is changed.
  func position() throws -> HistoryPosition { try tracked.token.position }

  /// Changes the rows of one of the files.
  func change(_ sql: String) throws { try tracked.file.runExternally(sql) }

  /// The ids that the predicate finds in the changed file as it was at `position`.
  func pastIDs(_ text: String, entity: String, at position: HistoryPosition) throws -> Set<String> {
    let history = tracked.history
    let composer = FetchComposer(model: history.model, schema: history.schema)
    let transaction = SQLiteReadTransaction(
      connection: tracked.connection, composer: composer, history: history,
      objectStatements: ComposedStatements(), token: try tracked.token)
    let ids = (contents.tables[entity] ?? []).map { values -> ObjectID in
      switch values[0] {
      case .integer(let id): .integer(id)
      case .text(let id): .text(id)
      default: .integer(0)
      }
    }
    let rows = try transaction.rows(
      of: plan(text, entity: entity), ids: Set(ids), at: .past(position))
    return Set(rows.keys.map { "\($0)" })
  }

  /// The ids that a fetch of the store finds.
  func fetchedIDs(_ text: String, entity: String) throws -> Set<String> {
    try Self.ids(of: plan(text, entity: entity), in: store)
  }

  /// The ids that `plan`, whose shape is that of ids, finds in a store.
  static func ids(of plan: FetchPlan, in store: any Store) throws -> Set<String> {
    let snapshot = try store.snapshot(of: plan, queryClass: .full).json
    guard case .array(let sections)? = try JSON(parsing: snapshot)["sections"],
      case .array(let items)? = sections.first?["items"]
    else { return [] }
    return Set(items.map { $0.string ?? String($0.integer ?? -1) })
  }

  func rows(of entity: String, for evaluator: PredicateEvaluator) -> [NestedRow] {
    contents.rows(of: entity, for: evaluator)
  }
}

/// The rows of every table, in memory.
struct NestedContents {
  let model: Model
  /// The values of ``NestedFixture/columns``.
  let tables: [String: [[StoredValue]]]
  let links: [[StoredValue]]

  func rows(of entity: String, for evaluator: PredicateEvaluator) -> [NestedRow] {
    (tables[entity] ?? []).map {
      NestedRow(fixture: self, entity: entity, values: $0, evaluator: evaluator)
    }
  }
}

/// One row of the fixture as the evaluator reads it.
struct NestedRow: EvaluatedRow, CustomStringConvertible {
  fileprivate let fixture: NestedContents
  fileprivate let entity: String
  fileprivate let values: [StoredValue]
  fileprivate let evaluator: PredicateEvaluator

  var id: String {
    switch values[0] {
    case .integer(let id): String(id)
    case .text(let id): id
    default: ""
    }
  }

  var description: String { "\(entity) \(values)" }

  private var model: Model { fixture.model }
  private var shape: Entity { model.entities[model.entityIndex(named: entity) ?? 0] }

  private func column(_ name: String) -> StoredValue {
    NestedFixture.columns[entity]?.firstIndex(of: name).map { values[$0] } ?? .null
  }

  private func others(_ entity: Int) -> [NestedRow] {
    fixture.rows(of: model.entities[entity].name, for: evaluator)
  }

  func value(of slot: Int) -> StoredValue? {
    let path = evaluator.paths[slot].path
    var row = self
    for (index, step) in path.steps.enumerated() {
      let relationship = row.shape.relationships[step]
      let link = row.column(relationship.name)
      if index == path.steps.count - 1, path.target == .object { return link }
      guard let next = row.others(relationship.destination).first(where: { $0.values[0] == link })
      else { return .null }
      row = next
    }
    guard case .attribute(let index) = path.target else { return row.values[0] }
    return row.column(row.shape.attributes[index].name)
  }

  func elements(of collection: Int) -> [NestedRow]? {
    var rows = [self]
    for step in evaluator.collections[collection].steps {
      var next: [NestedRow] = []
      for row in rows.flatMap({ $0.related(by: step) })
      where !next.contains(where: { $0.values[0] == row.values[0] }) {
        next.append(row)
      }
      rows = next
    }
    return rows
  }

  private func related(by step: Int) -> [NestedRow] {
    let relationship = shape.relationships[step]
    let others = others(relationship.destination)
    guard relationship.isToMany else {
      let link = column(relationship.name)
      return link == .null ? [] : others.filter { $0.values[0] == link }
    }
    let destination = model.entities[relationship.destination]
    guard let inverse = relationship.inverse.map({ destination.relationships[$0] }) else {
      return []
    }
    guard inverse.isToMany else {
      return others.filter { $0.column(inverse.name) == values[0] }
    }
    let (own, other) = entity == "o" ? (0, 1) : (1, 0)
    let linked = fixture.links.filter { $0[own] == values[0] }.map { $0[other] }
    return others.filter { linked.contains($0.values[0]) }
  }
}
