// A tracked file with a history, for tests of history reads.

import FetchModel
import SQLComposer
import SQLResults
import Testing

@testable import SQLiteStore

/// A tracked file with a connection that reads it.
struct TrackedFile {
  let file: ScratchFile
  let connection: Connection
  let history: History
  let setup: HistorySetup

  init(_ sql: String) throws { try self.init(ScratchFile(sql)) }

  init(_ file: ScratchFile) throws {
    self.file = file
    connection = try file.connect()
    try connection.execute("PRAGMA synchronous = OFF")
    let introspection = try Introspection(of: connection)
    history = History(model: introspection.model, schema: introspection.schema)
    setup = try history.setUp(on: connection, journalMode: "delete")
  }

  var token: Token { get throws { try history.newestToken(on: connection) } }

  func changeSet(after token: Token) throws -> ChangeSet {
    try history.changeSet(
      after: token.position.number, upTo: self.token.position.number, on: connection)
  }

  /// A read transaction on the connection.
  var transaction: SQLiteReadTransaction {
    get throws {
      SQLiteReadTransaction(
        connection: connection,
        composer: FetchComposer(model: history.model, schema: history.schema), history: history,
        objectStatements: ComposedStatements(), token: try token)
    }
  }

  func validity(of token: Token) throws -> TokenValidity {
    try history.validity(of: token, on: connection)
  }

  /// Returns rows of SQL as text, with columns joined by `|`.
  func rows(_ sql: String) throws -> [String] {
    try connection.all(sql) { row in
      row.values(0..<row.columnCount).map { Self.text($0) }.joined(separator: "|")
    }
  }

  private static func text(_ value: SQLValue) -> String {
    switch value {
    case .null: "nil"
    case .integer(let integer): "\(integer)"
    case .double(let double): "\(double)"
    case .text(let text): "'\(text)'"
    case .blob(let bytes): "x\(bytes)"
    }
  }

  /// Returns the history of a table after `token`, without positions.
  func history(_ table: String, after token: Token) throws -> [String] {
    try rows(
      """
      SELECT h.* FROM \(quoted("livefetch_history_\(table)")) AS h
      WHERE livefetch_position > \(token.position) ORDER BY livefetch_position
      """
    ).map { $0.split(separator: "|").dropFirst().joined(separator: "|") }
  }
}

/// Two countries, two cities and two tags, with one row in the join table.
let historyFixture = """
  CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT);
  CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, population REAL,
    country INTEGER REFERENCES Country ON DELETE CASCADE);
  CREATE TABLE Tag(name TEXT PRIMARY KEY);
  CREATE TABLE City_Tag(city INTEGER REFERENCES City ON DELETE CASCADE,
    tag TEXT REFERENCES Tag ON UPDATE CASCADE);
  INSERT INTO Country VALUES (1, 'China'), (2, 'Japan');
  INSERT INTO City VALUES (10, 'Shanghai', 24.5, 1), (20, 'Tokyo', 9.7, 2);
  INSERT INTO Tag VALUES ('big'), ('old');
  INSERT INTO City_Tag VALUES (10, 'big');
  """
