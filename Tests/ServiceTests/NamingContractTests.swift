// The names of entities and properties of any file.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Names of any file", .mayBlock)
struct NamingContractTests {
  static let odd = """
    CREATE TABLE country(id INTEGER PRIMARY KEY);
    CREATE TABLE city(id INTEGER PRIMARY KEY, country_id INTEGER REFERENCES country(id),
      birthplace INTEGER REFERENCES country(id));
    CREATE TABLE taken(key INTEGER PRIMARY KEY, id TEXT, id_ TEXT, country TEXT,
      country_id INTEGER REFERENCES country(id), parent_id INTEGER REFERENCES taken(key));
    CREATE TABLE comp(a TEXT, b INTEGER, v TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE TABLE kid(id INTEGER PRIMARY KEY, a TEXT, b INTEGER,
      FOREIGN KEY(a, b) REFERENCES comp(a, b));
    CREATE TABLE nils(a TEXT, b INTEGER, PRIMARY KEY(a, b));
    CREATE TABLE nokey(x INTEGER);
    CREATE TABLE tag(code TEXT PRIMARY KEY, id INTEGER);
    CREATE TABLE city_tag(id INTEGER PRIMARY KEY, city_id INTEGER REFERENCES city(id),
      tag_code TEXT REFERENCES tag(code));
    CREATE TABLE "odd ""name"" é"("a b" TEXT, "c""d" INTEGER, "select" TEXT, key INTEGER PRIMARY KEY);
    CREATE TABLE seconds(id INTEGER PRIMARY KEY, at TIMESTAMP);
    CREATE VIEW big AS SELECT id FROM city;
    INSERT INTO country VALUES (1);
    INSERT INTO city VALUES (1,1,1);
    INSERT INTO taken VALUES (1,'i','j','c',1,NULL),(2,'k','l','d',1,1);
    INSERT INTO comp VALUES ('x,y',1,'one'),('p%',2,'two');
    INSERT INTO kid VALUES (1,'x,y',1);
    INSERT INTO nils VALUES ('x',NULL),('x',1);
    INSERT INTO nokey VALUES (1),(1);
    INSERT INTO tag VALUES ('a',7),(NULL,8);
    INSERT INTO city_tag VALUES (1,1,'a');
    INSERT INTO "odd ""name"" é" VALUES ('1',2,'3',1);
    INSERT INTO seconds VALUES (1,1577934245),(2,1577934245.5),(3,'2020-01-01');
    """

  @Test(
    "a foreign key's column without its suffix is the name of the relationship",
    arguments: [
      ("countryId", "country"), ("CountryID", "Country"), ("countryID", "country"),
      ("Country_ID", "Country"), ("homeCountryId", "homeCountry"), ("grid", "grid"),
      ("GRID", "GRID"), ("Id2", "Id2"), ("home", "home"),
    ])
  func suffixes(column: String, name: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE country(key INTEGER PRIMARY KEY);
      CREATE TABLE city(key INTEGER PRIMARY KEY, \(column) INTEGER REFERENCES country(key));
      INSERT INTO country VALUES (7);
      INSERT INTO city VALUES (1, 7);
      """)
    #expect(
      try file.ask("/v1/objects/city?where=\(column)%3D%3D7").text.contains(
        #"[{"id":1,"\#(name)":7}]"#))
  }

  /// Entity and query → the items.
  private static let fetches: [(fetch: String, items: String)] = [
    (
      "country?select=city_by_country,city_by_birthplace,taken",
      #"[{"id":1,"city_by_country":[1],"city_by_birthplace":[1],"taken":[1,2]}]"#
    ),
    (
      "city?select=country,birthplace,tag&where=country_id==1",
      #"[{"id":1,"country":1,"birthplace":1,"tag":["a"]}]"#
    ),
    (
      "taken?where=key==2",
      #"[{"id":2,"id_":"k","id__":"l","country":"d","country_":1,"parent":1}]"#
    ),
    ("taken?where=id==1&select=taken", #"[{"id":1,"taken":[2]}]"#),
    ("taken?where=parent_id==1&as=ids", "[2]"),
    (
      "comp?sort=b",
      #"[{"id":"x%2Cy,1","a":"x,y","b":1,"v":"one"},{"id":"p%25,2","a":"p%","b":2,"v":"two"}]"#
    ),
    ("kid", #"[{"id":1,"a":"x,y","comp":"x%2Cy,1","b":1}]"#),
    ("nils", #"[{"id":"x,1","a":"x","b":1}]"#),
    ("nokey?select=x", #"[{"id":1,"x":1},{"id":2,"x":1}]"#),
    ("tag?select=id_,city", #"[{"id":"a","id_":7,"city":[1]}]"#),
    ("tag?where=code=='a'&as=ids", #"["a"]"#), ("big?as=ids", "[1]"),
    (
      "odd%20%22name%22%20%C3%A9?where=%23select=='3'",
      #"[{"id":1,"a b":"1","c\"d":2,"select":"3"}]"#
    ),
    (
      "odd%20%22name%22%20%C3%A9?where=%25K==2&arg=c%22d&sort=-a%20b&select=a%20b",
      #"[{"id":1,"a b":"1"}]"#
    ),
    (
      "seconds",
      #"[{"id":1,"at":"2020-01-02T03:04:05Z"},{"id":2,"at":"2020-01-02T03:04:05.5Z"},"#
        + #"{"id":3,"at":"2020-01-01"}]"#
    ),
    ("seconds?sort=-at&as=ids", "[3,2,1]"),
  ]

  @Test func aTableIsServedByItsRules() throws {
    let file = try ServedFile(Self.odd)
    for (fetch, items) in Self.fetches {
      let answer = try file.ask("/v1/objects/\(fetch)")
      #expect(answer.text.contains("\"items\":\(items)}]"), "\(fetch): \(answer.text)")
    }
  }

  @Test func pathsNameCompositeKeysAndJoinTablesAreNoEntities() throws {
    let file = try ServedFile(Self.odd)
    #expect(try file.ask("/v1/objects/comp/x%252Cy,1").json["v"]?.string == "one")
    #expect(try file.ask("/v1/objects/comp/x,y,1").code == "unknown-id")
    #expect(try file.ask("/v1/objects/city_tag").code == "unknown-entity")
  }

  @Test(arguments: ["big", "nokey"])
  func tablesWithoutAKeyAreReadOnlyAndNotTracked(entity: String) throws {
    let file = try ServedFile(Self.odd)
    #expect(try file.ask("/v1/objects/\(entity)?since=now&wait=0").code == "not-observable")
    #expect(try file.ask("DELETE", "/v1/objects/\(entity)/1").status == 403)
  }

  @Test func datesOfOneColumnAreSortedByTime() throws {
    let file = try ServedFile(
      """
      CREATE TABLE event(id INTEGER PRIMARY KEY, at DATETIME, day DATE);
      INSERT INTO event VALUES (1,'2020-01-02T03:04:05Z','2020-01-02'),
        (2,'2020-01-02T03:04:05.5Z','2020-02-30'),(3,'2020-01-02T03:04:06Z','2021-01-01'),
        (4,NULL,7);
      """)
    let instants = try file.ask("/v1/objects/event?as=ids&sort=at&where=at!=nil")
    #expect(instants.text.contains("\"items\":[1,2,3]"))
    let days = try file.ask("/v1/objects/event?as=ids&sort=day")
    #expect(days.text.contains("\"items\":[1,3,4,2]"))
  }
}
