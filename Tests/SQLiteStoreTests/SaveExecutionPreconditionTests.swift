// ETags, base values, merge policies and batches.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Save execution: preconditions and merge policies", .mayBlock)
struct SaveExecutionPreconditionTests {
  private func etag(_ fixture: SaveExecutionFixture, _ id: Int) throws -> String {
    let table = fixture.schema.entities[1]
    let sql = "SELECT \(table.etagExpression(nil)) FROM City WHERE id = \(id)"
    return try #require(try fixture.connection.first(sql) { $0.text(0) })
  }

  private func problems(_ body: () throws -> Void) -> [ChangeProblem] {
    do {
      try body()
      return []
    } catch SaveError.conflicts(let problems) {
      return problems
    } catch SaveError.preconditionFailed(let problem) {
      return [problem]
    } catch {
      Issue.record(error)
      return []
    }
  }

  private func versions(_ problem: ChangeProblem) -> [String?] {
    [problem.stored, problem.given].map { $0.map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test("an ETag accepts an unchanged object and refuses a changed one")
  func etags() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let seen = try etag(fixture, 10)
    try fixture.single(.update, "City", .integer(10), #"{"population":1}"#, .etag(["x", seen]))
    let update = {
      _ = try fixture.single(.update, "City", .integer(10), #"{"population":2}"#, .etag([seen]))
    }
    #expect(try fixture.refusal(update) == ["412 0 - changed"])
    #expect(
      versions(try #require(problems(update).first)) == [
        #"{"id":10,"name":"Tokyo","population":1,"country":1,"twin":null}"#, #"{"population":2}"#,
      ])
    let delete = { _ = try fixture.single(.delete, "City", .integer(10), nil, .etag([seen])) }
    #expect(try fixture.refusal(delete) == ["412 0 - changed"])
    #expect(versions(try #require(problems(delete).first))[1] == nil)
    #expect(
      try fixture.refusal {
        try fixture.single(.delete, "City", .integer(99), nil, .etag([seen]))
      } == ["404 0 - no-such-object"])
    try fixture.single(.delete, "City", .integer(10), nil, .etag([try etag(fixture, 10)]))
  }

  @Test("in a save all conflicts are listed, and `overwrite` ignores them")
  func savedETags() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let changes = """
      "changes":[{"update":"City","id":10,"values":{"population":1,"twin":11},"ifMatch":"\\"a\\""},
        {"update":"City","id":11,"values":{"population":3}},
        {"delete":"City","id":20,"ifMatch":"\\"b\\""}]
      """
    #expect(try fixture.refusal("{\(changes)}") == ["409 0 - changed", "409 2 - changed"])
    #expect(
      try fixture.save("{\(changes),\"mergePolicy\":\"overwrite\"}").summary == "+0 ~2 -1")
  }

  @Test("a replacement can require that an object exists, or that it does not")
  func presence() throws {
    let fixture = try SaveExecutionFixture("CREATE TABLE t(id INTEGER PRIMARY KEY, a INT)")
    let put = { (id: Int64, precondition: Precondition) in
      try fixture.refusal {
        try fixture.single(.replace, "t", .integer(id), #"{"a":1}"#, precondition)
      }
    }
    #expect(try put(1, .present) == ["412 0 - changed"])
    #expect(try put(1, .etag(["x"])) == ["412 0 - changed"])
    #expect(try put(1, .absent) == [])
    #expect(try put(1, .absent) == ["412 0 - changed"])
    #expect(try put(1, .present) == [])
  }

  @Test("base values are compared one by one, both versions named")
  func base() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let body = """
      {"changes":[
        {"update":"City","id":10,"values":{"name":"Edo","population":7,"country":2},
          "base":{"name":"Tokyo","population":8,"country":2,"twin":11}},
        {"update":"City","id":11,"values":{"population":3},"base":{"population":2,"name":"Osaka"}},
        {"delete":"City","id":20,"base":{"population":17}}]}
      """
    let found = problems { try fixture.save(body) }
    #expect(
      found.map { "\($0.change) \($0.property ?? "-")" }
        == [
          "0 population", "0 country", "0 twin", "2 population",
        ])
    #expect(found.map(versions) == [["9", "7"], ["1", "2"], ["null", "11"], ["18", "17"]])
  }

  @Test("storeWins keeps other saves' values, objectWins does not, property by property")
  func policies() throws {
    func outcome(_ policy: String) throws -> [String] {
      let fixture = try SaveExecutionFixture(sampleSQL)
      let result = try fixture.save(
        """
        {"mergePolicy":"\(policy)","changes":[
          {"update":"City","id":10,"values":{"name":"Edo","population":7},
            "base":{"name":"Tokyo","population":8}},
          {"delete":"City","id":20,"base":{"population":17}}]}
        """)
      return [result.summary] + (try fixture.rows("SELECT name, population FROM City ORDER BY id"))
    }
    #expect(
      try outcome("storeWins") == ["+0 ~1 -0", "'Edo'|9", "'Osaka'|2", "'Beijing'|18"])
    #expect(try outcome("objectWins") == ["+0 ~1 -1", "'Edo'|7", "'Osaka'|2"])
    #expect(try outcome("overwrite") == ["+0 ~1 -1", "'Edo'|7", "'Osaka'|2"])
  }

  @Test("base values of every type equal the stored ones in any notation")
  func baseTypes() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, r REAL, b BOOLEAN, d DECIMAL, x BLOB, j JSON,
        at DATETIME, day DATE, s TEXT, n INT, t_id INT REFERENCES t);
      INSERT INTO t VALUES (1, 2.0, 1, 1.5, x'0001', '{"a": 1, "b": [2]}', 1700000000.25,
        '2024-01-31', 'é', NULL, 2), (2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1);
      """)
    let base = """
      {"r":2,"b":true,"d":1.50,"x":"AAE=","j":{"b":[2],"a":1},"at":"2023-11-14T22:13:20.250Z",
       "day":"2024-01-31T00:00:00Z","s":"\\u00e9","n":null,"t":2,"t_":[2]}
      """
    #expect(
      try fixture.refusal(
        #"{"changes":[{"update":"t","id":1,"values":{"n":1},"base":\#(base)}]}"#) == [])
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"update":"t","id":1,"values":{},"base":{"r":2.1,"b":false,"d":1.51,
         "x":"AAI=","j":{"a":1},"at":null,"day":"2024-02-01","s":"e","n":2,"t":1,"t_":[]}}]}
        """)
        == [
          "r", "b", "d", "x", "j", "at", "day", "s", "n", "t", "t_",
        ].map { "409 0 \($0) changed" })
  }

  @Test("a postponed link is set correctly if storeWins drops other values")
  func waitingLinks() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    try fixture.save(
      """
      {"mergePolicy":"storeWins","changes":[
        {"update":"City","id":10,"values":{"population":7,"twin":{"temporaryID":"t"},"name":"Edo"},
          "base":{"population":8}},
        {"insert":"City","temporaryID":"t","values":{"name":"B","country":2}}]}
      """)
    #expect(try fixture.rows("SELECT * FROM City WHERE id = 10") == ["10|'Edo'|9|1|21"])
  }

  @Test("the refused values are shown as clients write them")
  func givenJSON() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, d DECIMAL TEXT, x BLOB, at DATETIME, j JSON,
        b BOOLEAN, t_id INT REFERENCES t);
      INSERT INTO t(id) VALUES (1);
      """)
    let found = problems {
      try fixture.save(
        """
        {"changes":[{"update":"t","id":1,"ifMatch":"\\"x\\"","values":{
          "d":0.12345678901234567890,"x":"AAE=","at":"2024-01-31","j":[1],"b":true,
          "t":{"temporaryID":"n"},"t_":{"add":[1]}}},
          {"insert":"t","temporaryID":"n"}]}
        """)
    }
    #expect(
      versions(try #require(found.first)) == [
        #"{"id":1,"d":null,"x":null,"at":null,"j":null,"b":null,"t":null}"#,
        #"{"d":0.12345678901234567890,"x":"AAE=","at":"2024-01-31T00:00:00Z","j":[1],"b":true,"#
          + #""t":{"temporaryID":"n"},"t_":{"add":[1],"remove":[]}}"#,
      ])
  }

  @Test("values changed to the same value are not a conflict")
  func sameChange() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"update":"City","id":10,"values":{"population":9},"base":{"population":1}}]}
        """) == [])
  }
}

@Suite("Save execution: batches", .mayBlock)
struct SaveExecutionBatchTests {
  private func predicate(
    _ fixture: SaveExecutionFixture, _ text: String, _ entity: Int
  ) throws -> ResolvedPredicate {
    try ResolvedPredicate(parsing: text, entity: entity, model: fixture.model)
  }

  private func update(
    _ fixture: SaveExecutionFixture, _ entity: String, _ text: String, _ values: String,
    limit: Int? = nil
  ) throws -> SaveRequest {
    let index = try #require(fixture.model.entityIndex(named: entity))
    var request = try SaveResolver(model: fixture.model).batch(
      entity: index, values: JSON(parsing: Array(values.utf8)),
      where: predicate(fixture, text, index))
    request.maxAffected = limit
    return request
  }

  private func delete(
    _ fixture: SaveExecutionFixture, _ entity: String, _ text: String, limit: Int? = nil
  ) throws -> SaveRequest {
    let index = try #require(fixture.model.entityIndex(named: entity))
    var request = SaveRequest(changes: [
      Change(.deleteAll(try predicate(fixture, text, index)), entity: index)
    ])
    request.maxAffected = limit
    return request
  }

  @Test("one statement updates all that match, through relationships too")
  func updates() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let request = try update(
      fixture, "City", "country.code == 'JP'", #"{"population":0,"twin":20}"#)
    let result = try fixture.execute(request)
    #expect(result.summary == "+0 ~2 -0")
    #expect(result.objects.isEmpty)
    #expect(
      try fixture.rows("SELECT id, population, twin_id FROM City ORDER BY id")
        == ["10|0|20", "11|0|20", "20|18|NULL"])
  }

  @Test("one statement deletes all that match; TRUEPREDICATE is all")
  func deletes() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    #expect(try fixture.execute(delete(fixture, "City", "population < 10")).summary == "+0 ~0 -2")
    #expect(try fixture.execute(delete(fixture, "City", "TRUEPREDICATE")).summary == "+0 ~0 -1")
    #expect(try fixture.execute(delete(fixture, "City", "TRUEPREDICATE")).summary == "+0 ~0 -0")
  }

  @Test("more than the limit changes nothing")
  func limits() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let all = "TRUEPREDICATE"
    #expect(
      try fixture.refusal { try fixture.execute(delete(fixture, "City", all, limit: 2)) }
        == ["too many 2"])
    #expect(
      try fixture.refusal {
        try fixture.execute(update(fixture, "City", all, #"{"population":1}"#, limit: 0))
      } == ["too many 0"])
    #expect(
      try fixture.execute(update(fixture, "City", all, #"{"population":1}"#, limit: 3)).updated == 3
    )
    #expect(try fixture.execute(delete(fixture, "City", all, limit: .max)).deleted == 3)
  }

  @Test("composite and text keys, and to-many values for each object")
  func otherKeys() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE pair(a TEXT, b INT, n INT, PRIMARY KEY(a, b));
      CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE pair_tag(a TEXT, b INT, tag REFERENCES tag,
        FOREIGN KEY(a, b) REFERENCES pair);
      INSERT INTO pair VALUES ('x', 1, 1), ('y', 1, 2), ('z', 1, 3), (NULL, 1, 3);
      INSERT INTO tag VALUES ('t');
      """)
    #expect(
      try fixture.execute(update(fixture, "pair", "n > 1", #"{"n":9,"tag":["t"]}"#)).updated == 2)
    #expect(
      try fixture.rows("SELECT * FROM pair_tag ORDER BY a") == ["'y'|1|'t'", "'z'|1|'t'"])
    #expect(
      try fixture.rows("SELECT * FROM pair ORDER BY a")
        == ["NULL|1|3", "'x'|1|1", "'y'|1|9", "'z'|1|9"])
    #expect(try fixture.execute(update(fixture, "pair", "n > 1", #"{"tag":[]}"#)).updated == 2)
    #expect(try fixture.execute(delete(fixture, "pair", "n == 9")).deleted == 2)
    #expect(
      try fixture.refusal { try fixture.execute(update(fixture, "pair", "n == 1", #"{"b":2}"#)) }
        == ["422 0 b not-writable"])
  }

  @Test("constraints refuse a batch as a whole, by property")
  func refusals() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let all = "TRUEPREDICATE"
    #expect(
      try fixture.refusal { try fixture.execute(update(fixture, "Country", all, #"{"code":"X"}"#)) }
        == ["409 0 code not-unique"])
    #expect(
      try fixture.refusal { try fixture.execute(update(fixture, "City", all, #"{"country":9}"#)) }
        == ["409 0 country no-such-object"])
    #expect(
      try fixture.refusal {
        try fixture.execute(update(fixture, "City", all, #"{"population":-1}"#))
      }
        == ["422 0 population check-failed"])
    #expect(
      try fixture.refusal { try fixture.execute(delete(fixture, "Country", "code == 'CN'")) }
        == ["409 0 City still-referenced"])
    #expect(try fixture.rows("SELECT count(*) FROM City") == ["3"])
  }
}
