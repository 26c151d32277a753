// The database and the table of requests of the contract's tests.

import Testing

/// The file that the contract's tests serve.
let contractFixture = """
  CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL,
    population INTEGER NOT NULL DEFAULT 0 CHECK(population >= 0),
    country_id INTEGER REFERENCES country(id));
  CREATE TABLE part(a TEXT NOT NULL, b INTEGER NOT NULL, note TEXT, PRIMARY KEY(a, b));
  CREATE VIEW big AS SELECT * FROM city WHERE population > 10;
  INSERT INTO country VALUES (1,'China'),(2,'Japan');
  INSERT INTO city VALUES (1,'Shanghai',24,1),(2,'Beijing',18,1),(3,'Tokyo',9,2);
  """

/// A request and its expected response.
struct Exchange: Sendable, CustomTestStringConvertible {
  let method: String
  let target: String
  var body: String?
  var header: (name: String, value: String)?
  let status: Int
  var code: String?
  /// The text that the body must contain.
  var text = ""

  init(
    _ method: String, _ target: String, _ body: String?,
    header: (name: String, value: String)? = nil, _ status: Int, _ code: String? = nil,
    text: String = ""
  ) {
    self.method = method
    self.target = target
    self.body = body
    self.header = header
    self.status = status
    self.code = code
    self.text = text
  }

  init(
    _ method: String, _ target: String, header: (name: String, value: String)? = nil,
    _ status: Int, _ code: String? = nil, text: String = ""
  ) {
    self.init(method, target, nil, header: header, status, code, text: text)
  }

  var testDescription: String { "\(method) \(target) \(body ?? "")" }
}
