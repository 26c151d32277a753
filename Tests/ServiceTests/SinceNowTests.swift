// Requests with `since=now` that arrive while the engine is busy.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("`since=now` is the newest token when the request arrived", .mayBlock)
struct SinceNowTests {
  /// Towns that take long to count: each compares itself with all towns of its country.
  private static let fixture = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE town(id INTEGER PRIMARY KEY, country_id INTEGER REFERENCES country);
    CREATE INDEX town_country ON town(country_id);
    CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
    INSERT INTO country VALUES (1, 'a');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
      INSERT INTO town SELECT i, 1 FROM n;
    INSERT INTO note VALUES (1, 'old');
    """

  enum Request: CaseIterable { case poll, pollOfGroup }

  @Test(
    "a save after the request, but before the engine handles it, is reported",
    arguments: Request.allCases)
  func saveMeanwhile(request: Request) throws {
    let file = try ServedFile(Self.fixture)
    let token = try #require(file.ask("/v1").json["token"]?.string)
    let busy = file.begin(
      "POST", "/v1/live",
      body: """
        {"fetches":{"a":{"entity":"town","where":"country.town.@count > 5","since":"\(token)"}},\
        "wait":0}
        """)
    // The engine begins the slow fetch in this time. If it does not, the test shows less, but passes.
    Thread.sleep(forTimeInterval: 0.1)
    let polling =
      switch request {
      case .poll: file.begin("GET", "/v1/objects/note?since=now&wait=60")
      case .pollOfGroup:
        file.begin(
          "POST", "/v1/live",
          body: #"{"fetches":{"n":{"entity":"note","since":"now"}},"wait":60}"#)
      }
    let saved = try file.ask("PATCH", "/v1/objects/note/1", body: #"{"text":"new"}"#)
    #expect(saved.status == 200)
    #expect(!busy.isThere, "the engine was not busy any more when the save was made")
    let answer = try #require(polling.wait())
    #expect(answer.text.contains(#""changed":{"text":"new"}"#), "\(answer.text)")
    #expect(busy.wait()?.status == 200)
  }
}
