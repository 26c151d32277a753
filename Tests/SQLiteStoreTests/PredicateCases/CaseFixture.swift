// The database of the table of cases, and how a line of the table is read and run.

import FetchModel
import Foundation
import PostgresStore
import TestSupport
import Testing

@testable import SQLiteStore

/// One line of the table: `entity: predicate ← arguments → ids`.
///
/// The entity is `item` by default. Arguments are JSON: an array fills placeholders, an
/// object variables. No ids after the arrow: nothing matches; `all`: everything does.
struct PredicateCase {
  let line: String
  let entity: String
  let text: String
  let arguments: [PredicateArgument]
  let variables: [String: PredicateArgument]
  let ids: String

  init(_ line: String) throws {
    self.line = line
    let halves = try #require(Self.halves(of: line, at: " →"))
    ids = halves.1.trimmingCharacters(in: .whitespaces)
    let given = Self.halves(of: halves.0, at: " ← ")
    var text = (given?.0 ?? halves.0).trimmingCharacters(in: .whitespaces)
    var entity = "item"
    for name in ["country", "word"] where text.hasPrefix(name + ": ") {
      entity = name
      text.removeFirst(name.count + 2)
    }
    self.entity = entity
    self.text = text
    let json = try given.map { try JSON(parsing: Array($0.1.utf8)) }
    var arguments: [PredicateArgument] = []
    var variables: [String: PredicateArgument] = [:]
    if case .array(let values)? = json { arguments = values.map { .json($0) } }
    if case .object(let members)? = json {
      for member in members { variables[member.name] = .json(member.value) }
    }
    (self.arguments, self.variables) = (arguments, variables)
  }

  private static func halves(of text: String, at mark: String) -> (String, String)? {
    guard let range = text.range(of: mark, options: .backwards) else { return nil }
    return (String(text[..<range.lowerBound]), String(text[range.upperBound...]))
  }

  /// The lines of a block that hold a case.
  static func read(_ block: String) throws -> [PredicateCase] {
    try block.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
      try PredicateCase(String($0))
    }
  }
}

/// A file or a PostgreSQL database with its rows, opened as a store.
final class CaseFixture {
  enum Database: CaseIterable, Sendable { case sqlite, postgres }

  private let file: ScratchFile
  private let store: any ReopenableStore
  private let resolver: FetchResolver

  init(_ database: Database) throws {
    file = try ScratchFile(Self.sql)
    switch database {
    case .sqlite: store = try SQLiteStore(path: file.path)
    case .postgres:
      var options = PostgresStoreOptions()
      options.connections = 2
      store = try PostgresStore(
        try PostgresServer.shared().newDatabase(copying: file.path), options: options)
    }
    resolver = FetchResolver(model: store.model, maxItems: 1_000)
  }

  deinit { store.close() }

  /// The ids of what `predicate` matches, in order.
  func ids(_ predicate: PredicateCase, where text: String) throws -> String {
    var request = FetchRequest(entity: predicate.entity)
    request.predicate = text
    request.arguments = predicate.arguments
    request.variables = predicate.variables
    request.shape = .ids
    let json = try JSON(
      parsing: store.snapshot(of: resolver.resolve(request), queryClass: .full).json)
    let items = Self.elements(Self.elements(json["sections"]).first?["items"])
    return items.map { $0.string ?? String($0.integer ?? -1) }.joined(separator: " ")
  }

  private static func elements(_ json: JSON?) -> [JSON] {
    if case .array(let elements)? = json { elements } else { [] }
  }

  /// Runs a case, its negation, and its canonical form.
  func check(_ predicate: PredicateCase) {
    do {
      let all = try ids(predicate, where: "TRUEPREDICATE OR (\(predicate.text))")
      let expected = predicate.ids == "all" ? all : predicate.ids
      let found = try ids(predicate, where: predicate.text)
      #expect(found == expected, "\(predicate.line)")
      let rest = all.split(separator: " ").filter { !expected.split(separator: " ").contains($0) }
      let negated = try ids(predicate, where: "NOT (\(predicate.text))")
      #expect(negated == rest.joined(separator: " "), "NOT \(predicate.line)")
      let canonical = try Predicate(parsing: predicate.text).description
      #expect(try ids(predicate, where: canonical) == found, "\(canonical)")
    } catch StoreError.unsupported
      where store.properties.kind == "postgres" && Self.unsupported.contains(predicate.line)
    {
    } catch {
      Issue.record("\(predicate.line): \(error)")
    }
  }

  /// The lines that PostgreSQL refuses.
  private static let unsupported: Set = [
    "s LIKE[c] t → 1 3", #"s MATCHES '\\X{5}' → 1 2"#,
    "lowercase('ΟΔΟΣ ΟΔΟΣ') == 'οδος οδος' → all",
  ]

  static let sql = #"""
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT, founded DATE);
    CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER, r REAL, s TEXT, b BOOLEAN, d DATETIME,
      x BLOB, home INTEGER REFERENCES country, m INTEGER, t TEXT);
    CREATE TABLE word(id TEXT PRIMARY KEY NOT NULL, label TEXT, weight INTEGER);
    CREATE TABLE item_word(item_id INTEGER REFERENCES item, word_id TEXT REFERENCES word,
      PRIMARY KEY(item_id, word_id));
    CREATE INDEX item_n ON item(n);
    CREATE INDEX item_s ON item(s);
    INSERT INTO country VALUES (1, 'Peru', '1821-07-28'), (2, 'Japan', NULL), (3, NULL, NULL);
    INSERT INTO item VALUES
      (1, 5, 2.5, 'Apple', 1, '2024-02-29T12:00:00Z', x'00ff', 1, 5, 'apple'),
      (2, -7, -0.5, 'ápple', 0, '1969-12-31T23:59:59Z', x'', 1, 2, 'pp'),
      (3, 0, 0, '', 0, '2001-01-01T00:00:00Z', NULL, 2, NULL, ''),
      (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
      (5, 9007199254740993, 1e308, 'a*b?c\d', 1, '2025-01-01T00:30:00Z', x'616263', NULL,
        9007199254740992, 'STRASSE'),
      (6, 10, 9.99, 'Straße', 0, '2024-03-01T00:00:00Z', NULL, 2, 3, 'ß');
    INSERT INTO word VALUES ('w1', 'Red', 3), ('w2', 'red', NULL), ('w3', NULL, 10), ('w4', '', -1);
    INSERT INTO item_word VALUES (1, 'w1'), (1, 'w2'), (2, 'w2'), (4, 'w3'), (5, 'w1'), (5, 'w3'),
      (6, 'w2'), (6, 'w3');
    """#
}
