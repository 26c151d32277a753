// The database, the table of requests and the helpers of the contract's tests.

import FetchModel
import TestSupport
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

  /// Sends the request and compares the response.
  func check(_ file: ServedFile) throws {
    let answer = try file.ask(method, target, body: body, headers: header.map { [$0] } ?? [])
    let place = Comment("\(testDescription.prefix(200)): \(answer.text)")
    #expect(answer.status == status, place)
    #expect(answer.code == code, place)
    #expect(text.isEmpty || answer.text.contains(text), place)
  }
}

/// Waits until clients wait for a change of so many fetches. `ask` sends a request.
func awaitWaitingFetches(_ count: Double, _ ask: (String) throws -> Answer) throws {
  let areWaiting = try eventually(within: .seconds(300)) {
    try MetricsText(ask("/metrics").text)["livefetch_live_waiting"] == count
  }
  #expect(areWaiting)
}

extension JSON {
  /// The elements of an array; nil for any other value.
  var elements: [JSON]? {
    if case .array(let elements) = self { elements } else { nil }
  }
}
