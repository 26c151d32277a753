// Parameterized plans: which numbers become parameters, which plans can be parameterized, and that
// a bound plan equals the plan to which its text resolves.

import Bytes
import FetchModel
import RequestPlans
import TestSupport
import Testing

@Suite("Parameterized plans")
struct PlanCacheTests {
  private static let model = Model(entities: [
    Entity(
      name: "City",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "population", type: .integer),
        Attribute(name: "area", type: .double), Attribute(name: "price", type: .decimal),
        Attribute(name: "capital", type: .boolean), Attribute(name: "admin1", type: .string),
        Attribute(name: "founded", type: .date, dateFormat: .unixSeconds),
      ],
      relationships: [
        Relationship(name: "country", destination: 1, isToMany: false, inverse: 0)
      ], idType: .integer),
    Entity(
      name: "Country",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "rank", type: .integer),
      ],
      relationships: [Relationship(name: "cities", destination: 0, isToMany: true, inverse: 0)],
      idType: .integer),
  ])
  private static let resolver = FetchResolver(model: model, maxItems: 1_000)

  @Test(
    "only the numbers of `where` become parameters",
    arguments: [
      ("?where=population>=5&limit=50", "?where=population>=#&limit=50", ["5"]),
      ("?limit=50&where=a+%3E+12+AND+b<3", "?limit=50&where=a+%3E+#+AND+b<#", ["12", "3"]),
      ("?where=area>1.50", "?where=area>#", ["1.5"]),
      ("?where=a>-7", "?where=a>-#", ["7"]),
      ("?where=a=007", "?where=a=#", ["7"]),
      ("?where=admin1=='a1'", "?where=admin1=='a1'", []),
      ("?where=a=='it\\'s+5'+OR+b=5", "?where=a=='it\\'s+5'+OR+b=#", ["5"]),
      ("?where=a=='%5C%5C'+OR+b=5", "?where=a=='%5C%5C'+OR+b=#", ["5"]),
      ("?where=a==%225%22", "?where=a==%225%22", []),
      ("?where=a=='5", "?where=a=='5", []),
      ("?where=a>1e5+OR+a>.5+OR+a>0x10", "?where=a>1e5+OR+a>.5+OR+a>0x10", []),
      ("?where=a>1.2.3+OR+a>5.", "?where=a>1.2.3+OR+a>5.", []),
      ("?where=a>1234567890123456789", "?where=a>1234567890123456789", []),
      ("?where=a>%35+OR+a>1%35", "?where=a>%35+OR+a>1%35", []),
      ("?wher%65=a>5&sort=5", "?wher%65=a>5&sort=5", []),
      ("?elsewhere=5&sort=where=5", "?elsewhere=5&sort=where=5", []),
      ("/5?where=", "/5?where=", []), ("/5", "/5", []), ("?", "?", []),
      ("?where=5%", "?where=5%", []),
    ])
  func lifting(target: String, text: String, numbers: [String]) {
    let lifted = NormalizedTarget(target)
    #expect(lifted.text == text.replacing("#", with: "\0"))
    #expect(lifted.numbers.map(Self.text) == numbers)
  }

  @Test(
    "a plan is parameterized if its numbers are only compared with numbers or ids",
    arguments: [
      ("population >= 5", true), ("5 <= population", true), ("area != 2.5", true),
      ("population > 5 AND (area < 2.5 OR price == 7)", true), ("NOT population > 5", true),
      ("country == 7", true), ("SELF == 7", true), ("country.rank > 3", true),
      ("population > -5", true), ("name CONTAINS '5' AND population > 5", true),
      ("TRUEPREDICATE", true), ("name == 'x'", true), ("population >= 5.5", true),
      ("capital == 1", false), ("founded > CAST(5, 'NSDate')", false),
      ("population + 5 > 3", false), ("population BETWEEN {5, 7}", false),
      ("population IN {5, 7}", false), ("5 > 3", false), ("name == 'x' OR 5 == 5", false),
      ("TERNARY(population > 5, 1, 2) == 1", false), ("length(name) > 5", false),
      ("country.cities.@count > 5", false), ("ANY country.cities.population > 5", true),
      ("founded > now()", false),
    ])
  func making(predicate: String, isParameterized: Bool) throws {
    let cache = PlanCache(resolver: Self.resolver)
    _ = try Self.resolveAndInsert(predicate, in: cache)
    #expect(cache.fetch(Self.target(predicate)) == nil)
    let plan = try Self.resolveAndInsert(predicate, in: cache)
    #expect(cache.fetch(Self.target(predicate))?.plan == (isParameterized ? plan : nil))
  }

  @Test("a bound plan equals the plan to which its text resolves, for any numbers")
  func parity() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    var filled = 0
    for _ in 0..<400 {
      let cache = PlanCache(resolver: Self.resolver)
      let words = Self.condition(&random, depth: 2)
      for round in 0..<6 {
        let text = words.map { $0 == "#" ? Self.number(&random) : $0 }.joined(separator: " ")
        let bound = cache.fetch(Self.target(text))
        let plan = try? Self.resolveAndInsert(text, in: cache)
        guard let bound else { continue }
        #expect(bound.plan == plan, "seed \(seed): \(text)")
        #expect(bound.plan.hashValue == plan?.hashValue, "seed \(seed): \(text)")
        if round > 1 { filled += 1 }
      }
    }
    #expect(filled > 100, "seed \(seed)")
  }

  @Test("callers whose rules differ only in their own values have one parameterized plan")
  func callers() throws {
    let declaration = #"{"entities":{"City":{"access":{"read":"name == $user.id"}}}}"#
    let rules = try AccessRules(
      AccessDeclaration(parsing: Array(declaration.utf8)), model: Self.model)
    let cache = PlanCache(resolver: Self.resolver)
    for _ in 0..<2 { _ = try Self.resolveAndInsert("population > 5", in: cache) }
    let bound = try #require(cache.fetch(Self.target("population > 7")))
    let plans = try ["a", "b"].map { id in
      let access = rules.access(of: AccessCaller(id: id))
      let restricted = try #require(cache.restricted(bound, by: access))
      let own = try Self.resolver.resolve(
        FetchRequest(
          entity: "City", query: [("where", "population > 7"), ("limit", "5")]))
      #expect(restricted.plan == own.restricted(by: access))
      return restricted.parameterized
    }
    #expect(plans[0] === plans[1])
    #expect(plans[0] !== bound.parameterized)
    let other = rules.access(of: AccessCaller(id: "\0"))
    #expect(cache.restricted(bound, by: other) == nil)
  }

  // MARK: Words

  private static func target(_ predicate: String) -> NormalizedTarget {
    NormalizedTarget("/v1/objects/City?where=\(PercentEncoding.encodeComponent(predicate))&limit=5")
  }

  private static func resolveAndInsert(_ predicate: String, in cache: PlanCache) throws -> FetchPlan
  {
    let query = [(name: "where", value: predicate), (name: "limit", value: "5")]
    let plan = try resolver.resolve(FetchRequest(entity: "City", query: query))
    cache.insert(target(predicate), entity: "City", plan: plan)
    return plan
  }

  private static func text(_ number: Value) -> String {
    switch number {
    case .integer(let integer): "\(integer)"
    case .double(let double): "\(double)"
    default: "?"
    }
  }

  private static func number(_ random: inout SeededRandom) -> String {
    let numbers = ["0", "1", "2", "7", "007", "12.5", "0.0", "1.0", "3.25", "9007199254740993"]
    return random.pick(numbers + ["999999999999999999", "123456789.5", "1000000"])
  }

  private static func condition(_ random: inout SeededRandom, depth: Int) -> [String] {
    if depth > 0, random.next() % 3 > 0 {
      let left = condition(&random, depth: depth - 1)
      let right = condition(&random, depth: depth - 1)
      let not = random.next() % 4 == 0 ? ["NOT"] : []
      return not + ["("] + left + [random.pick(["AND", "OR", "&&"])] + right + [")"]
    }
    let relation = random.pick(["==", "!=", "<", "<=", ">", ">=", "="])
    let sign = random.next() % 5 == 0 ? ["-"] : []
    let path = [
      "population", "area", "price", "country", "SELF", "country.rank", "capital", "name",
    ]
    switch random.next() % 12 {
    case 0: return ["population BETWEEN {", "#", ",", "#", "}"]
    case 1: return ["population IN {", "#", ",", "#", "}"]
    case 2: return ["name CONTAINS 'a 5'"]
    case 3: return ["population +", "#", relation, "#"]
    case 4: return ["ANY country.cities.population", relation, "#"]
    case 5: return ["country.cities.@count", relation, "#"]
    case 6: return ["#", relation, "#"]
    case 7: return ["#", relation, random.pick(path)]
    default: return [random.pick(path), relation] + sign + ["#"]
    }
  }
}
