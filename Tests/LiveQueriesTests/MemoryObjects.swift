// The objects of the memory store: their values, order keys, rows and snapshots, computed by brute force.

import FetchModel

@testable import LiveQueries

/// A country of the memory store.
struct Country: Hashable, Sendable {
  var name: String
  var code: String
}

/// A city of the memory store.
struct City: Hashable, Sendable {
  var name: String
  var population: Int
  var isCapital: Bool?
  var country: Int?
}

/// Everything at one position.
struct MemoryObjects: Sendable {
  var cities: [Int: City] = [:]
  var countries: [Int: Country] = [:]
}

extension Country {
  func json(_ id: Int) -> [UInt8] {
    Array("{\"id\":\(id),\"name\":\"\(name)\",\"code\":\"\(code)\"}".utf8)
  }
}

extension MemoryObjects {
  func value(_ path: PropertyPath, _ city: City, _ id: Int) -> Value {
    if path.steps == [0] {
      guard let country = city.country else { return .null }
      switch path.target {
      case .object: return .id(.integer(Int64(country)))
      case .attribute(let index):
        guard let country = countries[country] else { return .null }
        return .string(index == 0 ? country.name : country.code)
      }
    }
    switch path.target {
    case .object: return .id(.integer(Int64(id)))
    case .attribute(0): return .string(city.name)
    case .attribute(1): return .integer(Int64(city.population))
    case .attribute: return city.isCapital.map { .boolean($0) } ?? .null
    }
  }

  /// The stored value at the end of a path from a city or a country; nil where there is none.
  func stored(_ path: PropertyPath, _ id: Int) -> StoredValue? {
    if path.root == 0 { return cities[id].map { StoredValue(value(path, $0, id), nil) } }
    guard let country = countries[id] else { return nil }
    switch path.target {
    case .object: return .integer(Int64(id))
    case .attribute(let index): return .text(index == 0 ? country.name : country.code)
    }
  }

  /// The properties that differ between objects that are in both states.
  func changes(to new: MemoryObjects) -> [Int: [ObjectID: PropertyMask]] {
    let (city, country) = (MemoryStore.cityModel.entities[0], MemoryStore.cityModel.entities[1])
    var changes: [Int: [ObjectID: PropertyMask]] = [:]
    for (id, before) in cities {
      guard let now = new.cities[id] else { continue }
      var mask: PropertyMask = []
      if before.name != now.name { mask.formUnion(city.mask(of: .attribute(0))) }
      if before.population != now.population { mask.formUnion(city.mask(of: .attribute(1))) }
      if before.isCapital != now.isCapital { mask.formUnion(city.mask(of: .attribute(2))) }
      if before.country != now.country { mask.formUnion(city.mask(of: .relationship(0))) }
      changes[0, default: [:]][.integer(Int64(id))] = mask
    }
    for (id, before) in countries {
      guard let now = new.countries[id] else { continue }
      var mask: PropertyMask = []
      if before.name != now.name { mask.formUnion(country.mask(of: .attribute(0))) }
      if before.code != now.code { mask.formUnion(country.mask(of: .attribute(1))) }
      changes[1, default: [:]][.integer(Int64(id))] = mask
    }
    return changes
  }

  func key(of id: Int, _ city: City, _ definition: ResultDefinition) -> OrderKey {
    var encoder = OrderKeyEncoder()
    if let section = definition.section { append(section, city, id, to: &encoder) }
    let sectionLength = encoder.bytes.count
    for term in definition.order { append(term, city, id, to: &encoder) }
    let idOffset = encoder.bytes.count
    encoder.append(ObjectID.integer(Int64(id)))
    return OrderKey(
      bytes: encoder.bytes, sectionLength: UInt32(sectionLength), idOffset: UInt32(idOffset))
  }

  private func append(
    _ term: OrderTerm, _ city: City, _ id: Int, to encoder: inout OrderKeyEncoder
  ) {
    switch value(term.path, city, id) {
    case .string(var text): text.withUTF8 { encoder.append(text: $0, term.direction) }
    case .integer(let integer): encoder.append(integer, term.direction)
    case .boolean(let isTrue): encoder.append(Int64(isTrue ? 1 : 0), term.direction)
    case .id(.integer(let id)): encoder.append(id, term.direction)
    default: encoder.appendNil(term.nils)
    }
  }

  func keys(of definition: ResultDefinition) -> [OrderKey] {
    let matches = Matcher(definition)
    return cities.filter { matches($0.value, $0.key, self) }
      .map { key(of: $0.key, $0.value, definition) }.sorted()
  }

  func row(of id: Int, _ city: City, _ plan: FetchPlan) -> Row {
    var json = Array("{\"id\":\(id)".utf8)
    var values: [Range<Int>] = []
    for selected in plan.selection {
      json.append(0x2C)
      json.append(jsonString: selected.key)
      json.append(0x3A)
      let start = json.count
      if case .path(let path) = selected.source { json.append(value(path, city, id)) }
      values.append(start..<json.count)
    }
    json.append(0x7D)
    return Row(key: key(of: id, city, plan.definition), json: json, values: values)
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ value: Value) {
    switch value {
    case .string(let text): append(jsonString: text)
    case .integer(let integer): append(json: integer)
    case .boolean(let isTrue): append(json: isTrue ? "true" : "false")
    case .id(let id): append(json: id)
    default: append(json: "null")
    }
  }
}

extension MemoryObjects {
  /// The snapshot of `plan` as a server would send it, computed by brute force.
  func snapshot(of plan: FetchPlan, at token: Token, in model: Model) -> ResultSnapshot {
    let all = keys(of: plan.definition)
    let after = all.filter { key in plan.window.after.map { $0 < key } ?? true }
    let rest = after.dropFirst(plan.window.offset)
    let shown = plan.window.limit.map { rest.prefix($0) } ?? rest
    var summary = ResultSummary(count: shown.count)
    let cursor = CursorCoder(of: plan.definition, in: model)
    if plan.window.limit == 0 {
      summary.next = cursor.encodeEmptyWindow(after: plan.window.after, offset: plan.window.offset)
    } else if shown.count == plan.window.limit, let last = shown.last {
      summary.next = cursor.encode(last)
    }
    if plan.withTotal { summary.total = all.count }
    summary.isTruncated = plan.isCapped && shown.count < rest.count
    var result = ResultSnapshot(
      entity: "City", token: token.description, summary: summary,
      sections: sections(of: Array(shown), plan, model))
    if !plan.expansion.isEmpty, plan.shape == .objects { result.included = included(shown) }
    if plan.withDigest { result.summary.digest = result.digest }
    return result
  }

  private func sections(
    of keys: [OrderKey], _ plan: FetchPlan, _ model: Model
  ) -> [ResultSnapshot.Section] {
    var sections: [ResultSnapshot.Section] =
      plan.definition.section == nil ? [.init(info: .unsectioned)] : []
    var last: OrderKey?
    for key in keys {
      if plan.definition.section != nil, last?.section != key.section {
        sections.append(
          .init(
            info: SectionInfo(section: key.section, term: plan.definition.section, model: model)))
      }
      last = key
      guard case .integer(let id) = key.id, let city = cities[Int(id)] else { continue }
      let item =
        plan.shape == .ids ? Array("\(id)".utf8) : row(of: Int(id), city, plan).json
      sections[sections.count - 1].items.append(item)
    }
    return sections
  }

  private func included(_ keys: some Sequence<OrderKey>) -> Included {
    var included: Included = [:]
    for key in keys {
      guard case .integer(let id) = key.id, let country = cities[Int(id)]?.country else { continue }
      included["Country", default: [:]][.integer(Int64(country))] = countries[country]?.json(
        country)
    }
    return included
  }
}

/// Selects the cities of a definition in the memory store.
struct Matcher {
  private let evaluator: PredicateEvaluator

  init(_ definition: ResultDefinition) {
    evaluator = PredicateEvaluator(
      definition.predicate.condition, model: MemoryStore.cityModel, columns: MemoryColumns())
  }

  func callAsFunction(_ city: City, _ id: Int, _ objects: MemoryObjects) -> Bool {
    let values = evaluator.paths.map { StoredValue(objects.value($0.path, city, id), nil) }
    return evaluator.evaluate(MatchedRow(values: values)) ?? false
  }
}

private struct MatchedRow: EvaluatedRow {
  let values: [StoredValue]
  func value(of slot: Int) -> StoredValue? { values[slot] }
}
