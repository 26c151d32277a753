// A seed → fetches, objects and saves of the memory store.

import TestSupport

@testable import FetchModel

/// Random fetches and random saves over the memory store.
struct Generator: SeededCaseGenerator {
  var random: SeededRandom
  /// The greatest id of a city. With many cities, windows keep only a part of the result.
  let cities: Int

  init(seed: UInt64, cities: Int = 20) {
    random = SeededRandom(seed: seed)
    self.cities = cities
  }

  private static func path(_ attribute: Int) -> PropertyPath {
    PropertyPath(root: 0, target: .attribute(attribute))
  }

  private static func countryPath(_ attribute: Int) -> PropertyPath {
    PropertyPath(root: 0, steps: [0], target: .attribute(attribute))
  }

  static let country = PropertyPath(root: 0, steps: [0], target: .object)

  /// Conditions of every indexable kind, and some that cannot be indexed.
  mutating func predicate() -> ResolvedPredicate {
    if oneIn(4) { return .everything }
    let condition = condition(depth: 2)
    let names = [
      Self.path(0), Self.path(1), Self.path(2), Self.country, Self.countryPath(0),
      Self.countryPath(1),
    ]
    // Only its members, as the resolver lists them.
    let paths = PredicateEvaluator(
      condition, model: MemoryStore.cityModel, columns: MemoryColumns()
    ).paths.map(\.path)
    return ResolvedPredicate(condition: condition, paths: names.filter(paths.contains))
  }

  private mutating func condition(depth: Int) -> Condition {
    if depth > 0, oneIn(2) {
      let parts = [condition(depth: depth - 1), condition(depth: depth - 1)]
      return oneIn(2) ? .and(parts) : .or(parts)
    }
    let leaf = leaf()
    return oneIn(5) ? leaf.negated : leaf
  }

  private mutating func leaf() -> Condition {
    let population = Self.value(Self.path(1))
    switch number(0...7) {
    case 0...1:
      let relations: [Comparison.Relation] = [
        .equal, .less, .lessOrEqual, .greater, .greaterOrEqual,
      ]
      return comparison(population, pick(relations), .integer(Int64(number(0...9))))
    case 2:
      let lower = number(0...9)
      return .between(
        Interval(
          value: population, lower: .integer(Int64(lower)),
          upper: .integer(Int64(lower + number(0...3))), isNegated: false))
    case 3:
      let options: StringOptions = pick([[], [], .caseInsensitive, .diacriticInsensitive])
      let text = Self.value(pick([Self.path(0), Self.countryPath(0), Self.countryPath(1)]))
      let relation: Comparison.Relation = pick([.equal, .beginsWith, .greater, .contains])
      return comparison(text, relation, .string(pick(["a", "A", "b", "x", "Ä"])), options)
    case 4: return comparison(Self.value(Self.path(2)), .equal, pick([.boolean(true), .null]))
    case 5:
      let id = oneIn(4) ? Value.null : .id(.integer(Int64(number(1...4))))
      return comparison(Self.value(Self.country), .equal, id)
    case 6:
      return .membership(
        Membership(
          value: Self.value(Self.countryPath(0)),
          values: [.string(pick(["A", "B"])), .string("C")],
          includesNil: oneIn(3), options: [], isNegated: false))
    default:
      let own = Self.value(Self.path(0))
      return .comparison(
        Comparison(
          left: own, relation: .less, right: Self.value(Self.countryPath(1)), options: [],
          isNegated: false))
    }
  }

  private func comparison(
    _ left: ResolvedExpression, _ relation: Comparison.Relation, _ right: Value,
    _ options: StringOptions = []
  ) -> Condition {
    .comparison(
      Comparison(
        left: left, relation: relation, right: .constant(right), options: options,
        isNegated: false))
  }

  private static func value(_ path: PropertyPath) -> ResolvedExpression {
    .path(ScopedPath(scope: 0, path: path))
  }

  mutating func term(_ path: PropertyPath) -> OrderTerm {
    OrderTerm(
      path: path, direction: oneIn(2) ? .descending : .ascending,
      nils: pick([nil, nil, .first, .last]))
  }

  mutating func definition() -> ResultDefinition {
    let paths = [
      Self.path(0), Self.path(1), Self.path(2), Self.countryPath(0), Self.countryPath(1),
    ]
    let section = oneIn(2) ? term(pick([Self.path(2), Self.countryPath(0), Self.country])) : nil
    let order = (0..<number(0...2)).map { _ in term(pick(paths)) }
    return ResultDefinition(entity: 0, predicate: predicate(), section: section, order: order)
  }

  mutating func plan(_ objects: MemoryObjects) -> FetchPlan {
    let definition = definition()
    let isLarge = cities > 20
    let limit = oneIn(isLarge ? 8 : 3) ? nil : number(0...6)
    let keys = objects.keys(of: definition)
    let after = oneIn(5) && !keys.isEmpty ? pick(keys) : nil
    let offset = pick([0, 0, 0, number(0...(isLarge ? cities : 5))])
    let all: [SelectedValue] = [
      SelectedValue(key: "name", source: .path(Self.path(0))),
      SelectedValue(key: "population", source: .path(Self.path(1))),
      SelectedValue(key: "isCapital", source: .path(Self.path(2))),
      SelectedValue(key: "country", source: .path(Self.country)),
      SelectedValue(key: "country.name", source: .path(Self.countryPath(0))),
    ]
    return FetchPlan(
      definition: definition, window: Window(offset: offset, limit: limit, after: after),
      isCapped: limit != nil && oneIn(3), shape: pick([.objects, .objects, .objects, .ids]),
      selection: all.filter { _ in oneIn(2) }, expansion: oneIn(3) ? [Self.country] : [],
      withTotal: oneIn(3), withDigest: oneIn(2))
  }

  mutating func city() -> City {
    City(
      name: pick(["a", "b", "c", "d", "Ä"]), population: number(0...9),
      isCapital: pick([true, false, nil]), country: oneIn(5) ? nil : number(1...4))
  }

  mutating func country() -> Country {
    Country(name: pick(["A", "B", "C"]), code: pick(["x", "y", "z"]))
  }

  mutating func save(_ objects: inout MemoryObjects) {
    for _ in 0..<pick([1, 1, 1, 2, 5, cities / 4]) { change(&objects) }
  }

  private mutating func change(_ objects: inout MemoryObjects) {
    let id = number(1...cities)
    switch number(0...11) {
    case 0...2: objects.cities[id] = city()
    case 3...4: objects.cities[id] = nil
    case 5: objects.cities[id]?.name = pick(["a", "b", "c"])
    case 6...7: objects.cities[id]?.population = number(0...9)
    case 8: objects.cities[id]?.country = number(1...4)
    case 9: objects.cities[id]?.isCapital = pick([true, false, nil])
    case 10: objects.countries[number(1...4)] = country()
    default: objects.countries[number(1...4)]?.code = pick(["x", "y", "z"])
    }
  }

  mutating func objects() -> MemoryObjects {
    var objects = MemoryObjects()
    for id in 1...4 { objects.countries[id] = country() }
    for id in 1...max(16, cities) where !oneIn(3) { objects.cities[id] = city() }
    return objects
  }
}
