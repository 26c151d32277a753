// Fetches: parameters, types of values and the forms of results.

import Foundation
import Service
import TestSupport
import Testing

/// The file of the read tests: every type, values of other types, names that collide.
let readingFixture = """
  CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT);
  CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, population INTEGER, area REAL,
    capital BOOLEAN, founded DATETIME, pic BLOB, meta JSON, uid UUID,
    country_id INTEGER REFERENCES country(id), birthplace INTEGER REFERENCES country(id),
    twice INTEGER GENERATED ALWAYS AS (population * 2) VIRTUAL);
  CREATE TABLE tag(code TEXT PRIMARY KEY, id INTEGER, word TEXT);
  CREATE TABLE city_tag(city_id INTEGER REFERENCES city(id), tag_code TEXT REFERENCES tag(code));
  INSERT INTO country VALUES (1,'Peru'),(2,'Österreich'),(3,NULL);
  INSERT INTO city(id,name,population,area,capital,founded,pic,meta,uid,country_id,birthplace)
  VALUES (1,'Lima',9007199254740993,1.5,1,'2020-01-02T03:04:05Z',x'0001ff','{"a":1}',
    x'550e8400e29b41d4a716446655440000',1,2),
    (2,'lima',NULL,9e999,0,NULL,NULL,NULL,NULL,NULL,NULL),
    (3,'Ünix','lots','wide','maybe','never','text','{bad',NULL,99,1),
    (4,'',0,-9e999,2,'2021-01-02T03:04:05.250Z',x'','null',NULL,2,1);
  INSERT INTO tag VALUES ('a',7,'alpha'),('b,%',8,'beta'),(NULL,9,'no key'),('é/ü',11,'slash');
  INSERT INTO city_tag VALUES (1,'a'),(1,'b,%'),(4,'é/ü');
  """

@Suite("Fetches: parameters and shapes", .mayBlock)
struct FetchContractTests {
  private static let city = "/v1/objects/city"

  /// Query of a fetch of cities → why it is refused.
  static let refused: [(String, String)] = [
    ("limt=1", "unknown-parameter"), ("LIMIT=1", "unknown-parameter"),
    ("=1", "unknown-parameter"), ("entity=city", "unknown-parameter"),
    ("arguments=1", "unknown-parameter"), ("var.=1", "unknown-parameter"),
    ("limit=1&limit=1", "repeated-parameter"), ("since=now&since=now", "repeated-parameter"),
    ("where=id==$n&var.n=1&var.n=1", "repeated-parameter"),
    ("limit=-1", "bad-parameter"), ("limit=%2B1", "bad-parameter"),
    ("limit=1.0", "bad-parameter"), ("limit=", "bad-parameter"), ("limit", "bad-parameter"),
    ("limit=99999999999999999999", "bad-parameter"), ("offset=-1", "bad-parameter"),
    ("limit=%4", "malformed-encoding"), ("limit=%zz", "malformed-encoding"),
    ("limit=%ff", "malformed-encoding"), ("%ff=1", "malformed-encoding"),
    ("as=IDS", "bad-parameter"), ("count=yes", "bad-parameter"), ("digest=1", "bad-parameter"),
    ("int64=number", "bad-parameter"), ("since=", "bad-token"), ("since=xyz", "bad-token"),
    ("since=now&wait=-1", "bad-parameter"), ("since=now&wait=61", "bad-parameter"),
    ("sort=nam", "unknown-key-path"), ("sort=name,,id", "unknown-key-path"),
    ("sort=--name", "unknown-key-path"), ("sort=name:x", "bad-parameter"),
    ("sort=name:c:d", "bad-parameter"), ("sort=population:c", "bad-parameter"),
    ("sort=tag", "bad-parameter"), ("sort=tag.word", "bad-parameter"),
    ("sort=name:initial", "bad-parameter"), ("section=", "unknown-key-path"),
    ("section=tag", "bad-parameter"), ("section=name:day", "bad-parameter"),
    ("section=founded:initial", "bad-parameter"), ("section=name&sort=-name", "bad-parameter"),
    ("section=name:c&sort=name", "bad-parameter"), ("select=nope", "unknown-key-path"),
    ("select=name,name", "bad-parameter"), ("select=tag.word", "bad-parameter"),
    ("as=ids&select=nope", "unknown-key-path"), ("as=count&select=nope", "unknown-key-path"),
    ("as=count&sort=nope", "unknown-key-path"), ("as=count&expand=nope", "unknown-key-path"),
    ("expand=name", "bad-parameter"), ("expand=country,country", "bad-parameter"),
    ("after=x", "bad-cursor"), ("after=", "bad-cursor"), ("arg=1", "bad-parameter"),
    ("var.n=1", "bad-parameter"), ("where=", "syntax-error"), ("where=%00", "syntax-error"),
  ]

  @Test func invalidParametersAreRefused() throws {
    let file = try Self.file()
    for (query, code) in Self.refused {
      let answer = try file.ask("\(Self.city)?\(query)")
      #expect(answer.status == 400, "\(query)")
      #expect(answer.code == code, "\(query)")
      #expect(answer["Content-Type"] == "application/problem+json", "\(query)")
      #expect(answer["Cache-Control"] == "no-store", "\(query)")
      #expect(answer["LiveFetch-Token"] != nil, "\(query)")
    }
  }

  /// Query of a fetch of cities → its sections.
  static let sections: [(String, String)] = [
    ("as=ids", #"[{"name":"","value":null,"indexTitle":"","items":[1,2,3,4]}]"#),
    ("as=ids&offset=9", #"[{"name":"","value":null,"indexTitle":"","items":[]}]"#),
    ("section=name&where=id==9", "[]"),
    ("as=ids&sort=population", #"[{"name":"","value":null,"indexTitle":"","items":[2,4,1,3]}]"#),
    ("as=ids&sort=-population", #"[{"name":"","value":null,"indexTitle":"","items":[3,1,4,2]}]"#),
    (
      "as=ids&sort=population:nullslast",
      #"[{"name":"","value":null,"indexTitle":"","items":[4,1,3,2]}]"#
    ),
    ("as=ids&sort=name:cd", #"[{"name":"","value":null,"indexTitle":"","items":[4,1,2,3]}]"#),
    (
      "as=ids&section=capital",
      #"[{"name":"0","value":false,"indexTitle":"0","items":[2]},"#
        + #"{"name":"1","value":true,"indexTitle":"1","items":[1]},"#
        + #"{"name":"2","value":2,"indexTitle":"2","items":[4]},"#
        + #"{"name":"maybe","value":"maybe","indexTitle":"M","items":[3]}]"#
    ),
    (
      "as=ids&section=name:c&where=id<3",
      #"[{"name":"Lima","value":"Lima","indexTitle":"L","items":[1]},"#
        + #"{"name":"lima","value":"lima","indexTitle":"L","items":[2]}]"#
    ),
    (
      "as=ids&section=-name:initial&sort=name&where=name!=''",
      #"[{"name":"U","value":"U","indexTitle":"U","items":[3]},"#
        + #"{"name":"L","value":"L","indexTitle":"L","items":[1,2]}]"#
    ),
    (
      "as=ids&section=founded:month&where=id!=3",
      #"[{"name":"","value":null,"indexTitle":"","items":[2]},"#
        + #"{"name":"2020-01","value":"2020-01","indexTitle":"2","items":[1]},"#
        + #"{"name":"2021-01","value":"2021-01","indexTitle":"2","items":[4]}]"#
    ),
    (
      "select=tag,country.name&where=id<3",
      #"[{"name":"","value":null,"indexTitle":"","items":["#
        + #"{"id":1,"tag":["a","b,%"],"country.name":"Peru"},"#
        + #"{"id":2,"tag":[],"country.name":null}]}]"#
    ),
    (
      "select=population&int64=string&where=id<3",
      #"[{"name":"","value":null,"indexTitle":"","items":["#
        + #"{"id":1,"population":"9007199254740993"},{"id":2,"population":null}]}]"#
    ),
  ]

  @Test(.onlyForFiles) func sectionsMatchTheRequest() throws {
    let file = try Self.file()
    for (query, sections) in Self.sections {
      let answer = try file.ask("\(Self.city)?\(query.replacing("<", with: "%3C"))")
      #expect(answer.status == 200, "\(query)")
      #expect(answer.text.hasSuffix(",\"sections\":\(sections)}"), "\(query): \(answer.text)")
    }
  }

  @Test(.onlyForFiles) func everyTypeIsSentAsTheContractSays() throws {
    let file = try Self.file()
    let lines = [
      1: #"{"id":1,"name":"Lima","population":9007199254740993,"area":1.5,"capital":true,"#
        + #""founded":"2020-01-02T03:04:05Z","pic":"AAH/","meta":{"a":1},"#
        + #""uid":"550E8400-E29B-41D4-A716-446655440000","country":1,"birthplace":2,"#
        + #""twice":18014398509481986}"#,
      2: #"{"id":2,"name":"lima","population":null,"area":"Infinity","capital":false,"#
        + #""founded":null,"pic":null,"meta":null,"uid":null,"country":null,"#
        + #""birthplace":null,"twice":null}"#,
      3: #"{"id":3,"name":"Ünix","population":"lots","area":"wide","capital":"maybe","#
        + #""founded":"never","pic":"text","meta":"{bad","uid":null,"country":99,"#
        + #""birthplace":1,"twice":0}"#,
      4: #"{"id":4,"name":"","population":0,"area":"-Infinity","capital":2,"#
        + #""founded":"2021-01-02T03:04:05.25Z","pic":"","meta":null,"uid":null,"country":2,"#
        + #""birthplace":1,"twice":0}"#,
    ]
    for (id, line) in lines { #expect(try file.ask("\(Self.city)/\(id)").text == line) }
  }

  @Test func aWindowReportsTotalCursorAndTruncation() throws {
    let file = try Self.file()
    let first = try file.ask("\(Self.city)?as=ids&sort=name&limit=3&count=exact").json
    #expect(first["count"]?.integer == 3)
    #expect(first["total"]?.integer == 4)
    let next = try #require(first["next"]?.string)
    let last = try file.ask("\(Self.city)?as=ids&sort=name&limit=3&after=\(next)")
    #expect(last.text.contains(#""items":[3]"#))
    #expect(last.json["next"] == nil)
    #expect(try file.ask("\(Self.city)?as=ids&sort=-name&after=\(next)").code == "bad-cursor")
    try file.runExternally("DELETE FROM city WHERE id = 2")
    try file.settle()
    let after = try file.ask("\(Self.city)?as=ids&sort=name&limit=3&after=\(next)")
    #expect(after.text.contains(#""items":[3]"#))
    var small = ServiceConfiguration()
    small.maxItems = 2
    let cut = try ServedFile(readingFixture, configuration: small).ask(
      "\(Self.city)?as=ids&limit=9")
    #expect(cut.text.contains(#""count":2,"truncated":true"#))
  }

  @Test func theCursorOfALongValueIsAccepted() throws {
    let long = String(repeating: "x", count: 100_000)
    let file = try ServedFile(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
      INSERT INTO note VALUES (1, '\(long)'), (2, '\(long)y');
      """)
    let first = try file.ask("/v1/objects/note?as=ids&sort=body&limit=1").json
    let next = try #require(first["next"]?.string)
    #expect(next.utf8.count > 100_000)
    let second = try file.ask(
      "POST", "/v1/fetch",
      body: #"{"entity":"note","as":"ids","sort":["body"],"limit":1,"after":"\#(next)"}"#)
    #expect(second.text.contains(#""items":[2]"#), "\(second.text.prefix(300))")
  }

  @Test func relatedObjectsAreSentOnceAndOnlyWithObjects() throws {
    let file = try Self.file()
    let answer = try file.ask("\(Self.city)?select=name&expand=country,birthplace&where=id!=3")
    #expect(
      answer.text.contains(
        #""included":{"country":{"1":{"id":1,"name":"Peru"},"2":{"id":2,"name":"Österreich"}}}"#))
    let ids = try file.ask("\(Self.city)?as=ids&expand=country")
    #expect(ids.status == 200)
    #expect(ids.json["included"] == nil)
  }

  private static func file() throws -> ServedFile { try ServedFile(readingFixture) }
}
