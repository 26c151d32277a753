import TestSupport
import Testing

/// Corners of API.md sections 2, 6 and 8.
@Suite("Corners of the contract", .mayBlock)
struct SmallContractTests {
  @Test func aTimeOfDayIsNotDroppedByAColumnOfDays() throws {
    let file = try ServedFile(
      "CREATE TABLE T(id INTEGER PRIMARY KEY, d DATE); INSERT INTO T VALUES (1, '2024-01-31')")
    let refused = try file.ask("PATCH", "/v1/objects/T/1", body: #"{"d":"2024-02-01T10:00:00Z"}"#)
    #expect(refused.status == 422)
    #expect(refused.text.contains(#""property":"d","code":"out-of-range""#), "\(refused.text)")
    for date in ["2024-02-01", "2024-02-02T00:00:00Z", "2024-02-03T02:00:00+02:00"] {
      #expect(try file.ask("PATCH", "/v1/objects/T/1", body: #"{"d":"\#(date)"}"#).status == 200)
    }
    #expect(try file.ask("/v1/objects/T/1").json["d"]?.string == "2024-02-03T00:00:00Z")
  }

  @Test func anEmptyTextIsAnIDLikeAnyOther() throws {
    let file = try ServedFile("CREATE TABLE T(id TEXT PRIMARY KEY NOT NULL, n INTEGER)")
    let insert = try file.ask("POST", "/v1/objects/T", body: #"{"id":"","n":1}"#)
    #expect(insert.status == 201, "\(insert.text)")
    #expect(insert["Location"] == "/v1/objects/T/")
    #expect(try file.ask("/v1/objects/T/").text == #"{"id":"","n":1}"#)
    #expect(try file.ask("/v1/objects/T//n").text == "1")
    #expect(try file.ask("PATCH", "/v1/objects/T/", body: #"{"n":2}"#).status == 200)
    #expect(try file.ask("DELETE", "/v1/objects/T/").status == 204)
    #expect(try file.ask("/v1/objects/T/").status == 404)
    #expect(try file.ask("/v1/objects//").code == "unknown-path")
  }

  @Test func optionsOfAnEntityThatIsNotThereIs404() throws {
    let file = try ServedFile("CREATE TABLE T(id INTEGER PRIMARY KEY)")
    #expect(try file.ask("OPTIONS", "/v1/objects/T").status == 204)
    #expect(try file.ask("OPTIONS", "/v1/objects/Q").code == "unknown-entity")
    #expect(try file.ask("OPTIONS", "/v1/objects/Q/1").status == 404)
  }
}
