// The indexes that `explain=true` suggests for a PostgreSQL database.

import FetchModel
import TestSupport
import Testing

@Suite("PostgreSQL: suggested indexes of an explained fetch", .mayBlock)
struct PostgresIndexAdviceTests {
  private static let fixture = """
    CREATE TABLE country(id bigint PRIMARY KEY, name text);
    CREATE TABLE city(id bigint PRIMARY KEY, name text, code varchar(9), country bigint REFERENCES country,
      population bigint, area float8 NOT NULL, price numeric, founded date, capital boolean, mark uuid);
    CREATE TABLE tag(id text PRIMARY KEY, word text);
    CREATE TABLE city_tag(city bigint REFERENCES city, tag text REFERENCES tag);
    CREATE TABLE street(id text PRIMARY KEY, tag text REFERENCES tag);
    CREATE TABLE day(id bigint PRIMARY KEY, number int NOT NULL) PARTITION BY RANGE (id);
    CREATE TABLE day_a PARTITION OF day FOR VALUES FROM (1) TO (10001);
    CREATE TABLE day_b PARTITION OF day FOR VALUES FROM (10001) TO (20001);
    INSERT INTO country SELECT i, 'n' || i FROM generate_series(1, 2000) AS i;
    INSERT INTO tag SELECT 't' || i, 'w' || i FROM generate_series(1, 2000) AS i;
    INSERT INTO city SELECT i, 'c' || i * 7919 % 20000, 'k' || i, 1 + i % 2000, i * 31 % 20000, i,
      i * 3 % 20000, DATE '1900-01-01' + i, i % 2 = 0, lpad(i::text, 32, '0')::uuid
      FROM generate_series(1, 20000) AS i;
    INSERT INTO city_tag SELECT i, 't' || 1 + i % 2000 FROM generate_series(1, 20000) AS i;
    INSERT INTO street SELECT 's' || i, 't' || 1 + i % 2000 FROM generate_series(1, 20000) AS i;
    INSERT INTO day SELECT i, i * 7 % 20000 FROM generate_series(1, 20000) AS i;
    ANALYZE;
    """

  /// A fetch with the suggested index: its name, its table and its columns.
  private static let helped: [(fetch: String, name: String, table: String, columns: String)] = [
    ("city?where=population=5", "city_population", "city", #""population""#),
    ("city?sort=-population&limit=5", "city_population", "city", #""population" DESC NULLS LAST"#),
    ("city?sort=population&limit=5", "city_population", "city", #""population" NULLS FIRST"#),
    // No row of the result has NULL there.
    (
      "city?where=population%3E5&sort=-population&limit=5", "city_population", "city",
      #""population" DESC"#
    ),
    ("city?sort=area&limit=5", "city_area", "city", #""area""#),
    ("city?sort=price&limit=5", "city_price", "city", #""price" NULLS FIRST"#),
    (
      "city?where=founded%3C'1900-02-01'&sort=founded&limit=5", "city_founded", "city",
      #""founded""#
    ),
    // Text compares by code point, except for equality.
    ("city?sort=name&limit=5", "city_name", "city", #""name" COLLATE "C" NULLS FIRST"#),
    ("city?sort=-code&limit=5", "city_code", "city", #""code" COLLATE "C" DESC NULLS LAST"#),
    ("city?where=name='c5'", "city_name", "city", #""name""#),
    ("city?where=code%20IN%20%7B'k5','k6'%7D", "city_code", "city", #""code""#),
    ("city?where=name%20BEGINSWITH%20'c5'", "city_name", "city", #""name" COLLATE "C""#),
    (
      "city?where=country=1%20AND%20name%20BEGINSWITH%20'c5'%20AND%20population%3E9",
      "city_country_name", "city", #""country", "name" COLLATE "C""#
    ),
    (
      "city?where=name='c5'&section=country&sort=-population,name&limit=9",
      "city_name_country_population", "city",
      #""name", "country" NULLS FIRST, "population" DESC NULLS LAST"#
    ),
    ("street?where=tag='t5'", "street_tag", "street", #""tag""#),
    (
      "city?as=dictionaries&select=name&sort=-name&limit=3", "city_name", "city",
      #""name" COLLATE "C" DESC NULLS LAST"#
    ),
    ("city?as=count&where=population=5", "city_population", "city", #""population""#),
    ("day?where=number=5", "day_number", "day", #""number""#),
    (
      "city?where=mark='00000000-0000-0000-0000-000000000005'", "city_mark", "city", #""mark""#
    ),
    // Joined tables
    ("country?where=city.@count%3E30&limit=5", "city_country", "city", #""country""#),
    ("tag?where=city.@count%3E30&limit=5", "city_tag_tag_city", "city_tag", #""tag", "city""#),
    ("country?expand=city&limit=5", "city_country", "city", #""country""#),
  ]

  @Test("the suggested index is in PostgreSQL's plan of the same fetch as soon as it exists")
  func helped() throws {
    let database = try ServedDatabase(Self.fixture)
    for row in Self.helped {
      let comment = Comment(rawValue: row.fetch)
      let index = #"CREATE INDEX "\#(row.name)" ON "\#(row.table)"(\#(row.columns))"#
      #expect(try Self.hints(database, row.fetch) == [index], comment)
      try database.runExternally(index)
      let answer = try database.ask("/v1/objects/\(row.fetch)&explain=true")
      let isUsed = [" using \(row.name)", " using day_a_number_idx"].contains {
        answer.text.contains($0)
      }
      #expect(isUsed, comment)
      #expect(try Self.hints(database, row.fetch) == [], comment)
      try database.runExternally("DROP INDEX \(row.name)")
    }
  }

  /// Fetches that no index makes faster, and those whose index exists.
  private static let unhelped = [
    "city?", "city?where=id=5", "city?where=id=5&sort=name&limit=3", "city?limit=5",
    "city?where=name%20CONTAINS%20'x'", "city?where=NOT%20population%3E5",
    "city?sort=name:cd&limit=5", "city?where=country.name='n5'&limit=5", "street?where=id='s5'",
    "city?where=capital=true", "city?sort=mark&limit=3",
    "city?where=price%3E1.5",
  ]

  @Test("no index is suggested for a fetch that none makes faster, as one by a text key")
  func unhelped() throws {
    let database = try ServedDatabase(Self.fixture)
    for fetch in Self.unhelped {
      #expect(try Self.hints(database, fetch) == [], Comment(rawValue: fetch))
    }
    let answer = try database.ask("/v1/objects/street?where=id='s5'&as=ids&explain=true")
    #expect(answer.text.contains("using street_pkey on street; Index Cond: (id = $1)"))
  }

  @Test("indexes of UUIDs find objects by their ids, references and values, in any notation")
  func uuids() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE person(id uuid PRIMARY KEY);
      CREATE TABLE note(id uuid PRIMARY KEY, person uuid REFERENCES person, mark uuid, number int);
      CREATE INDEX of_person ON note(person); CREATE INDEX of_mark ON note(mark);
      INSERT INTO person SELECT lpad(to_hex(i), 32, '0')::uuid FROM generate_series(1, 2000) AS i;
      INSERT INTO note SELECT (repeat('b', 28) || lpad(to_hex(i), 4, '0'))::uuid,
        lpad(to_hex(1 + i % 2000), 32, '0')::uuid, (repeat('c', 28) || lpad(to_hex(i), 4, '0'))::uuid, i
        FROM generate_series(1, 20000) AS i;
      ANALYZE;
      """)
    let (b, c) = ("bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbb", "CCCCCCCC-cccc-cccc-cccc-cccccccc")
    let person = "00000000-0000-0000-0000-000000000000"
    for (predicate, index, numbers) in [
      ("id='\(b)4e20'", "note_pkey", ["20000"]), ("mark='\(c)4E20'", "of_mark", ["20000"]),
      ("id%20IN%20%7B'\(b)4e20','x','\(b)4e1f'%7D", "note_pkey", ["19999", "20000"]),
      ("person='\(person.dropLast(3))7d0'", "of_person", ["1999", "3999"]),
      ("person.id='\(person.dropLast(3))7d0'", "of_person", ["1999", "3999"]),
    ] {
      let path = "/v1/objects/note?where=\(predicate)&sort=number&limit=2&select=number"
      let answer = try database.ask(path)
      let found = answer.text.split(separator: #""number":"#).dropFirst().map {
        String($0.prefix { $0.isNumber })
      }
      #expect(found == numbers, "\(predicate): \(answer.text)")
      let plan = try database.ask(path + "&explain=true").text
      #expect(plan.contains(" using \(index)"), "\(predicate): \(plan)")
    }
    let others = try database.ask("/v1/objects/note?where=NOT%20id='x'&as=count")
    #expect(others.text.contains(#""total":20000"#), "\(others.text)")
  }

  @Test("an index with another collation or place of NULL does not do, nor one of some rows")
  func otherIndexes() throws {
    let database = try ServedDatabase(Self.fixture)
    try database.runExternally(
      """
      CREATE INDEX a ON city(name); CREATE INDEX b ON city(population);
      CREATE INDEX c ON city(population DESC NULLS LAST) WHERE population > 5;
      CREATE INDEX d ON city((population + 1)); CREATE INDEX e ON city(area, code)
      """)
    #expect(
      try Self.hints(database, "city?sort=name&limit=5")
        == [#"CREATE INDEX "city_name" ON "city"("name" COLLATE "C" NULLS FIRST)"#])
    #expect(
      try Self.hints(database, "city?sort=-population&limit=5")
        == [#"CREATE INDEX "city_population" ON "city"("population" DESC NULLS LAST)"#])
    // An index is read backwards as well, and its first columns serve.
    #expect(try Self.hints(database, "city?where=population%3E5&sort=-population&limit=5") == [])
    #expect(try Self.hints(database, "city?sort=-area&limit=5") == [])
  }

  @Test("a hint has the reason, for a small table too")
  func reason() throws {
    let database = try ServedDatabase("CREATE TABLE note(id int PRIMARY KEY, stars int)")
    let answer = try database.ask(
      "/v1/objects/note?where=stars%3E1&sort=-stars&as=ids&explain=true")
    #expect(
      answer.text.hasSuffix(
        #""hints":[{"index":"CREATE INDEX \"note_stars\" ON \"note\"(\"stars\" DESC)","#
          + #""reason":"every row of `note` is read and sorted"}]}]}"#))
  }

  private static func hints(_ database: ServedDatabase, _ fetch: String) throws -> [String] {
    let answer = try database.ask("/v1/objects/\(fetch)&explain=true")
    let statements = try #require(answer.json["statements"]?.elements, "\(answer.text)")
    return statements.flatMap { $0["hints"]?.elements ?? [] }.compactMap { $0["index"]?.string }
  }
}
