// The evaluator of predicates compared with SQL: generated predicates over generated rows.

import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Evaluator: agrees with SQL on every row", .mayBlock)
struct EvaluatorParityTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func generatedPredicatesOverGeneratedRows(seed: UInt64) throws {
    var generator = EvaluatorCases(seed: seed)
    var tally = Tally()
    for round in 0..<6 {
      let fixture = try EvaluatorFixture(&generator)
      for _ in 0..<250 {
        let entity = generator.oneIn(5) ? "team" : "thing"
        let text = generator.predicate(entity)
        try check(text, entity, fixture, &tally, "seed \(seed), round \(round): \(entity): \(text)")
      }
    }
    #expect(tally.refused < tally.all / 4, "seed \(seed): \(tally)")
    #expect(tally.whole > tally.all * 6 / 10, "seed \(seed): \(tally)")
    #expect(tally.decided > tally.rows * 9 / 10, "seed \(seed): \(tally)")
    #expect(tally.matched > tally.rows / 10, "seed \(seed): \(tally)")
  }

  struct Tally {
    var all = 0
    var refused = 0
    var whole = 0
    var rows = 0
    var decided = 0
    var matched = 0
  }

  private func check(
    _ text: String, _ entity: String, _ fixture: EvaluatorFixture, _ tally: inout Tally,
    _ place: Comment
  ) throws {
    tally.all += 1
    guard let predicate = try? fixture.database.resolve(text, entity: entity) else {
      tally.refused += 1
      return
    }
    let evaluator = PredicateEvaluator(
      predicate.condition, model: fixture.database.model, columns: fixture.columns)
    let found = Set(try fixture.database.run(predicate, entity: entity).ids)
    if evaluator.coverage == .whole { tally.whole += 1 }
    for row in fixture.rows(of: entity, for: evaluator) {
      if evaluator.coverage == .whole { tally.rows += 1 }
      guard let verdict = evaluator.evaluate(row) else { continue }
      if evaluator.coverage == .whole { tally.decided += 1 }
      if verdict { tally.matched += 1 }
      #expect(verdict == found.contains(row.id), "\(place): \(row)")
    }
  }
}

/// A file of generated rows, with each row's stored values in memory.
final class EvaluatorFixture {
  let database: PredicateFixture
  let columns: SchemaColumns
  private let tables: [String: [[StoredValue]]]

  static let schema = """
    CREATE TABLE team(id INTEGER PRIMARY KEY, title TEXT, level INTEGER, since DATETIME);
    CREATE TABLE thing(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, note TEXT, count INTEGER,
      weight INTEGER NOT NULL, ratio REAL, price DECIMAL, flag BOOLEAN, made DATETIME, seen TIMESTAMP, day DATE,
      stamp DATETIME, born DATETIME NOT NULL, token UUID, link URI, bytes BLOB, loose, size,
      team_id INTEGER REFERENCES team, home TEXT COLLATE NOCASE REFERENCES place);
    CREATE TABLE place(code TEXT PRIMARY KEY NOT NULL, label TEXT NOT NULL);
    INSERT INTO place VALUES ('a', 'First'), ('A', 'Second'), ('ß', ''), ('12', '12');
    INSERT INTO team VALUES (1, 'Red', 3, '2001-01-01T00:00:00Z');
    INSERT INTO thing VALUES (1, 'Berlin', 'note', 5, 3, 2.5, 10, 1, '2024-02-29T10:00:00Z',
      '2024-02-29 10:00:00', '2024-02-29', 1709200800, '2024-02-29T10:00:00Z', '6F9619FF-8B86-D011-B42D-00C04FC964FF',
      'http://a/b', x'0102', 'loose', 7, 1, 'a');
    """

  init(_ generator: inout EvaluatorCases) throws {
    database = try PredicateFixture(Self.schema)
    database.isHomogeneous = false
    // Links may refer to missing rows, as in files of other programs.
    try database.connection.execute("PRAGMA foreign_keys = OFF")
    for id in 2...5 { try database.insert("team", generator.team(id)) }
    for id in 2...24 { try database.insert("thing", generator.thing(id)) }
    columns = database.columns
    tables = [
      "team": try database.stored("SELECT id, title, level, since FROM team ORDER BY id"),
      "thing": try database.stored("SELECT * FROM thing ORDER BY id"),
      "place": try database.stored("SELECT * FROM place"),
    ]
  }

  func rows(of table: String, for evaluator: PredicateEvaluator) -> [ParityRow] {
    (tables[table] ?? []).map { ParityRow(fixture: self, table: table, values: $0, evaluator) }
  }

  private static let columnNames = [
    "team": ["id", "title", "level", "since"], "place": ["code", "label"],
    "thing": [
      "id", "name", "note", "count", "weight", "ratio", "price", "flag", "made", "seen", "day",
      "stamp", "born", "token", "link", "bytes", "loose", "size", "team", "home",
    ],
  ]

  fileprivate func column(_ name: String, of table: String) -> Int {
    Self.columnNames[table]?.firstIndex(of: name) ?? 0
  }
}

/// A row of the fixture for the evaluator.
struct ParityRow: EvaluatedRow, CustomStringConvertible {
  private let fixture: EvaluatorFixture
  private let table: String
  private let values: [StoredValue]
  private let evaluator: PredicateEvaluator

  init(
    fixture: EvaluatorFixture, table: String, values: [StoredValue], _ evaluator: PredicateEvaluator
  ) {
    self.fixture = fixture
    self.table = table
    self.values = values
    self.evaluator = evaluator
  }

  var id: String { "\(number)" }
  private var number: Int64 { if case .integer(let id) = values[0] { id } else { 0 } }
  var description: String { "\(values)" }

  func value(of slot: Int) -> StoredValue? { value(at: evaluator.paths[slot].path, steps: 0) }

  private func value(at path: PropertyPath, steps: Int) -> StoredValue {
    let entity = fixture.database.model.entities[
      fixture.database.model.entityIndex(named: table) ?? 0]
    guard steps < path.steps.count else {
      guard case .attribute(let index) = path.target else { return values[0] }
      return values[fixture.column(entity.attributes[index].name, of: table)]
    }
    let relationship = entity.relationships[path.steps[steps]]
    let link = values[fixture.column(relationship.name, of: table)]
    if steps == path.steps.count - 1, path.target == .object { return link }
    let destination = fixture.database.model.entities[relationship.destination].name
    let related = fixture.rows(of: destination, for: evaluator).first { $0.values[0] == link }
    return related.map { $0.value(at: path, steps: steps + 1) } ?? .null
  }

  func elements(of collection: Int) -> [ParityRow]? {
    // Every collection of this fixture ends at the things of a team.
    let steps = evaluator.collections[collection].steps
    assert(steps.count == (table == "thing" ? 2 : 1))
    let isFromThing = steps.count == 2
    let team = isFromThing ? values[fixture.column("team", of: table)] : values[0]
    guard fixture.rows(of: "team", for: evaluator).contains(where: { $0.values[0] == team }) else {
      return []
    }
    return fixture.rows(of: "thing", for: evaluator)
      .filter { $0.values[fixture.column("team", of: "thing")] == team }
  }
}

extension PredicateFixture {
  var columns: SchemaColumns { SchemaColumns(schema: schema, model: model) }

  func insert(_ table: String, _ values: [SQLValue]) throws {
    let marks = values.map { _ in "?" }.joined(separator: ", ")
    try connection.withStatement("INSERT INTO \(table) VALUES (\(marks))") {
      statement throws(StoreError) in
      try statement.bind(values)
      try statement.run()
    }
  }

  func stored(_ query: String) throws -> [[StoredValue]] {
    try connection.all(query, []) { $0.values(0..<$0.columnCount) }
  }
}
