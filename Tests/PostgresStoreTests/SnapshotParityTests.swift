// The responses of a PostgreSQL store have the same bytes as those of a SQLite store with the same
// rows.

import Bytes
import FetchModel
import SQLComposer
import SQLiteStore
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: responses are those of the SQLite store", .mayBlock)
struct SnapshotParityTests {
  private static let sorts = [
    "id", "-id", "name", "-name", "population", "-population,name", "area", "-area", "density",
    "founded", "-founded", "isport,-name", "-isport", "badge", "country", "-country.name,name",
    "country.continent:nullslast,id", "founded:nullslast", "flag",
  ]

  private static let queries =
    sorts.map { "sort=\($0)" }
    + sorts.map { "sort=\($0)&limit=2&offset=1" }
    + [
      "", "limit=0", "as=ids", "as=count", "count=exact&limit=1", "digest=true",
      "int64=string", "select=name,country.name,Tag", "select=id,info,flag",
      "section=country", "section=country.name", "section=-country.continent&sort=name",
      "section=isport", "section=founded", "section=area", "section=density", "section=badge",
      "section=population&int64=string", "section=founded:year", "section=founded:day",
      "section=founded:month&sort=-name", "section=country.continent:initial",
      "section=name&digest=true&as=ids", "expand=country,Tag", "expand=country.City&limit=1",
      "where=founded%20%3D%3D%20'1457-06-01T12:00:00.25Z'", "where=founded%20%3E%20'1400-01-01'",
      "where=isport%20%3D%3D%20TRUE",
      "where=badge%20%3D%3D%20'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
      "where=ANY%20Tag.name%20IN%20%7B'old','Zen'%7D", "where=area%20%3E%200.1",
      "where=Stop.@count%20%3E%200", "where=density%20%3D%3D%200.1",
      "sort=name:c", "sort=-name:cd", "sort=name:d&limit=2",
      "section=name:initial", "section=name:cd&as=ids",
      "where=name%20CONTAINS%5Bcd%5D%20'APF'", "where=name%20BEGINSWITH%5Bc%5D%20'ä'",
      "where=name%20LIKE%5Bc%5D%20'*O*'", "where=name%20ENDSWITH%5Bd%5D%20'fel'",
      "where=population%20%3D%3D%209007199254740993",
      "where=population%20**%202%20%3D%3D%2081", "where=population%20**%2040%20%3E%201e50",
      "where=(0%20-%20population)%20**%203%20%3D%3D%20-729", "where=density%20**%200.5%20%3E%201.8",
      "where=0%20**%20(0%20-%20population)%20%3E%201", "where=population%20**%20-1%20%3C%200.05",
      "where=(0%20-%20density)%20**%200.5%20%3D%3D%20nil", "where=area%20**%202%20%3D%3D%200.25",
      "where=modulus:by:(density,%200.2)%20%3D%3D%20modulus:by:(3.5,%200.2)",
      "where=modulus:by:(density,%203)%20%3C%200", "where=modulus:by:(density,%200)%20%3D%3D%20nil",
      "where=name%20MATCHES%20'.*o.*'", "where=name%20MATCHES%5Bcd%5D%20'(a%7Co).*'",
    ]

  @Test("a snapshot has the same bytes on both stores", arguments: queries)
  func snapshots(_ query: String) throws {
    let fixture = try Self.fixture.get()
    let postgres = try ParityFixture.snapshot(fixture.postgres, "City", query)
    let sqlite = try ParityFixture.snapshot(fixture.sqlite, "City", query)
    #expect(Self.comparable(postgres, query) == Self.comparable(sqlite, query))
  }

  /// A snapshot without its cursor if that contains a decimal, of which only PostgreSQL orders each digit.
  private static func comparable(_ snapshot: String, _ query: String) -> String {
    guard query.contains("area") else { return snapshot }
    return snapshot.replacing(/"next":"[^"]*"/, with: "")
  }

  @Test("a cursor whose date is no date is taken as one of no date")
  func damagedCursor() throws {
    let fixture = try Self.fixture.get()
    let page = try ParityFixture.snapshot(
      fixture.postgres, "City", "sort=founded:nullslast&limit=1")
    let next = try #require(page.firstMatch(of: /"next":"([^"]*)"/)?.1)
    var bytes = try #require([UInt8](base64: String(next), .urlSafe))
    let year = try #require(bytes.firstRange(of: Array("1291".utf8))?.lowerBound)
    bytes[year] = UInt8(ascii: "x")
    var cursor: [UInt8] = []
    cursor.append(base64: bytes, .urlSafe)
    let after = String(decoding: cursor, as: UTF8.self)
    let rest = try ParityFixture.snapshot(
      fixture.postgres, "City", "sort=founded:nullslast&as=ids&after=\(after)")
    #expect(rest.contains(#""items":[11,40]"#), "\(rest)")
  }

  /// Dates that are calculated from numbers, beside constants and stored dates.
  private static let dates = [
    "CAST(population,'NSDate') > CAST(0,'NSDate')", "CAST(0,'NSDate') < CAST(area,'NSDate')",
    "CAST(density,'NSDate') == '2001-01-01T00:00:03.5Z'", "CAST(population,'NSDate') > founded",
    "CAST(population,'NSDate') IN {CAST(9,'NSDate'),'2001-01-01T00:00:24Z'}",
    "CAST(population,'NSDate') BETWEEN {CAST(9,'NSDate'),'2001-01-01T00:00:20Z'}",
    "TERNARY(isport == TRUE,founded,CAST(population,'NSDate')) < '2001-01-01T00:00:12Z'",
    "TERNARY(isport == TRUE,CAST(9,'NSDate'),CAST(population,'NSDate')) == CAST(9,'NSDate')",
    "max({founded,CAST(population,'NSDate')}) > '2001-01-01T00:00:20Z'",
    "max({CAST(10,'NSDate'),CAST(population,'NSDate')}) == CAST(10,'NSDate')",
    "CAST(CAST(founded,'NSNumber'),'NSDate') == founded", "CAST(population,'NSDate') == nil",
  ]

  @Test("a date that is calculated from a number compares as in SQLite", arguments: dates)
  func calculatedDates(_ predicate: String) throws {
    let fixture = try Self.fixture.get()
    let encoded = predicate.utf8.map { "%\(Hexadecimal.text(of: [$0]))" }.joined()
    let postgres = try ParityFixture.snapshot(fixture.postgres, "City", "as=ids&where=\(encoded)")
    let sqlite = try ParityFixture.snapshot(fixture.sqlite, "City", "as=ids&where=\(encoded)")
    #expect(postgres == sqlite)
  }

  @Test("texts that a condition chooses compare by code point")
  func chosenTexts() throws {
    let fixture = try Self.fixture.get()
    let (first, second) = ("TERNARY(isport == TRUE,'a','B')", "TERNARY(isport == TRUE,'B','a')")
    for (predicate, ids) in [
      ("max({\(first),\(second)}) == 'a'", "[10,11,20,21,30,40]"),
      ("\(first) < \(second)", "[11,21,30,40]"), ("\(first) <= 'Z'", "[11,21,30,40]"),
    ] {
      let encoded = PercentEncoding.encodeComponent(predicate)
      for store in [fixture.postgres, fixture.sqlite] as [any Store] {
        let found = try ParityFixture.snapshot(store, "City", "as=ids&sort=id&where=\(encoded)")
        #expect(found.contains(#""items":\#(ids)"#), "\(predicate)")
      }
    }
  }

  /// Shared by all tests, which only read.
  private static let fixture = Result { try ParityFixture() }

  @Test("entities with text ids and composite ids have the same bytes on both stores")
  func otherEntities() throws {
    let fixture = try Self.fixture.get()
    for (entity, query) in [
      ("Tag", "select=City"), ("Tag", "section=name"), ("Stop", ""), ("Stop", "sort=-line,number"),
      ("Stop", "section=city.name"), ("Country", "select=name,City&sort=-name"),
      ("Stop", "expand=city"), ("Country", "expand=City"),
    ] {
      let postgres = try ParityFixture.snapshot(fixture.postgres, entity, query)
      let sqlite = try ParityFixture.snapshot(fixture.sqlite, entity, query)
      #expect(postgres == sqlite, "\(entity)?\(query)")
    }
  }

  @Test("pages by cursors are the same on both stores", arguments: sorts)
  func cursors(_ sort: String) throws {
    let fixture = try Self.fixture.get()
    var texts: [[String]] = []
    for store in [fixture.postgres, fixture.sqlite] as [any Store] {
      var pages: [String] = []
      var after = ""
      while pages.count < 10 {
        let page = try ParityFixture.snapshot(
          store, "City", "select=name&limit=2&sort=\(sort)\(after)")
        pages.append(Self.comparable(page, sort))
        guard let next = try JSON(parsing: Array(page.utf8))["next"]?.string else { break }
        after = "&after=\(PercentEncoding.encodeComponent(next))"
      }
      texts.append(pages)
    }
    #expect(texts[0] == texts[1])
    #expect(texts[0].count >= 3)
  }

  @Test("one object and one value are the same on both stores")
  func objects() throws {
    let fixture = try Self.fixture.get()
    for id in [10, 11, 20, 30, 99] as [Int64] {
      let objects = try [fixture.postgres, fixture.sqlite].map { (store: any Store) in
        try store.object(
          .integer(id), of: ParityFixture.plan(store, "City", ""), queryClass: .full)?.json
      }
      #expect(objects[0] == objects[1], "\(id)")
    }
    let attributes = ["name", "population", "area", "density", "founded", "badge", "info", "flag"]
    for (name, id) in attributes.flatMap({ name in [(name, 10), (name, 20), (name, 11)] }) {
      let values = try [fixture.postgres, fixture.sqlite].map { (store: any Store) in
        let entity = try #require(store.model.entities.firstIndex { $0.name == "City" })
        let attribute = try #require(
          store.model.entities[entity].attributes.firstIndex { $0.name == name })
        return try store.rawValue(
          of: .integer(Int64(id)), entity: entity, attribute: attribute, within: nil,
          queryClass: .full)
      }
      #expect(values[0] == values[1], "\(name) \(id)")
    }
  }

  @Test("dictionaries are the same on both stores")
  func dictionaries() throws {
    let fixture = try Self.fixture.get()
    for query in [
      "as=dictionaries&select=name,population&sort=name",
      "as=dictionaries&select=country.name,n:@count,people:@sum.population&group=country.name",
      "as=dictionaries&select=n:@count,a:@min.area,b:@max.founded,c:@sum.density",
      "as=dictionaries&select=isport&distinct=true",
      "as=dictionaries&select=country,n:@distinctUnionOfObjects.name&group=country",
      "as=dictionaries&select=@distinctUnionOfObjects.population,@distinctUnionOfObjects.isport,"
        + "@distinctUnionOfObjects.density,@distinctUnionOfObjects.founded&int64=string",
      "as=dictionaries&select=@distinctUnionOfObjects.badge,@distinctUnionOfObjects.flag,"
        + "@distinctUnionOfObjects.area,@distinctUnionOfObjects.country.continent",
      "as=dictionaries&select=@distinctUnionOfObjects.name&where=FALSEPREDICATE",
      "as=dictionaries&select=isport,n:@count&group=isport&having=n%20%3E%201&count=exact",
      "as=dictionaries&select=country.continent,n:@avg.population&group=country.continent&sort=-n",
    ] {
      let postgres = try ParityFixture.snapshot(fixture.postgres, "City", query)
      let sqlite = try ParityFixture.snapshot(fixture.sqlite, "City", query)
      #expect(postgres == sqlite, "\(query)")
    }
  }
}
