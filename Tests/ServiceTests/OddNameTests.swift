// Columns whose names have a meaning in a parameter's grammar, and keys of another type than their
// column declares.

import Bytes
import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Odd names and keys", .mayBlock)
struct OddNameTests {
  static let fixture = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, "a.b" INTEGER, "-c" INTEGER, "d:e" INTEGER, "f g" INTEGER,
      c INTEGER, "x:cd" TEXT);
    INSERT INTO t VALUES (1,3,1,2,1,9,'b'),(2,2,2,1,2,8,'A'),(3,1,3,3,3,7,'c');
    CREATE TABLE k(code INT PRIMARY KEY, v TEXT);
    INSERT INTO k VALUES (1,'one'),('x y','two'),(2.5,'three');
    CREATE TABLE b(flag BOOLEAN PRIMARY KEY, v TEXT);
    INSERT INTO b VALUES (1,'yes'),('maybe','perhaps');
    CREATE TABLE owner(id UUID PRIMARY KEY, name TEXT);
    CREATE TABLE thing(id INTEGER PRIMARY KEY, owner_id UUID REFERENCES owner(id));
    INSERT INTO owner VALUES (X'550E8400E29B41D4A716446655440001','a'),
      (X'550E8400E29B41D4A716446655440002','b');
    INSERT INTO thing VALUES (1,X'550E8400E29B41D4A716446655440001'),
      (2,X'550E8400E29B41D4A716446655440002'),(3,NULL);
    """

  @Test(
    "A table with a column called true is not followed, and the other tables are", .onlyForFiles,
    arguments: ["true", "False"])
  func truth(name: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE q(id INTEGER PRIMARY KEY, n INTEGER, "\(name)" TEXT);
      CREATE TABLE other(id INTEGER PRIMARY KEY, n INTEGER);
      INSERT INTO q VALUES (1, 1, 'a'); INSERT INTO other VALUES (1, 1);
      """)
    let token = try #require(file.ask("/v1/objects/other").json["token"]?.string)
    #expect(try file.ask("PATCH", "/v1/objects/q/1", body: #"{"n":5}"#).status == 200)
    #expect(try file.ask("PATCH", "/v1/objects/other/1", body: #"{"n":2}"#).status == 200)
    let plain = try file.ask("/v1/objects/q?select=\(name),n")
    #expect(plain.text.contains("{\"id\":1,\"\(name)\":\"a\",\"n\":5}"), "\(plain.text)")
    let refused = try file.ask("/v1/objects/q?since=\(token)&wait=0")
    #expect(refused.status == 400)
    #expect(refused.code == "not-observable")
    let diff = try file.ask("/v1/objects/other?since=\(token)&wait=0")
    #expect(diff.text.contains(#""changed":{"n":2}"#), "\(diff.text)")
  }

  @Test(
    "A column called true or false does not change what always or never holds", .onlyForFiles,
    arguments: [
      ("t", "FALSEPREDICATE", "[]"), ("t", "1 == 2", "[]"), ("t", "x IN {}", "[]"),
      ("t", "id != nil", "[1,2,3]"), ("t", "u.@count != nil", "[1,2,3]"),
      ("t", "x > 0 AND id != nil", "[1,3]"), ("u", "t.x IN {}", "[]"),
      ("u", "ALL t.u.x > t.x", "[1,3]"), ("u", "x > min({t.x})", "[1]"),
      ("u", "max({x, t.x}) == 5", "[1,2]"), ("u", "NOT (t.x >= 2)", "[1,2,3]"),
    ])
  func truthInPredicates(entity: String, predicate: String, ids: String) throws {
    let file = try ServedFile(Self.truths)
    let condition = PercentEncoding.encodeComponent(predicate)
    let items = try file.ask("/v1/objects/\(entity)?as=ids&where=\(condition)")
    #expect(items.text.contains("\"items\":\(ids)"), "\(items.text)")
  }

  @Test(
    "A column called true or false does not change pages, and deletes nothing more", .onlyForFiles)
  func truthInPages() throws {
    let file = try ServedFile(Self.truths)
    for sort in ["-x", "x:nullslast", "-t.x"] {
      var (pages, next) = ([String](), "")
      repeat {
        let page = try file.ask("/v1/objects/u?as=ids&limit=1&sort=\(sort)\(next)")
        try #require(page.status == 200 && pages.count < 5, "\(sort): \(page.text)")
        pages.append(page.text.contains("\"items\":[]") ? "" : page.text)
        next = page.json["next"]?.string.map { "&after=\($0)" } ?? ""
      } while !next.isEmpty
      #expect(pages.filter { !$0.isEmpty }.count == 3, "\(sort)")
    }
    let deleted = try file.ask("DELETE", "/v1/objects/t?where=x%20IN%20%7B%7D")
    #expect(deleted.json["deleted"]?.integer == 0, "\(deleted.text)")
    #expect(try file.ask("/v1/objects/t?as=count").json["total"]?.integer == 3)
  }

  private static let truths = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, "true" INT, "false" INT, x INT);
    INSERT INTO t VALUES (1, NULL, 1, 1), (2, 0, 1, NULL), (3, 1, 0, 3);
    CREATE TABLE u(id INTEGER PRIMARY KEY, "true" INT, "False" INT, x INT, t INT REFERENCES t(id));
    INSERT INTO u VALUES (1, 0, 1, 5, 1), (2, 0, 1, 5, 2), (3, 0, 1, NULL, NULL);
    """

  @Test("A row whose foreign key is binary expands to nothing", .onlyForFiles)
  func binaryForeignKey() throws {
    let file = try ServedFile(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, n TEXT);
      CREATE TABLE p(id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES city(id));
      INSERT INTO city VALUES (1, 'a');
      """)
    try file.runExternally("INSERT INTO p VALUES (1, 1), (2, x'616263'), (3, x'')")
    try file.settle()
    let expanded = try file.ask("/v1/objects/p?expand=city")
    #expect(expanded.status == 200, "\(expanded.text)")
    #expect(
      expanded.text.contains(#""included":{"city":{"1":{"id":1,"n":"a"}}}"#), "\(expanded.text)")
  }

  @Test("A link table with a column called true is an entity that is not followed", .onlyForFiles)
  func linkedTruth() throws {
    let file = try ServedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, n INTEGER);
      CREATE TABLE ab(a INTEGER REFERENCES a(id), "true" INTEGER REFERENCES a(id),
        PRIMARY KEY (a, "true"));
      INSERT INTO a VALUES (1, 1), (2, 2); INSERT INTO ab VALUES (1, 2);
      """)
    let token = try #require(file.ask("/v1/objects/a?select=n").json["token"]?.string)
    try file.runExternally("INSERT INTO ab VALUES (2, 1); UPDATE a SET n = 3 WHERE id = 1")
    try file.settle()
    #expect(try file.ask("/v1/objects/ab?as=count").json["total"]?.integer == 2)
    #expect(try file.ask("/v1/objects/ab?since=\(token)&wait=0").code == "not-observable")
    let diff = try file.ask("/v1/objects/a?select=n&since=\(token)&wait=0")
    #expect(diff.text.contains(#""changed":{"n":3}"#), "\(diff.text)")
  }

  /// Fetch → the items.
  private static let fetches: [(fetch: String, items: String)] = [
    ("t?as=ids&sort=a.b", "[3,2,1]"), ("t?as=ids&sort=-a.b", "[1,2,3]"),
    ("t?as=ids&sort=-c", "[1,2,3]"), ("t?as=ids&sort=--c", "[3,2,1]"),
    ("t?as=ids&sort=d:e", "[2,1,3]"), ("t?as=ids&sort=-d:e:nullslast", "[3,1,2]"),
    ("t?as=ids&sort=f+g", "[1,2,3]"), ("t?as=ids&sort=x:cd:cd", "[2,1,3]"),
    ("t?as=ids&where=%23%22a.b%22==2", "[2]"), ("t?as=ids&where=%23'-c'==2", "[2]"),
    ("t?as=ids&where=%23%22f+g%22+IN+%7B1,3%7D+AND+%23'd:e'<3", "[1]"),
    ("t?as=ids&where=%23%22a.b%22+%2B+%23%22f+g%22+%3D%3D+4", "[1,2,3]"),
    ("t?as=ids&where=%23%22x:cd%22+CONTAINS%5Bc%5D+'a'", "[2]"),
    ("thing?as=ids&where=%23%22owner.name%22=='b'", "[2]"),
    ("thing?as=ids&where=owner.%23%22name%22=='b'", "[2]"),
    ("t?as=dictionaries&select=n:@sum.%23%22a.b%22,m:@max.%23'f+g'", #"[{"n":6,"m":3}]"#),
    (
      "t?as=dictionaries&select=f+g,n:@count&group=f+g&having=%23%22f+g%22>1",
      #"[{"f g":2,"n":1},{"f g":3,"n":1}]"#
    ),
    (
      "t?as=dictionaries&select=d:e,n:@count&group=d:e&sort=-d:e",
      #"[{"d:e":3,"n":1},{"d:e":2,"n":1},{"d:e":1,"n":1}]"#
    ),
    ("t?as=dictionaries&group=-c&sort=-c", #"[{"-c":1},{"-c":2},{"-c":3}]"#),
    ("t?as=dictionaries&group=-c&sort=--c", #"[{"-c":3},{"-c":2},{"-c":1}]"#),
    (
      "t?as=dictionaries&group=x:cd&sort=x:cd:cd", #"[{"x:cd":"A"},{"x:cd":"b"},{"x:cd":"c"}]"#
    ),
    ("t?as=dictionaries&select=id&sort=d:e", #"[{"id":2},{"id":1},{"id":3}]"#),
    ("t?as=ids&where=%25K==2&arg=a.b", "[2]"), ("t?as=ids&where=%25K==2&arg=-c", "[2]"),
    ("t?select=a.b,-c,d:e&limit=1", #"[{"id":1,"a.b":3,"-c":1,"d:e":2}]"#),
    (
      "owner?sort=name&select=name,thing",
      #"[{"id":"550E8400-E29B-41D4-A716-446655440001","name":"a","thing":[1]},"#
        + #"{"id":"550E8400-E29B-41D4-A716-446655440002","name":"b","thing":[2]}]"#
    ),
    (
      "thing?where=id==1",
      #"[{"id":1,"owner":"550E8400-E29B-41D4-A716-446655440001"}]"#
    ),
    ("thing?as=ids&where=owner=='550E8400-E29B-41D4-A716-446655440002'", "[2]"),
    ("thing?as=ids&where=owner==%25@&arg=550E8400-E29B-41D4-A716-446655440002", "[2]"),
    ("thing?as=ids&where=owner.name=='b'", "[2]"), ("thing?as=ids&sort=-owner", "[2,1,3]"),
    (
      "owner?as=ids&where=SELF+IN+%7B'550E8400-E29B-41D4-A716-446655440002'%7D",
      #"["550E8400-E29B-41D4-A716-446655440002"]"#
    ),
    (
      "owner?as=ids&where=ANY+thing==1", #"["550E8400-E29B-41D4-A716-446655440001"]"#
    ),
  ]

  @Test("a column or a key of any kind is addressed by its name")
  func isAddressedByItsName() throws {
    let file = try ServedFile(Self.fixture)
    for (fetch, items) in Self.fetches {
      let answer = try file.ask("/v1/objects/\(fetch)")
      #expect(answer.text.contains("\"items\":\(items)}"), "\(fetch): \(answer.text)")
    }
  }

  @Test(
    "a fetch that names a column in quotes is followed, and its numbers are not those of the name")
  func aNameInQuotesIsFollowed() throws {
    let file = try ServedFile(
      """
      CREATE TABLE line(id INTEGER PRIMARY KEY, "Line 2" INTEGER, "Line 3" INTEGER);
      INSERT INTO line VALUES (1, 2, 7), (2, 3, 5);
      """)
    func fetch(_ name: String, _ rest: String = "") -> String {
      "/v1/objects/line?as=ids&where=%23%22\(name)%22+%3D%3D+2\(rest)"
    }
    #expect(try file.ask(fetch("Line+3")).text.contains(#""items":[]"#))
    let held = try file.ask(fetch("Line+2"))
    #expect(held.text.contains(#""items":[1]"#))
    let token = try #require(held.json["token"]?.string)
    let body = #"{"Line 2":2}"#
    #expect(try file.ask("PATCH", "/v1/objects/line/2", body: body).status == 200)
    let diff = try file.ask(fetch("Line+2", "&since=\(token)&wait=20"))
    #expect(diff.text.contains(#""inserted":[{"to":[0,1],"id":2}]"#), "\(diff.text)")
  }

  @Test("a name in quotes is refused like another one")
  func aNameInQuotesIsRefused() throws {
    let file = try ServedFile(Self.fixture)
    for (predicate, code) in [
      ("%23%22a.x%22==1", "unknown-key-path"), ("%23%22f+g==1", "syntax-error"),
      ("%23%22%22==1", "unknown-key-path"), ("%23%22thing.x%22==1", "unknown-key-path"),
    ] {
      let answer = try file.ask("/v1/objects/t?where=\(predicate)")
      #expect(answer.status == 400)
      #expect(answer.code == code, "\(predicate): \(answer.text)")
    }
  }

  @Test func anObjectIsFoundByTheIdThatItIsListedUnder() throws {
    let file = try ServedFile(Self.fixture)
    for (path, value) in [
      ("k/1", "one"), ("k/x%20y", "two"), ("b/1", "yes"), ("b/maybe", "perhaps"),
    ] {
      #expect(try file.ask("/v1/objects/\(path)").json["v"]?.string == value, "\(path)")
    }
    #expect(try file.ask("/v1/objects/k/01").code == "unknown-id")
    #expect(try file.ask("PATCH", "/v1/objects/k/x%20y", body: #"{"v":"new"}"#).status == 200)
    #expect(try file.ask("/v1/objects/k/x%20y/v").text == "new")
  }

  @Test(
    "a fraction in the key of a number is compared as the text that a snapshot has for its id",
    .onlyForFiles)
  func fractionsAsIDs() throws {
    let file = try ServedFile(
      """
      CREATE TABLE price(amount DECIMAL(10,4) PRIMARY KEY, name TEXT);
      CREATE TABLE offer(id INTEGER PRIMARY KEY, price DECIMAL REFERENCES price(amount));
      INSERT INTO price VALUES (0.5, 'half'), (2, 'two');
      INSERT INTO offer VALUES (1, 0.5), (2, 2);
      """)
    for (fetch, items) in [
      ("price?as=ids", #"["0.5",2]"#), ("price?as=ids&where=SELF==%220.5%22", #"["0.5"]"#),
      ("price?as=ids&where=id==%25@&arg=0.5", #"["0.5"]"#),
      ("price?as=ids&where=SELF+IN+%7B%220.5%22,%222%22%7D", #"["0.5",2]"#),
      ("price?as=ids&where=SELF!=%220.5%22", "[2]"),
      ("offer?as=ids&where=price==%220.5%22", "[1]"),
    ] {
      let answer = try file.ask("/v1/objects/\(fetch)")
      #expect(answer.text.contains("\"items\":\(items)}"), "\(fetch): \(answer.text)")
    }
    for text in ["0.50", "02"] {
      let answer = try file.ask("/v1/objects/price?where=SELF==%22\(text)%22")
      #expect(answer.code == "type-mismatch", "\(text): \(answer.text)")
    }
    // Such a key may hold texts.
    for text in ["nan", "half"] {
      let answer = try file.ask("/v1/objects/price?as=ids&where=SELF==%22\(text)%22")
      #expect(answer.text.contains(#""items":[]}"#), "\(text): \(answer.text)")
    }
  }

  @Test func aUUIDOfSixteenBytesIsAnIDInEitherCase() throws {
    let file = try ServedFile(Self.fixture)
    let path = "/v1/objects/owner/550e8400-e29b-41d4-a716-446655440001"
    let found = try file.ask(path)
    #expect(found.json["id"]?.string == "550E8400-E29B-41D4-A716-446655440001")
    #expect(
      try file.ask(
        "PATCH", "/v1/objects/thing/3", body: #"{"owner":"550e8400-e29b-41d4-a716-446655440001"}"#
      )
      .status == 200)
    #expect(try file.ask(path + "?select=thing").text.contains(#""thing":[1,3]"#))
    let token = try #require(found["LiveFetch-Token"])
    let body = #"{"id":"550E8400-E29B-41D4-A716-446655440009","name":"c"}"#
    #expect(try file.ask("POST", "/v1/objects/owner", body: body).status == 201)
    #expect(try file.ask("PATCH", path, body: #"{"name":"z"}"#).status == 200)
    let diff = try file.ask("/v1/objects/owner?sort=name&since=\(token)&wait=2")
    #expect(
      diff.text.contains(#""id":"550E8400-E29B-41D4-A716-446655440001","changed":{"name":"z"}"#))
    #expect(diff.text.contains(#"{"id":"550E8400-E29B-41D4-A716-446655440009","name":"c"}"#))
    #expect(try file.ask(path + "?since=\(token)&wait=2").text.contains(#""changed":{"name":"z"}"#))
  }

  @Test func anObjectThatIsGoneWasDeletedAndOneThatNeverWasIsUnknown() throws {
    let file = try ServedFile(Self.fixture)
    let token = try #require(file.ask("/v1/objects/t/1")["LiveFetch-Token"])
    #expect(try file.ask("DELETE", "/v1/objects/t/1").status == 204)
    #expect(try file.ask("POST", "/v1/objects/t", body: #"{"id":9}"#).status == 201)
    #expect(try file.ask("DELETE", "/v1/objects/t/9").status == 204)
    for id in [1, 9] {
      let answer = try file.ask("/v1/objects/t/\(id)?since=\(token)&wait=2")
      #expect(answer.json["deleted"] == .boolean(true), "\(answer.text)")
    }
    #expect(try file.ask("/v1/objects/t/77?since=\(token)&wait=2").code == "unknown-id")
    #expect(try file.ask("/v1/objects/t/9?since=now&wait=2").code == "unknown-id")
  }

  @Test(
    "a column called @count or SELF is meant by that name in quotes, and by %K",
    arguments: [
      (##"as=ids&where=#"@count"==10"##, "[1]"), ("as=ids&where=%K==10&arg=@count", "[1]"),
      (##"as=ids&where=#"SELF"==30"##, "[3]"), ("as=ids&where=%K==30&arg=SELF", "[3]"),
      ("as=ids&where=SELF==3", "[3]"),
      (
        ##"as=dictionaries&select=x:#"@count",n:(@count)&group=x&having=#"@count"==11"##,
        #"[{"x":11,"n":2}]"#
      ),
      (
        ##"as=dictionaries&select=x:#"@count",n:(@count)&group=x&having=%K==11&arg=@count"##,
        #"[{"x":11,"n":2}]"#
      ),
      (
        ##"as=dictionaries&select=@count,n:(@count)&group=@count&having=@count==2"##,
        #"[{"@count":11,"n":2}]"#
      ),
      (
        ##"as=dictionaries&select=s:#"SELF",n:(@count)&group=s&having=#"SELF"==20"##,
        #"[{"s":20,"n":2}]"#
      ),
      (
        ##"as=dictionaries&select=s:#"SELF",n:(@count)&group=s&having=%K==20&arg=SELF"##,
        #"[{"s":20,"n":2}]"#
      ),
    ])
  func namesOfTheLanguage(fetch: String, items: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE odd(id INTEGER PRIMARY KEY, "@count" INTEGER, "SELF" INTEGER);
      INSERT INTO odd VALUES (1,10,20),(2,11,20),(3,11,30);
      """)
    let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "&=:,()"))
    let query = try #require(fetch.addingPercentEncoding(withAllowedCharacters: allowed))
    let answer = try file.ask("/v1/objects/odd?\(query)")
    #expect(answer.text.contains("\"items\":\(items)}"), "\(answer.text)")
  }
}
