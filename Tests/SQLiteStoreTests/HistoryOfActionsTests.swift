// Updates that foreign key actions and triggers repeat for the same row → the rows before them.

import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("History: rows that foreign key actions and triggers change again", .mayBlock)
struct HistoryOfActionsTests {
  /// Cascades in a circle and within a table, keys that compare without case, and a user's trigger.
  private static let schema = """
    CREATE TABLE orders(id INTEGER PRIMARY KEY, code TEXT UNIQUE, status TEXT, revision INT DEFAULT 0,
      item TEXT REFERENCES items(name) ON UPDATE CASCADE ON DELETE SET NULL);
    CREATE TABLE items(name TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, n INT,
      order_code TEXT REFERENCES orders(code) ON UPDATE CASCADE ON DELETE CASCADE);
    CREATE TABLE emp(id INTEGER PRIMARY KEY, n INT,
      manager INT REFERENCES emp(id) ON UPDATE CASCADE ON DELETE SET NULL);
    CREATE TRIGGER revise AFTER UPDATE ON items BEGIN
      UPDATE orders SET revision = revision + 1 WHERE code = NEW.order_code;
    END;
    """

  private static func statement(_ random: inout SeededRandom) -> String {
    func number() -> Int { Int.random(in: 1...5, using: &random) }
    func text() -> String { "'\(["a", "b", "B", "c", "d"].randomElement(using: &random) ?? "a")'" }
    let conflict = ["", "OR IGNORE ", "OR REPLACE "].randomElement(using: &random) ?? ""
    let statements = [
      "INSERT \(conflict)INTO orders(id, code, status) VALUES (\(number()), \(text()), 'new')",
      "INSERT \(conflict)INTO items VALUES (\(text()), \(number()), \(text()))",
      "INSERT \(conflict)INTO emp VALUES (\(number()), \(number()), \(number()))",
      "UPDATE \(conflict)orders SET code = \(text()), status = 's\(number())' WHERE id = \(number())",
      "UPDATE \(conflict)orders SET id = \(number()) WHERE id = \(number())",
      "UPDATE \(conflict)orders SET item = \(text()) WHERE id = \(number())",
      "UPDATE \(conflict)items SET name = \(text()), n = \(number()) WHERE name = \(text())",
      "UPDATE \(conflict)items SET order_code = \(text()) WHERE n = \(number())",
      "UPDATE \(conflict)emp SET id = \(number()), n = \(number()) WHERE id = \(number())",
      "UPDATE \(conflict)emp SET id = id + 1", "UPDATE emp SET manager = id WHERE id = \(number())",
      "DELETE FROM emp WHERE id = \(number())", "DELETE FROM items WHERE n = \(number())",
      "DELETE FROM orders WHERE id = \(number())",
    ]
    return statements.randomElement(using: &random) ?? ""
  }

  @Test("the old table is read from the history", arguments: 1...12 as ClosedRange<UInt64>)
  func generated(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let store = try TrackedFile(Self.schema)
    try store.connection.execute("PRAGMA foreign_keys = ON")
    for round in 0..<40 {
      let start = try store.token
      let before = try Self.tables(store)
      var executed: [String] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let statement = Self.statement(&random)
        // A refused statement changes nothing.
        if (try? store.connection.execute(statement)) != nil { executed.append(statement) }
      }
      let past = try Self.tables(store, at: start)
      #expect(past == before, "seed \(seed), round \(round): \(executed)")
      if past != before { return }
    }
  }

  /// The rows of each table, now or at an earlier position.
  private static func tables(
    _ store: TrackedFile, at token: Token? = nil
  ) throws -> [String: [String]] {
    var tables: [String: [String]] = [:]
    for entity in store.history.schema.entities {
      let table = TableInfo(entity)
      let layout = HistoryLayout(of: table)
      let columns = table.columnNames.map(quoted).joined(separator: ", ")
      guard let token else {
        tables[table.name] = try store.rows(
          "SELECT \(columns) FROM main.\(quoted(table.name)) ORDER BY 1")
        continue
      }
      let sql = """
        WITH \(layout.overlayExpression(at: HistoryPosition(0)).text)
        SELECT * FROM (SELECT \(columns) FROM main.\(quoted(table.name))
          WHERE \(layout.isUnchanged(nil))
        UNION ALL SELECT \(columns) FROM \(layout.overlayName) WHERE livefetch_existed) ORDER BY 1
        """
      tables[table.name] = try store.rows(sql.replacing("> ?", with: "> \(token.position)"))
    }
    return tables
  }
}
