// The same rows in an SQLite file and in a PostgreSQL database.

import Bytes
import FetchModel
import Foundation
import SQLComposer
import SQLiteStore
import TestSupport

@testable import PostgresStore

/// Two stores with equal models and rows.
struct ParityFixture {
  let sqlite: SQLiteStore
  let postgres: PostgresStore
  /// The connection string of the database.
  let target: String
  private let directory: TemporaryDirectory

  private static let sqliteTables = """
    CREATE TABLE "Country"(id INTEGER PRIMARY KEY, name TEXT NOT NULL, continent TEXT);
    CREATE TABLE "City"(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      area DECIMAL, density DOUBLE, isport BOOLEAN, founded DATETIME, badge UUID, info JSON,
      flag BLOB, country INTEGER REFERENCES "Country"(id));
    CREATE TABLE "Tag"(name TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE "City_Tag"(city INTEGER NOT NULL REFERENCES "City"(id),
      tag TEXT NOT NULL REFERENCES "Tag"(name), PRIMARY KEY (city, tag));
    CREATE TABLE "Stop"(line TEXT NOT NULL, number INTEGER NOT NULL, city INTEGER
      REFERENCES "City"(id), PRIMARY KEY (line, number));
    """

  private static let postgresTables = """
    CREATE TABLE "Country"(id int PRIMARY KEY, name text NOT NULL, continent text);
    CREATE TABLE "City"(id bigint PRIMARY KEY, name text NOT NULL, population bigint,
      area numeric(20, 6), density double precision, isport boolean, founded timestamptz,
      badge uuid, info jsonb, flag bytea, country int REFERENCES "Country");
    CREATE TABLE "Tag"(name text PRIMARY KEY);
    CREATE TABLE "City_Tag"(city bigint NOT NULL REFERENCES "City",
      tag text NOT NULL REFERENCES "Tag", PRIMARY KEY (city, tag));
    CREATE TABLE "Stop"(line varchar(20) NOT NULL, number int NOT NULL,
      city bigint REFERENCES "City", PRIMARY KEY (line, number));
    """

  private static let rows = """
    INSERT INTO "Country" VALUES (1, 'China', 'Asia'), (2, 'Japan', 'Asia'), (3, 'Peru', NULL),
      (4, 'Änland', 'Europe');
    INSERT INTO "City" VALUES
      (10, 'Shanghai', 24, 6340.5, 3.5, TRUE, '1291-01-01T00:00:00Z',
        '1b4e28ba-2fa1-11d2-883f-0016d3cca427', '{"a":[1,2.5,"x y"],"b":null}', <ff00>, 1),
      (11, 'beijing', 18, NULL, NULL, FALSE, NULL, NULL, NULL, NULL, 1),
      (20, 'Tokyo', 9, 2194, 6.25, TRUE, '1457-06-01T12:00:00.25Z',
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '"text"', <>, 2),
      (21, 'Osaka "O"', 9, 225.25, 0.1, FALSE, '1457-06-01T12:00:00Z', NULL, '17', <41>, 2),
      (30, 'Äpfel', NULL, 0.1, 1e300, NULL, '2024-02-29T23:59:59.999999Z', NULL, 'true', NULL, 3),
      (40, 'Nowhere', 9007199254740993, -0.5, -0.25, NULL, NULL, NULL, '[]', NULL, NULL);
    INSERT INTO "Tag" VALUES ('big'), ('old'), ('Zen');
    INSERT INTO "City_Tag" VALUES (10, 'big'), (11, 'big'), (11, 'old'), (11, 'Zen');
    INSERT INTO "Stop" VALUES ('a', 1, 10), ('a', 2, NULL), ('b,%', 1, 20);
    """

  init() throws {
    directory = try TemporaryDirectory()
    let path = directory.path + "/world.sqlite"
    try TestSupport.sqlite(path, Self.sqliteTables + Self.rows(blob: { "X'\($0)'" }))
    sqlite = try SQLiteStore(path: path)
    target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute(Self.postgresTables + Self.rows(blob: { "'\\x\($0)'" }))
    connection.close()
    postgres = try PostgresStore(target)
  }

  private static func rows(blob: (String) -> String) -> String {
    rows.replacing(/<([0-9a-f]*)>/) { blob(String($0.1)) }
  }

  func close() {
    sqlite.close()
    postgres.close()
  }

  static func with(_ body: (ParityFixture) throws -> Void) throws {
    let fixture = try ParityFixture()
    defer { fixture.close() }
    try body(fixture)
  }

  static func plan(_ store: any Store, _ entity: String, _ query: String) throws -> FetchPlan {
    let items = try PercentEncoding.decodeQuery(Substring(query))
    let request = try FetchRequest(entity: entity, query: items)
    return try FetchResolver(model: store.model, maxItems: 1_000).resolve(request)
  }

  /// The snapshot of a fetch without its token.
  static func snapshot(_ store: any Store, _ entity: String, _ query: String) throws -> String {
    let snapshot = try store.snapshot(of: plan(store, entity, query), queryClass: .full)
    return String(decoding: snapshot.json, as: UTF8.self)
      .replacing("\"token\":\"\(snapshot.token)\"", with: "\"token\":\"\"")
  }
}
