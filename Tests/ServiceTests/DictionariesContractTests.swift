// `as=dictionaries`: columns, groups, aggregates and their order.

import FetchModel
import Foundation
import Service
import TestSupport
import Testing

/// The file of the dictionary tests.
let dictionariesFixture = """
  CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, continent TEXT);
  CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, code TEXT COLLATE NOCASE,
    population INTEGER, area REAL, price DECIMAL, capital BOOLEAN, founded DATETIME,
    country_id INTEGER REFERENCES country(id));
  INSERT INTO country VALUES (1,'China','Asia'),(2,'Japan','Asia'),(3,'Peru','America'),
    (4,'Nowhere',NULL);
  INSERT INTO city VALUES
    (1,'Shanghai','sh',24,0.1,0.1,0,'1291-01-02T03:04:05Z',1),
    (2,'Beijing','SH',18,0.2,0.2,1,'2001-01-01T00:00:00.5Z',1),
    (3,'Tokyo','tk',9,1e300,'12345678901234567890.5',1,NULL,2),
    (4,'Osaka','os',NULL,-1e300,NULL,0,NULL,2),
    (5,'Lima','li',9,NULL,1,1,'1535-01-18T00:00:00Z',3),
    (6,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
  """

@Suite("as=dictionaries: columns, groups and their order", .mayBlock)
struct DictionariesContractTests {
  struct Row: Sendable {
    let target: String
    let items: String

    init(_ target: String, _ items: String) {
      self.target = target
      self.items = items
    }
  }

  static let table: [Row] = [
    // Columns
    Row("city?select=name&limit=2", #"{"name":"Shanghai"},{"name":"Beijing"}"#),
    Row(
      "city?select=id,country.name,country&where=id>4",
      #"{"id":5,"country.name":"Peru","country":3},{"id":6,"country.name":null,"country":null}"#),
    Row("country?where=id==1", #"{"name":"China","continent":"Asia"}"#),
    Row(
      "city?select=n:name,double:population * 2&where=id<3",
      #"{"n":"Shanghai","double":48},{"n":"Beijing","double":36}"#),
    Row(
      "city?select=x:bitwiseAnd:with:(population, 8),y:TERNARY(capital == YES, 'a,b', 'c')&where=id<3",
      #"{"x":8,"y":"c"},{"x":0,"y":"a,b"}"#),
    Row(
      "country?select=name,cities:city.@count,people:city.@sum.population&where=id<3",
      #"{"name":"China","cities":2,"people":42},{"name":"Japan","cities":2,"people":9}"#),
    // Aggregates without groups
    Row(
      "city?select=@count,@count.population,@sum.population,@avg.population,@min.name,@max.name",
      #"{"@count":6,"@count.population":4,"@sum.population":60,"@avg.population":15,"#
        + #""@min.name":"Beijing","@max.name":"Tokyo"}"#),
    Row(
      "city?where=FALSEPREDICATE&select=n:@count,s:@sum.population,a:@avg.area,m:@max.founded,"
        + "p:@sum.price",
      #"{"n":0,"s":0,"a":null,"m":null,"p":0}"#),
    Row("city?where=FALSEPREDICATE&select=name,n:@count&group=name", ""),
    Row(
      "city?select=@min.founded,@max.founded,@max.capital,@sum.capital",
      #"{"@min.founded":"1291-01-02T03:04:05Z","@max.founded":"2001-01-01T00:00:00.5Z","#
        + #""@max.capital":true,"@sum.capital":3}"#),
    Row(
      "city?select=c:@distinctUnionOfObjects.population,n:@distinctUnionOfObjects.population.@count,"
        + "s:@sum.@distinctUnionOfObjects.population",
      #"{"c":[9,18,24],"n":3,"s":51}"#),
    Row(
      "city?select=@distinctUnionOfObjects.founded,@distinctUnionOfObjects.capital",
      #"{"@distinctUnionOfObjects.founded":["1291-01-02T03:04:05Z","1535-01-18T00:00:00Z","#
        + #""2001-01-01T00:00:00.5Z"],"@distinctUnionOfObjects.capital":[false,true]}"#),
    Row("city?select=share:@max.population * 100 / @sum.population", #"{"share":40}"#),
    Row(
      "city?where=FALSEPREDICATE&select=@distinctUnionOfObjects.name",
      #"{"@distinctUnionOfObjects.name":[]}"#),
    Row(
      "city?where=id<4&select=s:@sum.id,a:@avg.id,m:@max.id,c:@sum.country.id",
      #"{"s":6,"a":2,"m":3,"c":4}"#),
    // Groups
    Row(
      "city?select=continent:country.continent,n:@count,people:@sum.population&group=continent",
      #"{"continent":null,"n":1,"people":0},{"continent":"America","n":1,"people":9},"#
        + #"{"continent":"Asia","n":4,"people":51}"#),
    Row(
      "city?select=country.continent,n:@count&group=country.continent&having=n > 1",
      #"{"country.continent":"Asia","n":4}"#),
    Row("city?group=country.continent&where=id<5", #"{"country.continent":"Asia"}"#),
    Row(
      "city?select=code,n:@count&group=code&where=id<3", #"{"code":"SH","n":1},{"code":"sh","n":1}"#
    ),
    Row(
      "city?select=country,country.name,n:@count&group=country,country.name&where=id<6&sort=-n,country.name",
      #"{"country":1,"country.name":"China","n":2},{"country":2,"country.name":"Japan","n":2},"#
        + #"{"country":3,"country.name":"Peru","n":1}"#),
    Row(
      "city?select=big:TERNARY(population > 10, 1, 0),n:@count&group=big",
      #"{"big":0,"n":4},{"big":1,"n":2}"#),
    Row(
      "city?select=n:@count&group=country.name&having=country.name BEGINSWITH 'J' OR @max.population > 20",
      #"{"n":2},{"n":2}"#),
    Row(
      "city?select=country.name,n:@count&group=country.name&having=n == $n AND country.name != nil&var.n=2"
        + "&where=id < $m&var.m=9",
      #"{"country.name":"China","n":2},{"country.name":"Japan","n":2}"#),
    Row(
      "city?where=id < %@&having=n >= %@ AND name BEGINSWITH %@&arg=9&arg=2&arg=C"
        + "&select=name:country.name,n:@count&group=name",
      #"{"name":"China","n":2}"#),
    Row(
      "city?select=@max.founded&group=capital&having=@min.founded < '1300-01-01T00:00:00Z'",
      #"{"@max.founded":"1291-01-02T03:04:05Z"}"#),
    // Parts of dates, initials of texts
    Row(
      "city?select=m:founded:month,n:@count&group=m&where=id<6",
      #"{"m":null,"n":2},{"m":"1291-01","n":1},{"m":"1535-01","n":1},{"m":"2001-01","n":1}"#),
    Row(
      "city?group=founded:year&where=id<3", #"{"founded:year":"1291"},{"founded:year":"2001"}"#),
    Row(
      "city?select=founded:day,n:@count&group=founded:day&sort=-founded:day&where=id<3",
      #"{"founded:day":"2001-01-01","n":1},{"founded:day":"1291-01-02","n":1}"#),
    Row(
      "city?select=n:@count&group=founded:year&sort=-founded:year&where=id<4",
      #"{"n":1},{"n":1},{"n":1}"#),
    Row(
      "city?select=i:country.name:initial,n:@count&group=i&having=i == 'C' OR n < 2",
      #"{"i":null,"n":1},{"i":"C","n":2},{"i":"P","n":1}"#),
    Row(
      "city?select=country.name:initial,n:@count&group=country.name:initial&having=n > 1",
      #"{"country.name:initial":"C","n":2},{"country.name:initial":"J","n":2}"#),
    Row("city?select=y:founded:year&where=id<3&sort=-y", #"{"y":"2001"},{"y":"1291"}"#),
    Row(
      "city?select=y:founded:year,d:founded&distinct=true&where=id<3",
      #"{"y":"1291","d":"1291-01-02T03:04:05Z"},{"y":"2001","d":"2001-01-01T00:00:00.5Z"}"#),
    // Distinct, order, window
    Row(
      "city?select=population&distinct=true",
      #"{"population":null},{"population":9},{"population":18},{"population":24}"#),
    Row(
      "city?select=population&distinct=true&sort=-population:nullsfirst&limit=2",
      #"{"population":null},{"population":24}"#),
    Row("city?select=code&distinct=true&where=id<3", #"{"code":"SH"},{"code":"sh"}"#),
    Row("city?select=n:@count&group=country&distinct=true", #"{"n":1},{"n":2}"#),
    Row(
      "city?select=name&sort=-population&limit=2&offset=1", #"{"name":"Beijing"},{"name":"Tokyo"}"#),
    Row(
      "city?select=name&sort=country.name,-name&limit=3",
      #"{"name":null},{"name":"Shanghai"},{"name":"Beijing"}"#),
    Row("city?select=name&limit=0", ""),
    Row(
      "city?select=big:population * 9007199254740993&where=id==3&int64=string",
      #"{"big":"81064793292668937"}"#),
  ]

  @Test func dictionariesMatchTheRequest() throws {
    let file = try ServedFile(dictionariesFixture)
    for row in Self.table {
      let answer = try file.ask("/v1/objects/\(Self.encoded(row.target))&as=dictionaries")
      #expect(answer.status == 200, "\(row.target): \(answer.text)")
      let start = #","sections":[{"name":"","value":null,"indexTitle":"","items":["#
      #expect(answer.text.hasSuffix("\(start)\(row.items)]}]}"), "\(row.target): \(answer.text)")
    }
  }

  /// PostgreSQL adds doubles one after the other, and its decimals keep digits that the file's do not.
  @Test(.onlyForFiles) func aSumIsExact() throws {
    let answer = try ServedFile(dictionariesFixture).ask(
      "/v1/objects/city?select=a:@sum.area,b:@sum.price&as=dictionaries")
    let items = #""items":[{"a":0.30000000000000004,"b":12345678901234567001.3}]}]}"#
    #expect(answer.text.hasSuffix(items), "\(answer.text)")
  }

  static let refused: [(String, String, String)] = [
    ("select=name,@count", "bad-parameter", "`name` differs from object to object of a group"),
    ("select=country.name,@count&group=country", "bad-parameter", "put it into `group`"),
    ("select=population * 2", "syntax-error", "a name for the value"),
    ("select=n:@count,n:@sum.population", "bad-parameter", "`n` occurs twice"),
    ("select=name,name", "bad-parameter", "`name` occurs twice"),
    ("select=name,name:code", "bad-parameter", "`name` occurs twice"),
    ("select=", "bad-parameter", "takes at least one column"),
    ("select=name,,code", "syntax-error", ""),
    ("select=nme", "unknown-key-path", "did you mean `name`?"),
    ("select=@sum.name", "type-mismatch", "expected numbers"),
    ("select=@sum.country", "type-mismatch", "`country`, objects, expected numbers"),
    ("select=@sum", "syntax-error", "a key path after it"),
    ("select=@median.population", "unknown-key-path", "an aggregate"),
    ("select=@sum.@avg.population", "type-mismatch", "aggregates of aggregates"),
    ("select=x:@distinctUnionOfObjects.name == 'a'", "syntax-error", ""),
    ("select=x:length(@distinctUnionOfObjects.name)", "type-mismatch", "several values"),
    ("select=@etag", "unknown-key-path", ""),
    ("select=x:name + 1", "type-mismatch", "a number"),
    ("select=x:%25@", "missing-argument", ""),
    ("select=name&arg=1", "bad-parameter", "belong to a `where`"),
    ("select=n:@count&having=n > 1", "bad-parameter", "there is no `group`"),
    ("select=n:@count&group=name:month", "type-mismatch", "a date"),
    ("select=n:@count&group=founded:initial", "type-mismatch", "text"),
    ("select=n:@count&group=founded:week", "unknown-key-path", "`founded:week`"),
    ("select=n:@count&group=founded.week", "unknown-key-path", "`founded.week`"),
    ("select=n:@count&group=founded.month", "unknown-key-path", #""hint":"founded:month""#),
    ("group=founded.month", "unknown-key-path", "did you mean `founded:month`?"),
    ("select=m:founded.month", "unknown-key-path", "did you mean `founded:month`?"),
    ("select=n:@count&group=-founded:day", "unknown-key-path", "`-founded:day`"),
    ("select=founded,n:@count&group=founded:day", "bad-parameter", "`founded` differs"),
    ("select=n:@count&group=founded:day&sort=founded:month", "bad-parameter", "`month` belongs to"),
    ("select=name,n:@count&group=name&having=m > 1", "unknown-key-path", "`m`"),
    ("select=n:@count&group=name&having=population > 1", "bad-parameter", "`population` differs"),
    ("select=n:@count&group=name&having=n == 'x'", "type-mismatch", ""),
    ("select=n:@count&group=name&having=n >", "syntax-error", "`having`"),
    ("select=n:@count&group=name&having=n > %25@", "missing-argument", ""),
    ("select=n:@count&group=name&having=n > 1&arg=1", "unused-argument", ""),
    ("select=n:@count&group=name&having=n > 1&var.x=1", "unused-variable", ""),
    ("select=n:@count&group=name&sort=code", "bad-parameter", "neither selected nor grouped"),
    ("select=n:@count&group=name&sort=nmae", "unknown-key-path", #""hint":"name""#),
    ("select=name&distinct=true&sort=code", "bad-parameter", "is not selected"),
    (
      "select=n:@count&group=founded:month&distinct=true&sort=founded:month", "bad-parameter",
      "`founded:month` is not selected"
    ),
    ("select=population&sort=population:c", "bad-parameter", "is not text"),
    (
      "select=@distinctUnionOfObjects.name&sort=@distinctUnionOfObjects.name", "bad-parameter",
      "an array"
    ),
    ("select=n:@count&group=n", "bad-parameter", "made of the groups themselves"),
    ("select=n:@count&group=name,name", "bad-parameter", "occurs twice"),
    ("select=n:@count&group=nope", "unknown-key-path", ""),
    ("section=name", "bad-parameter", "does not go with"),
    ("expand=country", "bad-parameter", "does not go with"),
    ("after=x", "bad-parameter", "does not go with"),
    ("digest=true", "bad-parameter", "does not go with"),
  ]

  @Test func invalidParametersAreRefused() throws {
    let file = try ServedFile(dictionariesFixture)
    for (query, code, text) in Self.refused {
      let target = query.contains("%25") ? query : Self.encoded(query)
      let answer = try file.ask(
        "/v1/objects/city?as=dictionaries&\(target.replacingOccurrences(of: " ", with: "+"))")
      #expect(answer.status == 400, "\(query): \(answer.text)")
      #expect(answer.code == code, "\(query): \(answer.text)")
      #expect(text.isEmpty || answer.text.contains(text), "\(query): \(answer.text)")
    }
  }

  @Test func aCollectionOfAGroupIsRefusedWithAdviceThatHelps() throws {
    let answer = try ServedFile(dictionariesFixture).ask(
      "/v1/objects/country?as=dictionaries&select=continent,@count&group=continent"
        + "&having=city.@count%3E1")
    #expect(answer.status == 400)
    #expect(answer.code == "bad-parameter")
    #expect(
      answer.text.contains(
        "`city` differs from object to object of a group: a group has no collections, only aggregates "
          + "of its objects, like `@count`"), "\(answer.text)")
  }

  @Test func parametersOfDictionariesAreRefusedInOtherFetches() throws {
    let file = try ServedFile(dictionariesFixture)
    for query in ["group=name", "having=n>1", "distinct=true"] {
      let answer = try file.ask("/v1/objects/city?\(Self.encoded(query))")
      #expect(answer.status == 400, "\(query)")
      #expect(answer.text.contains("belongs to `as=dictionaries`"), "\(answer.text)")
    }
  }

  @Test func aToManyKeyPathIsRefused() throws {
    let file = try ServedFile(dictionariesFixture)
    for select in ["city", "@count.city", "x:@sum.city.population"] {
      let answer = try file.ask("/v1/objects/country?as=dictionaries&select=\(select)")
      #expect(answer.code == "to-many-without-quantifier", "\(answer.text)")
    }
  }

  @Test func theTotalCountsDictionariesAndTheServersLimitCutsThem() throws {
    var configuration = ServiceConfiguration()
    configuration.maxItems = 2
    let file = try ServedFile(dictionariesFixture, configuration: configuration)
    let fetch = "/v1/objects/city?as=dictionaries&count=exact"
    let grouped = try file.ask("\(fetch)&select=n:@count&group=country")
    #expect(grouped.text.contains(#""count":2,"total":4,"truncated":true"#))
    let distinct = try file.ask("\(fetch)&select=population&distinct=true&limit=1")
    #expect(distinct.text.contains(#""count":1,"total":4,"sections""#))
    let one = try file.ask("\(fetch)&select=n:@count")
    #expect(one.text.contains(#""count":1,"total":1,"sections""#))
    let none = try file.ask("\(fetch)&select=n:@count&group=country&having=n%3E9&limit=0")
    #expect(none.text.contains(#""count":0,"total":0,"sections""#))
  }

  @Test(.onlyForFiles) func sumsBeyond64BitsBecomeDoublesInAnyOrder() throws {
    let file = try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, g INTEGER, n INTEGER);
      INSERT INTO t VALUES (1,1,9223372036854775807),(2,1,1),(3,1,-1),
        (4,2,9223372036854775807),(5,2,1),(6,3,-9223372036854775808),(7,3,-9223372036854775808);
      """)
    let answer = try file.ask(
      "/v1/objects/t?as=dictionaries&select=s:@sum.n,a:@avg.n&group=g")
    #expect(
      answer.text.hasSuffix(
        #"[{"s":9223372036854775807,"a":3.0744573456182584e+18},"#
          + #"{"s":9.223372036854776e+18,"a":4.611686018427388e+18},"#
          + #"{"s":-1.8446744073709552e+19,"a":-9.223372036854776e+18}]}]}"#),
      "\(answer.text)")
  }

  @Test(.onlyForFiles) func averagesOfDecimalsAreTakenInDecimalDigits() throws {
    let file = try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, g INTEGER, n DECIMAL);
      INSERT INTO t VALUES (1,1,0.1),(2,1,0.2),(3,2,1),(4,2,9e999),(5,3,'x'),(6,4,1),(7,4,2);
      """)
    let answer = try file.ask(
      "/v1/objects/t?as=dictionaries&select=s:@sum.n,a:@avg.n&group=g")
    #expect(
      answer.text.hasSuffix(
        #"[{"s":0.3,"a":0.15},{"s":"Infinity","a":"Infinity"},{"s":0,"a":null},{"s":3,"a":1.5}]}]}"#
      ),
      "\(answer.text)")
  }

  @Test(
    "a text that is not a number in digits adds nothing to a sum of decimals", .onlyForFiles,
    arguments: ["nan", "inf", "-Infinity", "0x10", "0x1p3", "abc"])
  func namesAndHexadecimalNumbers(text: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n DECIMAL); INSERT INTO t VALUES (1,1.5),(2,'\(text)');
      """)
    let answer = try file.ask("/v1/objects/t?as=dictionaries&select=s:@sum.n,a:@avg.n")
    #expect(answer.text.hasSuffix(#"[{"s":1.5,"a":1.5}]}]}"#), "\(answer.text)")
  }

  @Test("a decimal with more digits than a sum has is added to the others", .onlyForFiles)
  func aDecimalOfManyDigits() throws {
    let file = try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n DECIMAL TEXT);
      INSERT INTO t VALUES (1,'1.5'),(2,'2.' || hex(zeroblob(450)) || '1');
      """)
    let answer = try file.ask("/v1/objects/t?as=dictionaries&select=s:@sum.n,a:@avg.n")
    #expect(answer.text.hasSuffix(#"[{"s":3.5,"a":1.75}]}]}"#), "\(answer.text)")
  }

  @Test(.onlyForFiles) func dictionariesAreMadeOfTheEntitysOwnObjects() throws {
    let file = try ModelContractTests.heroes()
    let count = { (query: String) in
      try file.ask("/v1/objects/\(query)&as=dictionaries").text
    }
    #expect(try count("Hero?select=n:@count").contains(#"[{"n":2}]"#))
    #expect(try count("Human?select=n:@count").contains(#"[{"n":3}]"#))
    #expect(try count("Human?select=n:@count&subentities=false").contains(#"[{"n":0}]"#))
    #expect(
      try count("Human?select=entity,n:@count&group=entity").contains(
        #"[{"entity":"Hero","n":2},{"entity":"Villain","n":1}]"#))
    #expect(
      try count("Hero?select=n:@count&group=team.name&having=@max.power%3E60").contains(
        #"[{"n":2}]"#))
  }

  @Test func fetchesThatDifferOnlyInNumbersAreDistinct() throws {
    let file = try ServedFile(dictionariesFixture)
    for _ in 0..<3 {
      for (least, people) in [(5, 60), (10, 42), (20, 24), (30, 0)] {
        let answer = try file.ask(
          "/v1/objects/city?as=dictionaries&select=s:@sum.population&where=population%3E\(least)")
        #expect(answer.text.contains("[{\"s\":\(people)}]"))
      }
    }
  }

  static func encoded(_ target: String) -> String {
    var encoded = ""
    for byte in target.utf8 {
      switch byte {
      case 0x20: encoded += "+"
      case 0x2B, 0x25, 0x22, 0x23, 0x3C, 0x3E, 0x5C, 0x7B, 0x7D, 0x80...:
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += "%" + (digits.count == 1 ? "0" : "") + digits
      default: encoded.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return encoded
  }
}
