// The entity City as a plain value, and temporary stores of cities.

import LiveFetch

/// A city as a plain value.
struct City: Codable, Fetchable, Identifiable, Hashable {
  static let entityName = "City"
  let id: Int
  var name: String
  var population: Int?
  var country: Int?
}

/// A temporary store of cities, deleted after the test.
struct Cities: OpenedSample {
  static let schema = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country_id INTEGER REFERENCES country(id));
    INSERT INTO country VALUES (1, 'Japan'), (2, 'Peru'), (3, 'Mali');
    INSERT INTO City VALUES (1, 'Tokyo', 900, 1), (2, 'Osaka', 300, 1), (3, 'Lima', 800, 2),
      (4, 'Cusco', 40, 2), (5, 'Bamako', 200, 3);
    """

  let opened: OpenedStore

  init(_ kind: Kind) throws { opened = try OpenedStore(kind, sql: Self.schema) }
}
