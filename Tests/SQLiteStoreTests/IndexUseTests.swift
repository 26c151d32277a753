import FetchModel
import Testing

@testable import SQLiteStore

@Suite("Fetches use the indexes that a file has")
struct IndexUseTests {
  static let world = """
    CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, continent TEXT);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, code TEXT COLLATE NOCASE,
      population INTEGER, rank INTEGER NOT NULL, founded DATETIME, country INTEGER REFERENCES Country);
    CREATE TABLE Tag(name TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE City_Tag(city INTEGER REFERENCES City, tag TEXT REFERENCES Tag,
      PRIMARY KEY(city, tag));
    CREATE INDEX Country_name ON Country(name);
    CREATE INDEX City_name ON City(name);
    CREATE INDEX City_code ON City(code COLLATE BINARY);
    CREATE INDEX City_population ON City(population);
    CREATE INDEX City_rank ON City(rank);
    CREATE INDEX City_founded ON City(founded);
    CREATE INDEX City_country_population ON City(country, population);
    INSERT INTO City(name, rank, founded) VALUES ('a', 1, '2001-01-01T00:00:00Z');
    INSERT INTO Country VALUES (1,'x','y'); INSERT INTO City(name,rank,population,country) VALUES ('b',3,4,1);
    """

  static let queries = [
    "as=count&where=population!=5", "as=count&where=population!=nil", "as=count&where=NOT (population>5)",
    "as=count&where=NOT (population<=5)", "as=count&where=NOT population BETWEEN {1, 9}",
    "as=count&where=NOT population IN {1, 2}", "as=count&where=rank!=5", "as=count&where=NOT (rank>5)",
    "as=count&where=NOT name BEGINSWITH 'A'", "as=count&where=name!='A'", "as=count&where=founded>'2001-01-01T00:00:00Z'",
    "as=count&where=population<=nil", "as=count&where=country.name IN {'Peru','Chile'}", "as=count&where=country.name!='Peru'",
    "as=count&where=NOT (country.name>'Peru')", "as=count&where=country!=3", "as=count&where=country==nil",
    "as=count&where=country.name==nil", "as=count&where=country==nil OR population>5",
    "as=count&where=SELF!=3", "as=count&where=NOT (id>3)", "as=count&where=id IN {1,2}",
    "sort=population&limit=5&where=NOT (population>5)", "sort=name&limit=5&where=population>5",
    "sort=-population&limit=5&where=NOT (population>5)", "where=population>5 AND name BEGINSWITH 'A'&as=count",
    "as=count&where=country.continent=='Asia'", "as=count&where=name LIKE 'A*'", "as=count&where=name LIKE[c] 'A*'",
    "where=country.name=='Peru'&sort=-population&limit=5", "where=country.name IN {'Peru','Chile'}&sort=name&limit=5",
    "where=country==3 OR country==4&sort=population&limit=5", "where=country IN {3,4}&as=count",
    "where=NOT (country IN {3,4})&as=count", "where=population>5 AND NOT (population>9)&as=count", "where=code!='x'&as=count"
  ]

  @Test func show() throws {
    let file = try FetchFixture(Self.world)
    for query in Self.queries {
      let explanation = try file.moment.explanation(of: file.plan("City", query))
      for statement in explanation.statements where statement.purpose != "item" {
        print("##", query)
        print("   ", statement.plan.map { Self.text($0) }.joined(separator: "; "))
        if query.contains("OR") || query.contains("country.name") { print("   ", statement.sql) }
        for hint in statement.hints { print("    hint:", hint.index, "--", hint.reason) }
      }
    }
    for query in ["sort=population", "sort=-population", "sort=name", "sort=-name,population", "section=country&sort=-population","sort=population:nullslast", "sort=-rank,population", "where=country==1&sort=population", "where=population>1&sort=-population", ""] {
      let first = try file.moment.snapshot(of: file.plan("City", query + "&limit=1"))
      let next = try JSON(parsing: first.json)["next"]!.string!
      let e = try file.moment.explanation(of: file.plan("City", query + "&limit=5&after=\(next)"))
      print("## after", query)
      print("   ", e.statements[0].plan.map { Self.text($0) }.joined(separator: "; "))
      print("   ", e.statements[0].sql)
    }
    for query in ["where=ANY City.population>5", "where=City.@count>3", "where=ANY City.name=='x'", "select=name,City"] {
      let explanation = try file.moment.explanation(of: file.plan("Country", query))
      print("## Country", query)
      for s in explanation.statements { print("   ", s.plan.map { Self.text($0) }.joined(separator: "; "))
        for hint in s.hints { print("    hint:", hint.index, "--", hint.reason) } }
    }
  }

  static func text(_ step: Explanation.Step) -> String {
    step.detail
      + (step.children.isEmpty
        ? "" : " [" + step.children.map(text).joined(separator: "; ") + "]")
  }
}
