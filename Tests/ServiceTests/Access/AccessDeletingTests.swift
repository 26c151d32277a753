// Deletes in saves under access rules, and the rows that delete rules, ON CONFLICT REPLACE and triggers delete.

import FetchModel
import Service
import TestSupport
import Testing

@Suite("A caller deletes no more than the access rules allow", .mayBlock)
struct AccessDeletingTests {
  @Test(
    "An object that a save inserts and deletes must fulfil its delete rule: the delete may cascade to others"
  )
  func insertedAndDeleted() throws {
    let fixture = try AccessFixture(
      model: """
        {"entities":[
          {"name":"Boss","attributes":[{"name":"level","type":"Integer 64"}],
            "relationships":[{"name":"staff","destination":"Worker","inverse":"boss","toMany":true,
              "deleteRule":"Cascade"}],
            "access":{"read":true,"insert":"level < 3","delete":"level < 2"}},
          {"name":"Worker","attributes":[{"name":"name","type":"String"}],
            "relationships":[{"name":"boss","destination":"Boss","inverse":"staff"}],
            "access":{"read":true,"insert":false,"update":true,"delete":false}}]}
        """)
    let worker = try fixture.ask(nil, "POST", "/v1/objects/Worker", #"{"name":"w"}"#)
    #expect(worker.status == 201)
    func insertAndDelete(level: Int, staff: String) throws -> Answer {
      try fixture.ask(
        "1", "POST", "/v1/save",
        """
        {"changes":[{"insert":"Boss","temporaryID":"x","values":{"level":\(level),"staff":\(staff)}},
          {"delete":"Boss","id":{"temporaryID":"x"}}]}
        """)
    }
    let refused = try [5, 2].map { try insertAndDelete(level: $0, staff: "[1]") }
    #expect(refused.map(\.status) == [403, 403])
    #expect(refused.allSatisfy { $0.text.contains("to delete this Boss") })
    #expect(try fixture.ids(nil, "/v1/objects/Worker") == [1])
    #expect(try insertAndDelete(level: 1, staff: "[]").status == 200)
  }

  @Test("An object that a save inserts or updates must fulfil its rule before a cascading delete")
  func cascades() throws {
    let fixture = try AccessFixture(
      model: """
        {"entities":[
          {"name":"Company","attributes":[{"name":"name","type":"String"}],
            "relationships":[{"name":"bosses","destination":"Boss","inverse":"company","toMany":true,
              "deleteRule":"Cascade"}],
            "access":{"read":true,"insert":true,"update":true,"delete":true}},
          {"name":"Boss","attributes":[{"name":"level","type":"Integer 64"}],
            "relationships":[{"name":"company","destination":"Company","inverse":"bosses"},
              {"name":"staff","destination":"Worker","inverse":"boss","toMany":true,
                "deleteRule":"Cascade"}],
            "access":{"read":true,"insert":"level < 3","update":true,"delete":true}},
          {"name":"Worker","attributes":[{"name":"name","type":"String"}],
            "relationships":[{"name":"boss","destination":"Boss","inverse":"staff"}],
            "access":{"read":true,"insert":false,"update":"boss == nil OR boss.level < 3",
              "delete":false}}]}
        """)
    for name in ["a", "b"] {
      let body = #"{"name":"\#(name)"}"#
      #expect(try fixture.ask(nil, "POST", "/v1/objects/Worker", body).status == 201)
    }
    let boss = try fixture.ask(nil, "POST", "/v1/objects/Boss", #"{"level":5}"#)
    #expect(boss.status == 201)
    func save(_ changes: String) throws -> Answer {
      try fixture.ask("1", "POST", "/v1/save", #"{"changes":[\#(changes)]}"#)
    }
    func company(_ level: Int) -> String {
      """
      {"insert":"Company","temporaryID":"c","values":{"name":"x"}},
      {"insert":"Boss","temporaryID":"b",
        "values":{"level":\(level),"company":{"temporaryID":"c"},"staff":[1]}},
      {"delete":"Company","id":{"temporaryID":"c"}}
      """
    }
    let inserted = try save(company(5))
    #expect(inserted.status == 403)
    #expect(inserted.text.contains("to insert this Boss"), "\(inserted.text)")
    let linked = try save(
      #"{"update":"Boss","id":1,"values":{"staff":{"add":[2]}}},{"delete":"Boss","id":1}"#)
    #expect(linked.status == 403)
    #expect(linked.text.contains("to update this Worker"), "\(linked.text)")
    let batch = try save(
      """
      {"update":"Boss","id":1,"values":{"staff":{"add":[2]}}},
      {"delete":"Boss","where":"level == 5"}
      """)
    #expect(batch.status == 403, "\(batch.text)")
    #expect(try fixture.ids(nil, "/v1/objects/Worker") == [1, 2])
    // An object that no delete of the save removes must fulfil its rule only at the end of the save.
    let completed = try save(
      """
      {"insert":"Boss","temporaryID":"b","values":{"level":7}},
      {"delete":"Boss","id":1},
      {"update":"Boss","id":{"temporaryID":"b"},"values":{"level":1}}
      """)
    #expect(completed.status == 200, "\(completed.text)")
    // The objects that the model's delete rules delete need not fulfil their `delete` rule.
    #expect(try save(company(1)).status == 200)
    #expect(try fixture.ids(nil, "/v1/objects/Worker") == [2])
  }

  @Test("ON CONFLICT REPLACE deletes no row that the caller may not delete", .onlyForFiles)
  func conflictClause() throws {
    let fixture = try AccessFixture(
      """
      CREATE TABLE r(id INTEGER PRIMARY KEY, c TEXT UNIQUE ON CONFLICT REPLACE, owner TEXT);
      INSERT INTO r VALUES (1,'a','ann'),(2,'b','bob');
      """,
      rules: #"{"entities":{"r":{"access":{"read":"owner == 'bob'","insert":true,"update":true}}}}"#
    )
    let inserted = try fixture.ask("1", "POST", "/v1/objects/r", #"{"c":"a","owner":"x"}"#)
    let updated = try fixture.ask("1", "PATCH", "/v1/objects/r/2", #"{"c":"a"}"#)
    #expect([inserted, updated].map(\.status) == [409, 409])
    #expect(try fixture.ids(nil, "/v1/objects/r") == [1, 2])
    // The server's token is not restricted: the clause deletes the conflicting row.
    #expect(try fixture.ask(nil, "POST", "/v1/objects/r", #"{"c":"a"}"#).status == 201)
    #expect(try fixture.ids(nil, "/v1/objects/r") == [2, 3])
  }

  @Test("Triggers keep their OR IGNORE and OR REPLACE under access rules", .onlyForFiles)
  func triggers() throws {
    let fixture = try AccessFixture(
      """
      CREATE TABLE word(id TEXT PRIMARY KEY NOT NULL, uses INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE post(id INTEGER PRIMARY KEY, title TEXT);
      CREATE TRIGGER collected AFTER INSERT ON post BEGIN
        INSERT OR IGNORE INTO word(id) VALUES (new.title);
      END;
      CREATE TRIGGER counted AFTER UPDATE ON post BEGIN
        INSERT OR REPLACE INTO word(id, uses) VALUES (new.title, 7);
      END;
      INSERT INTO word(id) VALUES ('a');
      """,
      rules: """
        {"entities":{"post":{"access":{"read":true,"insert":true,"update":true}},
          "word":{"access":{"read":true}}}}
        """)
    let inserted = try fixture.ask("1", "POST", "/v1/objects/post", #"{"title":"a"}"#)
    #expect(inserted.status == 201, "\(inserted.text)")
    let updated = try fixture.ask("1", "PATCH", "/v1/objects/post/1", #"{"title":"a"}"#)
    #expect(updated.status == 200, "\(updated.text)")
    let word = try fixture.ask(nil, "GET", "/v1/objects/word/a")
    #expect(word.json["uses"]?.integer == 7)
  }
}
