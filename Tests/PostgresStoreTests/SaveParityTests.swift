// The same saves over both stores: equal results, equal problems, equal rows afterwards.

import FetchModel
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: saves", .mayBlock)
struct SaveParityTests {
  /// Executes each save on both stores and compares the outcomes with each other and with `expected`.
  private func check(_ cases: [(body: String, expected: [String])]) throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    for (body, expected) in cases {
      let sqlite = try fixture.save(body, to: fixture.sqlite)
      let postgres = try fixture.save(body, to: fixture.postgres)
      #expect(sqlite.map(SaveFixture.short) == expected, "\(body)")
      #expect(postgres == sqlite, "\(body)")
      #expect(try fixture.differences() == [], "\(body)")
    }
  }

  @Test("inserts with temporary ids, updates and deletes have the same results")
  func changes() throws {
    try check([
      (
        """
        {"changes":[
          {"insert":"Country","temporaryID":"c1","values":{"name":"Atlantis","code":"AT"}},
          {"insert":"City","values":{"name":"Poseidonis","country":{"temporaryID":"c1"}}},
          {"update":"City","id":10,"values":{"population":10,"twin":20}},
          {"delete":"City","id":11}]}
        """,
        [
          "c1=3", "1=21", "+2 ~1 -1", "0 Country 3 inserted", "1 City 21 inserted",
          "2 City 10 updated", "3 City 11 deleted",
        ]
      ),
      (
        #"{"changes":[{"insert":"City","values":{"id":90,"name":"Own id","country":1}}]}"#,
        ["0=90", "+1 ~0 -0", "0 City 90 inserted"]
      ),
    ])
  }

  @Test("changes that refer to later inserts, and to each other, are made in the right order")
  func cycles() throws {
    try check([
      (
        """
        {"changes":[
          {"insert":"Country","temporaryID":"c","values":{"name":"New","capital":{"temporaryID":"t"}}},
          {"insert":"City","temporaryID":"t","values":{"name":"Capital","country":{"temporaryID":"c"}}}
        ]}
        """,
        ["c=3", "t=21", "+2 ~0 -0", "0 Country 3 inserted", "1 City 21 inserted"]
      ),
      (
        """
        {"changes":[
          {"insert":"Loop","temporaryID":"a","values":{"next":{"temporaryID":"b"}}},
          {"insert":"Loop","temporaryID":"b","values":{"next":{"temporaryID":"a"}}}]}
        """,
        ["422 0 next circular-reference", "422 1 next circular-reference"]
      ),
    ])
  }

  @Test("to-many changes add, remove and set members, in columns and in join tables")
  func members() throws {
    try check([
      (
        #"{"changes":[{"update":"City","id":10,"values":{"Tag":{"add":["old"],"remove":["big"]}}}]}"#,
        ["+0 ~1 -0", "0 City 10 updated"]
      ),
      (
        #"{"changes":[{"update":"City","id":11,"values":{"Tag":["Zen","big"]}}]}"#,
        ["+0 ~1 -0", "0 City 11 updated"]
      ),
      (
        #"{"changes":[{"update":"Country","id":2,"values":{"City":{"add":[11]}}}]}"#,
        ["+0 ~1 -0", "0 Country 2 updated"]
      ),
      (
        #"{"changes":[{"update":"Country","id":2,"values":{"City":{"remove":[11]}}}]}"#,
        ["422 0 City not-optional"]
      ),
      (
        #"{"changes":[{"update":"City","id":10,"values":{"Tag":{"add":["none"]}}}]}"#,
        ["409 0 Tag no-such-object"]
      ),
    ])
  }

  @Test("every constraint that a change violates is reported, with the same words")
  func constraints() throws {
    try check([
      (
        #"{"changes":[{"insert":"Country","values":{"id":1,"name":"Again","code":"CN"}}]}"#,
        ["409 0 id not-unique", "409 0 code not-unique"]
      ),
      (
        #"{"changes":[{"insert":"City","values":{"name":"Osaka","population":-1,"country":1}}]}"#,
        ["422 0 country not-unique", "422 0 population check-failed"]
      ),
      (
        #"{"changes":[{"insert":"City","values":{"name":"Nowhere","country":99}}]}"#,
        ["409 0 country no-such-object"]
      ),
      (
        #"{"changes":[{"update":"City","id":10,"values":{"twin":99}},{"delete":"Country","id":2}]}"#,
        ["409 0 twin no-such-object", "409 1 City still-referenced"]
      ),
      (
        #"{"changes":[{"update":"City","id":999,"values":{"population":1}}]}"#,
        ["409 0 - no-such-object"]
      ),
      (
        #"{"changes":[{"update":"City","id":99999999999,"values":{"population":1}}]}"#,
        ["409 0 - no-such-object"]
      ),
      (
        #"{"changes":[{"insert":"City","values":{"population":7}}]}"#,
        ["422 0 name missing", "422 0 country missing"]
      ),
      (
        #"{"changes":[{"update":"City","id":10,"values":{"population":3}},"#
          + #"{"insert":"Tag","values":{"id":"big"}}]}"#,
        ["409 1 id not-unique"]
      ),
    ])
  }

  @Test("a value that its column does not take is refused by its name")
  func types() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let body =
      #"{"changes":[{"insert":"Country","values":{"name":"Long","code":"LONG"}},"#
      + #"{"update":"City","id":10,"values":{"population":3000000000}}]}"#
    #expect(
      try fixture.save(body, to: fixture.postgres) == [
        "422 0 code wrong-type: `code` does not take such a value ",
        "422 1 population wrong-type: `population` does not take such a value ",
      ])
  }

  @Test("every value that its column does not take is reported, with what else is wrong")
  func severalTypes() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let connection = try PostgresConnection(fixture.target)
    defer { connection.close() }
    try connection.execute(
      """
      CREATE TABLE "Wide"(id int PRIMARY KEY, a varchar(2), b smallint, c char(2),
        d int CHECK (d > 0), e int UNIQUE, f int);
      INSERT INTO "Wide"(id, e) VALUES (1, 7)
      """)
    let store = try PostgresStore(fixture.target)
    defer { store.close() }
    func outcome(_ values: String) throws -> [String] {
      try fixture.save(
        #"{"changes":[{"insert":"Wide","values":{"id":2,\#(values)}}]}"#, to: store
      ).map(SaveFixture.short).sorted()
    }
    #expect(
      try outcome(#""a":"long","b":70000,"c":"x ","d":-1,"e":7,"f":8"#) == [
        "422 0 a wrong-type", "422 0 b wrong-type", "422 0 d check-failed", "422 0 e not-unique",
      ])
    // The server itself sees that `f` takes no text.
    let text = try outcome(#""a":"long","d":-1,"f":"x""#)
    #expect(text.count == 3, "\(text)")
    #expect(text.prefix(2) == ["422 0 a wrong-type", "422 0 d check-failed"])
    #expect(text.last?.hasPrefix("422 0 f ") == true, "\(text)")
  }

  @Test(
    "a trigger's refusal is a problem of the change, whatever SQLSTATE the trigger chooses",
    arguments: ["P0001", "P4042", "U0001"])
  func triggers(sqlState: String) throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let connection = try PostgresConnection(fixture.target)
    defer { connection.close() }
    try connection.execute(
      """
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'no more logs' USING ERRCODE = '\(sqlState)';
      END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON "Log" FOR EACH ROW EXECUTE FUNCTION refuse();
      """)
    let outcome = try fixture.save(
      #"{"changes":[{"insert":"Log","values":{"number":1}}]}"#, to: fixture.postgres)
    #expect(outcome.count == 1)
    #expect(outcome.first?.hasPrefix("422 0 - ") == true, "\(outcome)")
    #expect(outcome.first?.contains("no more logs") == true, "\(outcome)")
  }

  @Test("deferred foreign keys are checked at the end of the save")
  func deferredKeys() throws {
    try check([
      (
        #"{"changes":[{"insert":"Note","values":{"id":1,"city":200}},"#
          + #"{"insert":"City","values":{"id":200,"name":"Late","country":1}}]}"#,
        ["0=1", "1=200", "+2 ~0 -0", "0 Note 1 inserted", "1 City 200 inserted"]
      ),
      (
        #"{"changes":[{"insert":"Note","values":{"id":2,"city":201}}]}"#,
        ["409 0 city no-such-object"]
      ),
      (
        #"{"changes":[{"insert":"Note","values":{"id":3,"city":202}},"#
          + #"{"insert":"City","values":{"name":"Far","country":1,"Note":[77]}}]}"#,
        ["409 0 city no-such-object", "409 1 Note no-such-object"]
      ),
    ])
  }

  @Test("a batch changes every match, or nothing")
  func batches() throws {
    try check([
      (
        #"{"changes":[{"update":"City","where":"country.name == 'Japan'","values":{"population":1}}]}"#,
        ["+0 ~2 -0"]
      ),
      (
        #"{"changes":[{"update":"City","where":"population == 1","values":{"population":-1}}]}"#,
        ["422 0 population check-failed"]
      ),
      (
        #"{"changes":[{"delete":"City","where":"NONE Tag.id == 'big' AND country == 2"}]}"#,
        ["+0 ~0 -1"]
      ),
      (
        #"{"changes":[{"delete":"Country","where":"id == 1"}]}"#,
        ["409 0 City still-referenced"]
      ),
    ])
  }

  @Test("a batch that gives one member to several objects leaves it to the one with the highest id")
  func batchOfMembers() throws {
    try check([
      (
        #"{"changes":[{"insert":"Note","values":{"id":1}}]}"#,
        ["0=1", "+1 ~0 -0", "0 Note 1 inserted"]
      ),
      (
        #"{"changes":[{"update":"City","where":"country == 1","values":{"Note":[1]}}]}"#,
        ["+0 ~2 -0"]
      ),
      (
        #"{"changes":[{"update":"Note","id":1,"values":{},"base":{"city":11}}]}"#,
        ["+0 ~1 -0", "0 Note 1 updated"]
      ),
    ])
  }

  @Test("a batch over its limit changes nothing")
  func batchLimit() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    for store in [fixture.sqlite, fixture.postgres] as [any Store] {
      #expect(try fixture.batch(store, population: 3, limit: 2) == ["too many 2"])
      #expect(try fixture.batch(store, population: 3, limit: 3) == ["+0 ~3 -0"])
    }
    #expect(try fixture.differences() == [])
  }

  @Test("base values and merge policies hold")
  func bases() throws {
    try check([
      (
        #"{"changes":[{"update":"City","id":10,"values":{"population":4},"base":{"population":9}}]}"#,
        ["+0 ~1 -0", "0 City 10 updated"]
      ),
      (
        #"{"changes":[{"update":"City","id":10,"values":{"population":5},"base":{"population":9}}]}"#,
        ["409 0 population changed"]
      ),
      (
        #"{"mergePolicy":"storeWins","changes":[{"update":"City","id":10,"#
          + #""values":{"population":5,"name":"T"},"base":{"population":9,"name":"Tokyo"}}]}"#,
        ["+0 ~1 -0", "0 City 10 updated"]
      ),
    ])
  }

  @Test("a save with an ETag succeeds until another save changes the object")
  func etags() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    for store in [fixture.sqlite, fixture.postgres] as [any Store] {
      let values = #"{"population":8}"#
      let old = try fixture.etag(of: 10, in: store)
      #expect(try fixture.single(.update, 10, values, .etag([old]), in: store) == ["+0 ~1 -0"])
      #expect(
        try fixture.single(.update, 10, values, .etag([old]), in: store) == ["412 0 - changed"])
      let new = try fixture.etag(of: 10, in: store)
      #expect(try fixture.single(.update, 10, values, .etag([new]), in: store) == ["+0 ~1 -0"])
      #expect(try fixture.single(.update, 999, values, in: store) == ["404 0 - no-such-object"])
    }
    #expect(try fixture.differences() == [])
  }

  @Test("a replacement sets defaults, or inserts the object")
  func replacements() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    for store in [fixture.sqlite, fixture.postgres] as [any Store] {
      let values = #"{"name":"Peking","country":2}"#
      #expect(try fixture.single(.replace, 20, values, .present, in: store) == ["+0 ~1 -0"])
      #expect(try fixture.single(.replace, 20, values, .absent, in: store) == ["412 0 - changed"])
      let other = #"{"name":"New","country":2}"#
      #expect(try fixture.single(.replace, 77, other, in: store) == ["+1 ~0 -0"])
    }
    #expect(try fixture.differences() == [])
  }

  @Test("access rules hold before and after the changes")
  func accessRules() throws {
    let rules = """
      {"access":{"default":true},"entities":{"City":{"access":{"read":"id != 11",
        "update":"country == 1","delete":false,"insert":"population < 100"}}}}
      """
    let cases: [(body: String, expected: [String])] = [
      (
        #"{"changes":[{"update":"City","id":10,"values":{"population":4}}]}"#,
        ["+0 ~1 -0", "0 City 10 updated"]
      ),
      (
        #"{"changes":[{"update":"City","id":20,"values":{"population":4}}]}"#,
        ["403 0 - forbidden"]
      ),
      (
        #"{"changes":[{"update":"City","id":11,"values":{"population":4}}]}"#,
        ["404 0 - no-such-object"]
      ),
      (
        #"{"changes":[{"update":"City","id":10,"values":{"country":2}}]}"#,
        ["403 0 - forbidden"]
      ),
      (#"{"changes":[{"delete":"City","id":10}]}"#, ["403 0 - forbidden"]),
      (
        #"{"changes":[{"insert":"City","values":{"name":"Big","population":200,"country":1}}]}"#,
        ["403 0 - forbidden"]
      ),
      (
        #"{"changes":[{"update":"City","where":"population > 0","values":{"population":6}}]}"#,
        ["403 0 - forbidden"]
      ),
      (
        #"{"changes":[{"update":"City","where":"population < 5","values":{"population":6}}]}"#,
        ["+0 ~1 -0"]
      ),
    ]
    let fixture = try SaveFixture()
    defer { fixture.close() }
    for (body, expected) in cases {
      let sqlite = try fixture.save(body, to: fixture.sqlite, rules: rules)
      #expect(sqlite.map(SaveFixture.short) == expected, "\(body)")
      #expect(try fixture.save(body, to: fixture.postgres, rules: rules) == sqlite, "\(body)")
      #expect(try fixture.differences() == [], "\(body)")
    }
  }

  @Test("a save with an idempotency key is made once and has one response")
  func idempotency() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let body = #"{"changes":[{"insert":"City","values":{"name":"Once","country":1}}]}"#
    for store in [fixture.sqlite, fixture.postgres] as [any Store] {
      #expect(try fixture.save(body, once: "k", "f", to: store) == ["21 false"])
      #expect(try fixture.save(body, once: "k", "f", to: store) == ["21 true"])
      #expect(try fixture.save(body, once: "k", "g", to: store) == ["422 key reused"])
      #expect(try store.storedResponse(under: "k", fingerprint: "f")?.isRepeated == true)
    }
    #expect(try fixture.differences() == [])
  }

  @Test("of saves with one idempotency key at the same time, one is made")
  func concurrentIdempotency() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let body = #"{"changes":[{"insert":"Log","values":{"number":1}}]}"#
    let responses = try fixture.concurrently(8, body, once: "same")
    #expect(responses.filter { !$0.isRepeated }.count == 1)
    #expect(responses.count == 8 && Set(responses.map(\.bytes)).count == 1)
    #expect(try fixture.count("Log") == 1)
  }

  @Test("an idempotent save is repeated when the server has dropped its prepared statements")
  func droppedStatements() throws {
    let fixture = try SaveFixture(connections: 1)
    defer { fixture.close() }
    let body = #"{"changes":[{"insert":"Log","values":{"number":1}}]}"#
    #expect(try fixture.save(body, once: "a", "f", to: fixture.postgres) == ["1 false"])
    try fixture.postgres.pool.withConnection { connection throws(PostgresError) in
      _ = try connection.execute("DEALLOCATE ALL")
    }
    #expect(try fixture.begin(body, once: "b")()?.get().isRepeated == false)
    #expect(try fixture.count("Log") == 2)
  }

  /// Returns true once a statement that begins with `command` waits for a lock.
  private static func isWaiting(
    _ command: String, seenBy connection: PostgresConnection
  ) throws -> Bool {
    try eventually(within: .seconds(60)) {
      try connection.query(
        """
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
          AND wait_event_type = 'Lock' AND query ^@ $1::text
        """, [.text(command)]
      ).integer(0, 0) > 0
    }
  }

  @Test("an idempotent save needs no second connection, however many transactions begin meanwhile")
  func manyTransactionsMeanwhile() throws {
    let fixture = try SaveFixture(connections: 1)
    defer { fixture.close() }
    let holder = try PostgresConnection(fixture.target)
    defer { holder.close() }
    try holder.execute(#"BEGIN; LOCK TABLE "City" IN ACCESS EXCLUSIVE MODE"#)
    let body = #"{"changes":[{"update":"City","id":10,"values":{"population":8}}]}"#
    let result = try fixture.begin(body, once: "k")
    let writer = try PostgresConnection(fixture.target)
    defer { writer.close() }
    #expect(try Self.isWaiting("LOCK TABLE", seenBy: writer))
    for _ in 0..<150 { try writer.execute("SELECT pg_current_xact_id()") }
    try holder.execute("ROLLBACK")
    #expect(try result()?.get().isRepeated == false)
  }

  @Test("a save that has committed succeeds although its token cannot be read and the store closes")
  func unreadableToken() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let holder = try PostgresConnection(fixture.target)
    defer { holder.close() }
    try holder.execute(
      """
      CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock(1); ALTER TABLE livefetch.store RENAME TO hidden;
        RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER hide AFTER INSERT ON "Log" DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION hide()
      """)
    try holder.execute("SELECT pg_advisory_lock(1)")
    let result = try fixture.begin(
      #"{"changes":[{"insert":"Log","values":{"number":1}}]}"#, once: "k")
    #expect(try Self.isWaiting("COMMIT", seenBy: holder))
    fixture.postgres.pool.close()
    try holder.execute("SELECT pg_advisory_unlock(1)")
    #expect(try result()?.get().isRepeated == false)
    #expect(try holder.query(#"SELECT count(*) FROM "Log""#).integer(0, 0) == 1)
  }

  @Test("the token of a save is not newer than a later read")
  func tokens() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let body = #"{"changes":[{"insert":"Log","values":{"number":1}}]}"#
    let token = try #require(try fixture.token(of: body))
    let read = try fixture.postgres.read { transaction throws(StoreError) in transaction.token }
    #expect(token.epoch == read.epoch && token.position <= read.position)
    #expect(fixture.postgres.newestToken.position >= token.position)
  }

  @Test("a snapshot with a transaction contains its changes and no other open or later ones")
  func ownSnapshot() throws {
    let snapshot = PostgresSnapshot(end: 10, inProgress: [5, 7])
    let later = try #require(snapshot.adding(12, most: 2))
    #expect(later == PostgresSnapshot(end: 13, inProgress: [5, 7, 10, 11]))
    #expect(snapshot.adding(5, most: 2) == PostgresSnapshot(end: 10, inProgress: [7]))
    #expect(snapshot.adding(13, most: 2) == nil)
  }

  @Test("saves that write the same row at the same time are made one after the other")
  func concurrency() throws {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let saves = 40
    let results = try fixture.concurrently(saves) { index in
      #"{"changes":[{"update":"City","id":10,"values":{"population":\#(index)}},"#
        + #"{"insert":"Log","values":{"number":\#(index)}}]}"#
    }
    #expect(results.allSatisfy { $0.last == "1 Log" } && results.count == saves)
    #expect(try fixture.count("Log") == saves)
  }
}
