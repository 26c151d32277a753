// A resume of a fetch that takes longer than a query may.

import FetchModel
import SQLiteStore
import TestSupport
import Testing

@Suite("A resume of a fetch that takes too long", .mayBlock)
struct SlowResumeTests {
  /// Counting the things of every owner takes a billion steps.
  private static let fixture = """
    CREATE TABLE owner(id INTEGER PRIMARY KEY, v INTEGER);
    CREATE TABLE thing(id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owner(id));
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
      INSERT INTO owner SELECT i, i FROM n;
    INSERT INTO thing SELECT id, 1 + id * 7 % 30000 FROM owner;
    """
  private static let endless = "/v1/objects/owner?as=count&where=thing.@count%3E%3D1"

  /// Another answer, 410, would let the client fetch again, which takes as long.
  @Test func isRefusedAsTheFetchWithoutTokenIs() throws {
    var options = SQLiteStoreOptions()
    options.queryTimeout = 0.3
    let file = try ServedFile(Self.fixture, options: options)
    let token = try #require(file.ask("/v1").json["token"]?.string)
    let resumed = "\(Self.endless)&since=\(token)"
    for target in [Self.endless, "\(resumed)&wait=0", "\(resumed)&wait=60"] {
      let answer = try file.ask(target)
      #expect(answer.status == 504, "\(target): \(answer.text)")
      #expect(answer.code == "query-timeout")
    }
    let pending = file.begin("GET", resumed, headers: [("Accept", "text/event-stream")])
    _ = try #require(pending.wait())
    let event = EventReader(try #require(pending.stream)).next(seconds: 60)
    #expect(event?.kind == "error")
    #expect(event?.json["code"]?.string == "query-timeout")
  }
}
