// Changes of everything that matches, among the changes of one save.

import TestSupport
import Testing

@Suite("A save with a condition in place of an id", .mayBlock)
struct BatchInSaveTests {
  private func served() throws -> ServedFile {
    try ServedFile(
      """
      CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER);
      INSERT INTO City VALUES (1, 'Tokyo', 900), (2, 'Osaka', 300), (3, 'Lima', 800);
      """)
  }

  @Test("changes and deletes every object that matches, in the order of the changes")
  func batches() throws {
    let file = try served()
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[
          {"insert":"City","values":{"id":4,"name":"Nara","population":100}},
          {"update":"City","where":"population > %ld AND name IN %@",
           "arguments":[500,["Tokyo","Lima"]],"values":{"population":7}},
          {"delete":"City","where":"population == $N","variables":{"N":300}}]}
        """)
    #expect(answer.status == 200)
    #expect(answer.json["inserted"]?.integer == 1)
    #expect(answer.json["updated"]?.integer == 2)
    #expect(answer.json["deleted"]?.integer == 1)
    let now = try file.ask("GET", "/v1/objects/City?sort=id&select=population")
    #expect(
      now.text.contains(
        #"[{"id":1,"population":7},{"id":3,"population":7},{"id":4,"population":100}]"#))
  }

  @Test(
    "is refused with `max-affected` if the save would change more objects than that",
    arguments: [
      (#"[{"delete":"City","where":"TRUEPREDICATE"}]"#, 2, 400),
      (#"[{"delete":"City","where":"TRUEPREDICATE"}]"#, 3, 200),
      (
        #"[{"update":"City","where":"id < 3","values":{"population":1}},{"delete":"City","id":3}]"#,
        2, 400
      ),
      (
        #"[{"update":"City","where":"id < 3","values":{"population":1}},{"delete":"City","id":3}]"#,
        3, 200
      ),
      (#"[{"delete":"City","id":1},{"delete":"City","where":"id > 1"}]"#, 2, 400),
    ])
  func mostAffected(changes: String, most: Int, status: Int) throws {
    let file = try served()
    let answer = try file.ask(
      "POST", "/v1/save", body: #"{"changes":\#(changes)}"#,
      headers: [("Prefer", "max-affected=\(most)")])
    #expect(answer.status == status)
    guard status == 400 else {
      let counts = ["updated", "deleted"].compactMap { answer.json[$0]?.integer }
      #expect(counts.reduce(0, +) == 3, "\(answer.text)")
      return
    }
    #expect(answer.json["code"]?.string == "too-many-affected")
    #expect(
      try file.ask("GET", "/v1/objects/City?select=population").text.contains(
        #"[{"id":1,"population":900},{"id":2,"population":300},{"id":3,"population":800}]"#))
  }

  @Test("is refused with an invalid condition or an id, as is one with `ifMatch` and `base`")
  func refusals() throws {
    let file = try served()
    for (change, code, status) in [
      (
        #"{"update":"City","id":1,"values":{"population":11},"ifMatch":"\"q\"","base":{}}"#,
        "malformed-save", 400
      ),
      (
        #"{"delete":"City","id":1,"ifMatch":"\"q\"","base":{"name":"Tokyo"}}"#, "malformed-save",
        400
      ),
      (#"{"delete":"City","where":"popluation > 1"}"#, "unknown-key-path", 400),
      (#"{"update":"City","where":"name == 'x'"}"#, "malformed-save", 400),
      (#"{"delete":"City","where":"name == 'x'","id":1}"#, "malformed-save", 400),
      (#"{"delete":"City","where":1}"#, "bad-parameter", 400),
      (#"{"insert":"City","where":"name == 'x'","values":{}}"#, "malformed-save", 400),
      (
        #"{"update":"City","where":"name == 'x'","values":{"population":"much"}}"#,
        "validation-failed", 422
      ),
    ] {
      let answer = try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#)
      #expect(answer.code == code, "\(change)")
      #expect(answer.status == status, "\(change)")
    }
    #expect(
      try file.ask("/v1/objects/City?select=population").text.contains(
        #"[{"id":1,"population":900},{"id":2,"population":300},{"id":3,"population":800}]"#))
  }
}
