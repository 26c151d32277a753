// The manual's example of predicates in Swift, word for word.

import LiveFetch
import LiveFetchPredicates

enum ManualPredicates {
  enum City: Queryable {
    static let entityName = "City"
    static let keys = Keys()
    struct Keys: Sendable {
      let name = AttributeKey<City, String>("name")
      let population = AttributeKey<City, Int>("population")
      let country = ToOne<City, Country>("country")
    }
  }

  enum Country: Queryable {
    static let entityName = "Country"
    static let keys = Keys()
    struct Keys: Sendable {
      let population = AttributeKey<Country, Int>("population")
      let continent = AttributeKey<Country, String>("continent")
      let cities = ToMany<Country, City>("cities")
    }
  }

  static func texts() -> [String] {
    let large: TypedPredicate<City> = \.population >= 1_000_000 && \.country.continent == "Europe"
    print(large)  // population >= 1000000 AND country.continent == "Europe"

    let crowded = Country.predicate { country in
      country.cities.filter { $0.population * 3 > country.population }.count > 0
    }
    return ["\(large)", "\(crowded)"]
  }
}
