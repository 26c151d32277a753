// Names, types and arguments: the predicates that the resolver refuses, and those that it makes
// equal.

import FetchModel
import Testing

@Suite("Predicate resolver")
struct PredicateResolverTests {
  static let model = Model(entities: [
    Entity(
      name: "City",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "population", type: .integer),
        Attribute(name: "capital", type: .boolean),
        Attribute(name: "founded", type: .date, dateFormat: .iso8601),
        Attribute(name: "flag", type: .binary), Attribute(name: "key", type: .uuid),
      ],
      relationships: [
        Relationship(name: "country", destination: 1, isToMany: false, inverse: 0)
      ], idType: .integer, aliases: ["country_id": .relationship(0)]),
    Entity(
      name: "Country", attributes: [Attribute(name: "name", type: .string)],
      relationships: [Relationship(name: "cities", destination: 0, isToMany: true, inverse: 0)],
      idType: .string),
  ])

  private func resolve(
    _ text: String, _ arguments: [PredicateArgument] = [],
    variables: [String: PredicateArgument] = [:], entity: Int = 0
  ) throws(PredicateError) -> ResolvedPredicate {
    try ResolvedPredicate(
      parsing: text, arguments: arguments, variables: variables, entity: entity,
      model: Self.model, now: Instant(seconds: 1_000))
  }

  private func error(
    _ text: String, _ arguments: [PredicateArgument] = [],
    variables: [String: PredicateArgument] = [:], entity: Int = 0
  ) -> PredicateError? {
    do { _ = try resolve(text, arguments, variables: variables, entity: entity) } catch {
      return error
    }
    return nil
  }

  @Test(
    "errors have a code, the offset, the text found there, the expected text and a hint",
    arguments: [
      ("nam == 'x'", 0, "unknown-key-path", "`nam`", "a property of City", "name"),
      ("é == 1 OR x = 1", 0, "unknown-key-path", "`é`", "a property of City", nil),
      ("5 > name", 0, "type-mismatch", "a number", "text", "`name` is text"),
      (
        "founded > 'soon'", 10, "type-mismatch", "text `soon`", "an ISO 8601 date",
        "`founded` is a date"
      ),
      (
        "country == 5", 11, "type-mismatch", "a number", "the id of an object of Country",
        "`country` is an object's id"
      ),
      (
        "population BETWEEN {1}", 19, "type-mismatch", "no pair of values",
        "two values in braces: {lower, upper}", nil
      ),
      (
        "country.cities.name = 'x'", 0, "to-many-without-quantifier", "`country.cities.name`",
        "one value", "put ANY, ALL or NONE before it, or an aggregate like `@count` after it"
      ),
      (
        "ANY name = 'x'", 4, "quantifier-without-to-many", "a single value",
        "a to-many key path after the quantifier", nil
      ),
      ("name = %@", 7, "missing-argument", "placeholder 1", "as many arguments; 0 given", nil),
      ("name = $n", 7, "missing-variable", "`$n`", "a variable that is given a value", nil),
      ("lenght(name) = 1", 0, "unknown-function", "`lenght`", "a function", "length"),
      ("length(name, 1) = 1", 0, "syntax-error", "`length` with 2 arguments", "one argument", nil),
    ] as [(String, Int, String, String, String, String?)])
  func errors(
    text: String, offset: Int, code: String, found: String, expected: String, hint: String?
  ) {
    let error = error(text)
    #expect(error?.code.rawValue == code)
    #expect(error?.offset == offset)
    #expect(error?.found == found)
    #expect(error?.expected == expected)
    #expect(error?.hint == hint)
  }

  @Test("an invalid regular expression is refused at its offset")
  func badPattern() {
    let error = error("population > 1 AND name MATCHES '(a'")
    #expect(error?.code == .badPattern)
    #expect(error?.offset == 33)
    #expect(error?.found == "`(` without `)`")
    #expect(error?.hint == "character 1 of the pattern")
  }

  @Test(
    "the offset of a mistake in a pattern is the character's own, also after escapes and wide letters",
    arguments: [
      (#"name MATCHES 'a(b'"#, 15), (#"name MATCHES 'é(b'"#, 16), (#"name MATCHES '\\\\(b'"#, 18),
      (#"name MATCHES '\d(b'"#, 16), (#"name MATCHES '\'*+('"#, 18),
      (#"name MATCHES "😀[z-a]""#, 19),
      (#"name MATCHES '\u0041(b'"#, 13), (#"name MATCHES[d] 'é(b'"#, 16),
    ])
  func placesInPatterns(text: String, offset: Int) {
    #expect(error(text)?.offset == offset)
  }

  @Test("unused arguments and variables are refused")
  func leftovers() {
    #expect(error("name = 'x'", [.text("a")])?.code == .unusedArgument)
    #expect(error("name = %@", [.text("a"), .text("b")])?.code == .unusedArgument)
    #expect(
      error("name = $a", variables: ["a": .text("x"), "b": .text("y")])?.code == .unusedVariable)
    #expect(error("name = %@ AND population = %ld", [.text("a"), .text("5")]) == nil)
    #expect(error("population = %ld", [.text("five")])?.code == .typeMismatch)
    #expect(error("population = %ld", [.json(.number("1.5"))])?.code == .typeMismatch)
    #expect(error("%K = 1", [.json(.number("5"))])?.code == .typeMismatch)
  }

  @Test(
    "text of a query string takes the type that it is compared with",
    arguments: [
      ("population == %@", "5", "population == 5"), ("name == %@", "5", "name == '5'"),
      ("capital == %@", "yes", "capital == YES"), ("SELF == %@", "7", "SELF == 7"),
      ("founded > %@", "2024-01-31", "founded > '2024-01-31T00:00:00Z'"),
      ("population IN %@", "[1, 2]", "population IN {1, 2}"),
      ("name IN %@", "[\"a\"]", "name IN {'a'}"), ("country == %@", "7", "country == '7'"),
      ("%K == 5", "population", "population == 5"),
      ("%K == 'x'", "country.name", "country.name == 'x'"),
      ("population / 2 > %f", "1.5", "population / 2 > 1.5"),
      ("population BETWEEN %@", "[1, 2]", "population BETWEEN {1, 2}"),
    ])
  func conversions(text: String, argument: String, plain: String) throws {
    #expect(try resolve(text, [.text(argument)]) == resolve(plain))
  }

  @Test(
    "with int64=string the digits of an integer in a JSON string take the type of the other side",
    arguments: [
      ("population == %@", #""9007199254740993""#, "population == 9007199254740993"),
      ("population IN %@", #"["9007199254740993", 1]"#, "population IN {9007199254740993, 1}"),
      ("population BETWEEN %@", #"["3", "5"]"#, "population BETWEEN {3, 5}"),
      ("population > %ld", #""5""#, "population > 5"),
      ("name == %@", #""5""#, "name == '5'"), ("name IN %@", #"["5"]"#, "name IN {'5'}"),
      ("SELF == %@", #""7""#, "SELF == 7"), ("country == %@", #""7""#, "country == '7'"),
    ])
  func integersInStrings(text: String, argument: String, plain: String) throws {
    let json = try JSON(parsing: Array(argument.utf8))
    let resolved = try ResolvedPredicate(
      parsing: text, arguments: [.json(json)], entity: 0, model: Self.model,
      integersAsStrings: true)
    #expect(try resolved == resolve(plain))
  }

  @Test("other strings are no integers, nor are any without int64=string")
  func otherStrings() {
    for text in ["05", "+5", "5.0", "x", ""] {
      #expect(throws: PredicateError.self) {
        _ = try ResolvedPredicate(
          parsing: "population == %@", arguments: [.json(.string(text))], entity: 0,
          model: Self.model, integersAsStrings: true)
      }
    }
    #expect(error("population == %@", [.json(.string("5"))])?.code == .typeMismatch)
  }

  @Test("texts of a query string beside each other are texts, or numbers where numbers are needed")
  func textsAlone() throws {
    let texts: [PredicateArgument] = [.text("1"), .text("2")]
    for (text, plain) in [
      ("sum({%@, %@}) == population", "sum({1, 2}) == population"),
      ("max({%@, %@}) == name", "max({'1', '2'}) == name"),
      ("%@ ==[c] %@", "'1' ==[c] '2'"),
      ("name == TERNARY(population > 1, %@, %@)", "name == TERNARY(population > 1, '1', '2')"),
    ] {
      #expect(try resolve(text, texts) == resolve(plain), "\(text)")
    }
  }

  @Test(
    "predicates that mean the same are equal",
    arguments: [
      ("population > 5", "5 < population"), ("NOT population == 5", "population != 5"),
      ("NOT (name = 'a' OR name = 'b')", "name != 'a' AND name != 'b'"),
      ("TRUEPREDICATE AND name = 'a'", "name = 'a'"), ("capital == YES", "capital == 1"),
      ("country_id == 'x'", "country == 'x'"), ("id == 1", "SELF == 1"),
      ("name LIKE 'a*'", "name BEGINSWITH 'a'"), ("name LIKE 'a\\*'", "name == 'a*'"),
      ("name =[n] 'a'", "name = 'a'"), ("population IN {1, 1}", "population IN {1}"),
      ("founded == CAST(0, 'NSDate')", "founded == '2001-01-01'"),
      ("founded < '2024-01-31T12:00:00+02:00'", "founded < '2024-01-31T10:00:00Z'"),
      ("country.cities.@count > 0", "country.cities.@count != 0 AND TRUEPREDICATE"),
      ("population <= nil", "population == nil"), ("name CONTAINS ''", "FALSEPREDICATE"),
      ("ALL country.cities.name = 'x'", "NOT ANY country.cities.name != 'x'"),
      (
        "add:to:(population, 1) = 2",
        "FUNCTION('add:to:', population, 1) = population + 1 AND FALSEPREDICATE OR population + 1 = 2"
      ),
    ])
  func equalities(left: String, right: String) throws {
    #expect(try resolve(left) == resolve(right))
  }

  @Test("the resolver lists every key path that the result depends on")
  func paths() throws {
    let predicate = try resolve(
      "ANY country.cities.name == 'x' AND SUBQUERY(country.cities, $c, $c.capital == YES AND name != nil).@count > 2"
    )
    #expect(
      predicate.paths.map { Self.model.text(of: $0) } == [
        "country.cities", "country.cities.name", "country.cities.capital", "name",
      ])
    #expect(try resolve("founded < now()").isNondeterministic)
    #expect(try !resolve("founded < '2024-01-01'").isNondeterministic)
  }

  @Test("results that show a value under keys of different bytes are different")
  func keysOfDictionaries() throws {
    let (one, two) = ("\u{E9}", "e\u{301}")
    func plan(_ key: String) throws(FetchRequestError) -> FetchPlan {
      var request = FetchRequest(entity: "City")
      request.shape = .dictionaries
      request.select = ["\(key):@count"]
      return try FetchResolver(model: Self.model, maxItems: 100).resolve(request)
    }
    #expect(try plan(one) == plan(one))
    #expect(try plan(one) != plan(two))
    #expect(
      SelectedValue(key: one, source: .etag) != SelectedValue(key: two, source: .etag))
  }
}
