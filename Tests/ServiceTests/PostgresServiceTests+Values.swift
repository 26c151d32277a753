// Values in columns of PostgreSQL: defaults, JSON, texts and ids that cannot be stored, arrays, days and
// decimals.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

extension PostgresServiceTests {
  @Test("A PUT computes the defaults of columns that it leaves out")
  func defaults() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE note(id int PRIMARY KEY, title text, owner text DEFAULT CURRENT_USER,
        at timestamp DEFAULT LOCALTIMESTAMP, state text DEFAULT 'open', number int DEFAULT 1 + 1);
      INSERT INTO note VALUES (1, 'a', 'x', NULL, 'y', 0);
      """)
    let put = try database.ask("PUT", "/v1/objects/note/1", body: #"{"title":"b"}"#)
    #expect(put.status == 200, "\(put.text)")
    #expect(put.json["owner"]?.string == "tester")
    #expect(put.json["at"]?.string?.hasPrefix("20") == true)
    #expect(put.json["state"]?.string == "open")
    #expect(put.json["number"]?.integer == 2)
  }

  @Test(
    "The sum of a very large number and nil is nil",
    arguments: ["1e308 + n", "n + 1e308", "1e308 - n"])
  func largeSums(expression: String) throws {
    let database = try ServedDatabase(
      "CREATE TABLE t(id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, NULL)")
    let query = DictionariesContractTests.encoded("as=dictionaries&select=v:\(expression)")
    let answer = try database.ask("/v1/objects/t?\(query)")
    #expect(answer.text.contains(#"[{"v":null}]"#), "\(answer.text)")
  }

  @Test("The answer to a save has what a trigger at the commit has changed")
  func deferredTrigger() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE n(id int PRIMARY KEY, t text);
      CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN UPDATE n SET t = 'late' WHERE id = NEW.id AND t <> 'late'; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE ON n DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION late();
      """)
    let made = try database.ask("POST", "/v1/objects/n", body: #"{"id":1,"t":"x"}"#)
    #expect(made.text == #"{"id":1,"t":"late"}"#)
    #expect(try database.ask("/v1/objects/n/1")["ETag"] == made["ETag"])
  }

  @Test("The null of a JSON column is nil", arguments: ["json", "jsonb"])
  func jsonNull(type: String) throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int PRIMARY KEY, k \(type));
      INSERT INTO t VALUES (1, NULL), (2, 'null'), (3, '1'), (4, '"null"');
      """)
    for (predicate, ids) in [("k == nil", "[1,2]"), ("k != nil", "[3,4]")] {
      let query = DictionariesContractTests.encoded(predicate)
      let answer = try database.ask("/v1/objects/t?as=ids&sort=id&where=\(query)")
      #expect(answer.text.contains(#""items":\#(ids)}"#), "\(predicate): \(answer.text)")
    }
    let sections = try database.ask("/v1/objects/t?as=ids&section=k&sort=id").text
    #expect(
      sections.contains(#"{"name":"","value":null,"indexTitle":"","items":[1,2]}"#), "\(sections)")
    let groups = try database.ask("/v1/objects/t?as=dictionaries&select=k,n:@count&group=k").text
    #expect(groups.contains(#"{"k":null,"n":2}"#), "\(groups)")
  }

  @Test(
    "Infinite dates and the null of JSON in columns that are NOT NULL are nil in sections",
    arguments: ["section=d:year", "section=j"])
  func nilSections(section: String) throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int PRIMARY KEY, d timestamptz NOT NULL, j jsonb NOT NULL);
      INSERT INTO t SELECT n, '2020-01-01'::timestamptz + n * interval '1 year', to_jsonb(n)
        FROM generate_series(1, 5) AS n;
      INSERT INTO t VALUES (6, 'infinity', 'null'), (7, '-infinity', 'null');
      """)
    let path = "/v1/objects/t?as=ids&sort=id&digest=true&\(section)"
    let first = try database.ask("\(path)&limit=3")
    // Nil comes first.
    #expect(first.text.contains(#""items":[6,7]"#), "\(first.text)")
    let next = try #require(first.json["next"]?.string)
    let rest = try database.ask("\(path)&limit=10&after=\(next)")
    #expect(rest.json["count"]?.integer == 4, "\(rest.text)")
    let token = try #require(database.ask(path).json["token"]?.string)
    try database.runExternally(
      "UPDATE t SET d = 'infinity', j = 'null' WHERE id IN (1, 2);"
        + "INSERT INTO t VALUES (8, '-infinity', 'null')")
    let diff = try database.ask("\(path)&since=\(token)&wait=20")
    #expect(diff.json["digest"] == (try database.ask(path).json["digest"]), "\(diff.text)")
    #expect(diff.json["count"]?.integer == 8, "\(diff.text)")
  }

  @Test("An id and a text that PostgreSQL cannot store are refused, and nothing is cut")
  func impossibleValues() throws {
    let database = try ServedDatabase(Self.fixture)
    for id in ["abc", "a%00b", "%00", "1.5", "1e3", "99999999999999999999", "-", "0x1"] {
      let read = try database.ask("/v1/objects/city/\(id)")
      #expect(read.status == 404, "\(id): \(read.text)")
      let changed = try database.ask("PATCH", "/v1/objects/city/\(id)", body: #"{"name":"x"}"#)
      #expect(changed.status == 404, "\(id): \(changed.text)")
      let set = try database.ask("/v1/objects/city?where=SELF+IN+%7B'\(id)',3%7D&as=ids")
      #expect(set.status == 200 || set.status == 400, "\(id): \(set.text)")
      let saved = try database.ask(
        "POST", "/v1/save",
        body: #"{"changes":[{"update":"city","id":"\#(id)","values":{"name":"x"}}]}"#)
      #expect(saved.status == 404 || saved.status == 409 || saved.status == 422, "\(saved.text)")
    }
    let insert = try database.ask("POST", "/v1/objects/tag", body: #"{"id":9,"word":"a\u0000b"}"#)
    #expect(insert.status == 422, "\(insert.text)")
    #expect(insert.text.contains(#""property":"word","code":"wrong-type""#), "\(insert.text)")
    let update = try database.ask("PATCH", "/v1/objects/tag/1", body: #"{"word":"big\u0000b"}"#)
    #expect(update.status == 422)
    let text = #""big\u0000b""#
    for (condition, value) in [
      ("word == $x", text), ("$x == word", text), ("word < $x", text), ("word CONTAINS $x", text),
      ("word BEGINSWITH $x", text), ("word LIKE $x", text), ("word MATCHES $x", text),
      ("word IN $x", "[\(text),\"new\"]"),
    ] {
      let found = try database.ask(
        "POST", "/v1/fetch",
        body: #"{"entity":"tag","where":"\#(condition)","variables":{"x":\#(value)}}"#)
      #expect(
        found.status == 501 || found.text.contains(#""count":0,"#), "\(condition): \(found.text)")
    }
    #expect(try database.ask("/v1/objects/tag?as=count").text.contains(#""total":2"#))
  }

  @Test("JSON arrays are saved in columns of arrays, and a column of days refuses a time")
  func arraysAndDays() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int PRIMARY KEY, a int[], w text[], f float8[], b bool[], d date);
      INSERT INTO t VALUES (1, '{1,2}', '{x}', NULL, NULL, '2024-02-01');
      """)
    func patch(_ body: String) throws -> Answer {
      try database.ask("PATCH", "/v1/objects/t/1", body: body)
    }
    for (name, value) in [
      ("a", "[1,null,-3]"), ("a", "[]"), ("a", "[[1,2],[3,4]]"), ("a", "null"),
      ("w", #"["a b","","NULL",null,"{,}","back\\slash","q\"uote","é\n"]"#),
      ("w", #"["a\\́b","a\"́b"]"#), ("f", "[0.5,1e+300]"),
      ("b", "[true,false,null]"),
    ] {
      let saved = try patch("{\"\(name)\":\(value)}")
      #expect(saved.status == 200, "\(value): \(saved.text)")
      #expect(saved.text.contains("\"\(name)\":\(value)"), "\(value): \(saved.text)")
    }
    for body in [
      #"{"a":["x"]}"#, #"{"a":[1.5]}"#, #"{"a":{"x":1}}"#, #"{"a":[[1],[2,3]]}"#, #"{"a":1}"#,
      #"{"a":[{}]}"#, #"{"b":[2]}"#,
    ] {
      let refused = try patch(body)
      #expect(refused.status == 422, "\(body): \(refused.text)")
    }
    let time = try patch(#"{"d":"2024-02-01T10:00:00Z"}"#)
    #expect(time.status == 422)
    #expect(time.text.contains(#""property":"d","code":"out-of-range""#), "\(time.text)")
    #expect(try patch(#"{"d":"2024-02-03T00:00:00Z"}"#).status == 200)
    let found = try database.ask("/v1/objects/t?where=d=='2024-02-03T00:00:00Z'&select=d")
    #expect(found.text.contains(#""items":[{"id":1,"d":"2024-02-03T00:00:00Z"}]"#), "\(found.text)")
  }

  @Test("An array of JSON can be written back as it is shown", arguments: ["json", "jsonb"])
  func arraysOfJSON(type: String) throws {
    let database = try ServedDatabase(
      "CREATE TABLE t(id int PRIMARY KEY, a \(type)[]); INSERT INTO t VALUES (1, NULL);")
    for value in [
      "[1,null,-3.5]", "[]", "null", "[true,false]", #"["1","","x y","null"]"#,
      #"[{"a":1},[1,2],[]]"#, #"["q\"uote","back\\slash","{,}","é\n"]"#,
    ] {
      let saved = try database.ask("PATCH", "/v1/objects/t/1", body: "{\"a\":\(value)}")
      #expect(saved.status == 200, "\(value): \(saved.text)")
      let shown = try #require(saved.json["a"])
      #expect(shown == (try JSON(parsing: Array(value.utf8))), "\(value): \(saved.text)")
    }
    try database.runExternally(
      #"UPDATE t SET a = '{"1","\"1\"","{\"k\": [1, null]}","null",NULL}' WHERE id = 1"#)
    let value = #"[1,"1",{"k":[1,null]},null,null]"#
    let expected = try JSON(parsing: Array(value.utf8))
    let before = try database.ask("/v1/objects/t/1")
    #expect(before.json["a"] == expected, "\(before.text)")
    let back = try database.ask("PATCH", "/v1/objects/t/1", body: "{\"a\":\(value)}")
    #expect(back.json["a"] == expected, "\(back.text)")
    for body in [#"{"a":{"x":1}}"#, #"{"a":1}"#, #"{"a":"[]"}"#] {
      let refused = try database.ask("PATCH", "/v1/objects/t/1", body: body)
      #expect(refused.status == 422, "\(body): \(refused.text)")
    }
  }

  @Test("A text that is too long for its column is refused and not cut")
  func longTexts() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int PRIMARY KEY, c "char", n name, v varchar(2));
      INSERT INTO t VALUES (1, 'a', 'a', 'a');
      """)
    for (name, value) in [
      ("c", "bc"), ("c", "é"), ("n", String(repeating: "x", count: 64)), ("v", "abc"),
    ] {
      let body = "{\"\(name)\":\"\(value)\"}"
      let refused = try database.ask("PATCH", "/v1/objects/t/1", body: body)
      #expect(refused.status == 422, "\(name): \(refused.text)")
      let problem = #""property":"\#(name)","code":"wrong-type""#
      #expect(refused.text.contains(problem), "\(refused.text)")
    }
    let saved = try database.ask("PATCH", "/v1/objects/t/1", body: #"{"c":"b"}"#)
    #expect(saved.text.contains(#""c":"b","n":"a","v":"a""#), "\(saved.text)")
  }

  @Test("a numeric column keeps every digit of a saved decimal, and is compared in full")
  func decimals() throws {
    let database = try ServedDatabase(
      "CREATE TABLE t(id int PRIMARY KEY, n numeric); INSERT INTO t VALUES (1, 1.50);")
    for (read, given) in [
      ("1.5", "98765432109876543210.0123456789"), ("98765432109876543210.0123456789", "-0.1"),
    ] {
      let saved = try database.ask(
        "POST", "/v1/save",
        body: """
          {"changes":[{"update":"t","id":1,"values":{"n":\(given)},"base":{"n":\(read)}}]}
          """)
      #expect(saved.status == 200, "\(saved.text)")
      #expect(try database.ask("/v1/objects/t/1").text == "{\"id\":1,\"n\":\(given)}")
    }
  }
}
