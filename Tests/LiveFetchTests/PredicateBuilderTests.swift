// Predicates built in Swift compared with the same predicates as text.

import FetchModel
import LiveFetch
import LiveFetchPredicates
import Testing

private enum TypedCity: Queryable {
  static let entityName = "City"
  static let keys = Keys()
  struct Keys: Sendable {
    let name = AttributeKey<TypedCity, String>("name")
    let population = AttributeKey<TypedCity, Int>("population")
    let rating = AttributeKey<TypedCity, Double>("rating")
    let capital = AttributeKey<TypedCity, Bool>("capital")
    let founded = AttributeKey<TypedCity, Instant>("founded")
    let flag = AttributeKey<TypedCity, [UInt8]>("flag")
    let `in` = AttributeKey<TypedCity, String>("in")
    let country = ToOne<TypedCity, TypedCountry>("country")
    let tags = ToMany<TypedCity, TypedTag>("tags")
  }
}

private enum TypedCountry: Queryable {
  static let entityName = "Country"
  static let keys = Keys()
  struct Keys: Sendable {
    let name = AttributeKey<TypedCountry, String>("name")
    let continent = AttributeKey<TypedCountry, String>("continent")
    let population = AttributeKey<TypedCountry, Int>("population")
    let cities = ToMany<TypedCountry, TypedCity>("cities")
    let capital = ToOne<TypedCountry, TypedCity>("capital")
  }
}

private enum TypedTag: Queryable {
  static let entityName = "Tag"
  static let keys = Keys()
  struct Keys: Sendable {
    let label = AttributeKey<TypedTag, String>("label")
    let cities = ToMany<TypedTag, TypedCity>("cities")
  }
}

@Suite("Predicates in Swift")
struct PredicateBuilderTests {
  private static let cities: [(TypedPredicate<TypedCity>, String)] = [
    // Key paths
    (
      \.population >= 1_000_000 && \.country.continent == "EU",
      "population >= 1000000 AND country.continent == \"EU\""
    ),
    (\.name == nil, "name == nil"), (\.name != nil, "name != nil"),
    (!(\.population < 5), "NOT population < 5"),
    (
      \.population <= 5 || \.population > 10 || \.capital == true,
      "population <= 5 OR population > 10 OR capital == TRUE"
    ),
    (
      (\.population == 1 || \.population == 2) && \.rating != 0.5,
      "(population == 1 OR population == 2) AND rating != 0.5"
    ),
    (\.country == 5, "country == 5"), (\.country == "x", "country == \"x\""),
    (\.country == nil, "country == nil"), (\.in == "x", "#in == \"x\""),
    (\.founded < Instant(seconds: 0), "founded < \"1970-01-01T00:00:00Z\""),
    (\.flag == [0, 1, 255], "flag == \"AAH/\""), (\.name.length > 3, "length(name) > 3"),
    (any(\.tags.label) == "big", "ANY tags.label == \"big\""),
    (all(\.tags.label) != nil, "ALL tags.label != nil"),
    (
      none(\.country.cities.population) > 5 && \.rating >= 1,
      "NONE country.cities.population > 5 AND rating >= 1.0"
    ),
    (any(\.tags) == "big", "ANY tags == \"big\""),
    (\.tags.count > 1, "tags.@count > 1"),
    (\.country.cities.population.sum > 5, "country.cities.@sum.population > 5"),
    (\.country.cities.rating.average > 5, "country.cities.@avg.rating > 5.0"),
    (
      \.country.cities.founded.max > Instant(seconds: 0),
      "country.cities.@max.founded > \"1970-01-01T00:00:00Z\""
    ),
    // Closures
    (
      TypedCity.predicate { $0.name == $0.country.name && $0.population > $0.country.population },
      "name == country.name AND population > country.population"
    ),
    (TypedCity.predicate { $0.name.beginsWith("são", .cd) }, "name BEGINSWITH[cd] \"são\""),
    (TypedCity.predicate { $0.name.endsWith("x") }, "name ENDSWITH \"x\""),
    (TypedCity.predicate { $0.name.contains("x", .c) }, "name CONTAINS[c] \"x\""),
    (TypedCity.predicate { $0.name.like("*\\*?") }, "name LIKE \"*\\\\*?\""),
    (
      TypedCity.predicate { $0.country.name.matches("[a-z]+", .d) },
      "country.name MATCHES[d] \"[a-z]+\""
    ),
    (TypedCity.predicate { $0.name.isIn(["a", nil]) }, "name IN {\"a\", nil}"),
    (TypedCity.predicate { $0.population.isBetween(1, 10) }, "population BETWEEN {1, 10}"),
    (TypedCity.predicate { $0.population.asDouble > $0.rating }, "population > rating"),
    (
      TypedCity.predicate { $0.population / 1_000 + 1 > $0.country.population },
      "population / 1000 + 1 > country.population"
    ),
    (
      TypedCity.predicate { 2 * ($0.population - 1) == -$0.population },
      "2 * (population - 1) == -population"
    ),
    (
      TypedCity.predicate { $0.name.beginsWith("x") && $0.name.contains($0.country.name, .c) },
      "name BEGINSWITH \"x\" AND name CONTAINS[c] country.name"
    ),
    (TypedCity.predicate { $0.name.equals("lima", .cd) }, "name ==[cd] \"lima\""),
    (
      TypedCity.predicate { any($0.tags.label).beginsWith("b", .c) },
      "ANY tags.label BEGINSWITH[c] \"b\""
    ),
    (
      TypedCity.predicate { any($0.country.cities.population).isBetween(1, 2) },
      "ANY country.cities.population BETWEEN {1, 2}"
    ),
    (
      TypedCity.predicate { TypedCity.object.isIn($0.country.cities) && TypedCity.object != 5 },
      "SELF IN country.cities AND SELF != 5"
    ),
    (TypedCity.predicate { $0.name.isIn($0.country.cities.name) }, "name IN country.cities.name"),
    (
      TypedCity.predicate { $0.population.isBetween($0.country.population, $0.population) },
      "population BETWEEN {country.population, population}"
    ),
    (
      TypedCity.predicate { $0.tags.first.label == "x" && $0.tags[2].label == "y" },
      "tags[FIRST].label == \"x\" AND tags[2].label == \"y\""
    ),
    (
      TypedCity.predicate { city in
        city.country.cities.filter { $0.population > city.population }.count == 0
      },
      "SUBQUERY(country.cities, $x1, $x1.population > population).@count == 0"
    ),
    (
      TypedCity.predicate { city in
        city.country.cities.filter { other in
          other.tags.filter { $0.label == other.name }.count > 0 && any(other.tags.label) == "x"
        }.population.max > city.population
      },
      "SUBQUERY(country.cities, $x2, SUBQUERY($x2.tags, $x1, $x1.label == $x2.name).@count > 0 "
        + "AND ANY $x2.tags.label == \"x\").@max.population > population"
    ),
  ]

  @Test("Swift yields the tree of the text and prints as it", arguments: cities.indices)
  func sideBySide(index: Int) throws {
    let (predicate, text) = Self.cities[index]
    #expect(predicate.description == text)
    #expect(try FetchModel.Predicate(parsing: text) == predicate.predicate)
  }

  @Test("a predicate may come from text as well")
  func parsing() throws {
    let parsed = try TypedPredicate<TypedCity>(parsing: "population > 5")
    let both = parsed && \.name == "x"
    #expect(both == TypedCity.predicate(\.population > 5 && \.name == "x"))
    #expect(throws: PredicateError.self) { try TypedPredicate<TypedCity>(parsing: "population >") }
  }

  @Test("NaN is written by its name and not as nil")
  func notANumber() {
    let predicate: TypedPredicate<TypedCity> = \.rating == Double.nan
    #expect(predicate.description == #"rating == CAST("NaN", "NSNumber")"#)
  }
}
