import FetchModel
import Synchronization

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
struct World: Sendable {
  var cities: [Int: City] = [:]
  var countries: [Int: Country] = [:]
}

/// A store that keeps every state it ever had.
final class MemoryStore: LiveStore {
  static let cityModel = Model(entities: [
    Entity(
      name: "City",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "population", type: .integer),
        Attribute(name: "isCapital", type: .boolean),
      ], relationships: [Relationship(name: "country", destination: 1, isToMany: false)],
      idType: .integer),
    Entity(
      name: "Country",
      attributes: [Attribute(name: "name", type: .string), Attribute(name: "code", type: .string)],
      relationships: [], idType: .integer),
  ])

  struct State: Sendable {
    var worlds: [World] = [World()]
    var touches: [Touches] = [Touches()]
    var epoch = "t1"
    /// The oldest position that can be continued from.
    var oldest = 0
    var failure: StoreError?
    var reads = 0
  }

  let state = Mutex(State())
  let model = MemoryStore.cityModel

  static func token(_ position: Int, epoch: String = "t1") -> Token {
    Token(epoch: epoch, position: Int64(position), nonce: UInt32(position) &* 2_654_435_761)
  }

  /// Saves what `change` does to the world and tells the new token.
  @discardableResult
  func save(_ change: (inout World) -> Void) -> Token {
    state.withLock { state in
      let old = state.worlds[state.worlds.count - 1]
      var new = old
      change(&new)
      let cities = Set(old.cities.keys).union(new.cities.keys).filter {
        old.cities[$0] != new.cities[$0]
      }
      let countries = Set(old.countries.keys).union(new.countries.keys).filter {
        old.countries[$0] != new.countries[$0]
      }
      state.worlds.append(new)
      var touches = Touches()
      if !cities.isEmpty { touches.objects[0] = Set(cities.map { .integer(Int64($0)) }) }
      if !countries.isEmpty { touches.objects[1] = Set(countries.map { .integer(Int64($0)) }) }
      state.touches.append(touches)
      return Self.token(state.worlds.count - 1, epoch: state.epoch)
    }
  }

  var token: Token {
    state.withLock { Self.token($0.worlds.count - 1, epoch: $0.epoch) }
  }

  func world(at position: Int64) -> World { state.withLock { $0.worlds[Int(position)] } }

  func read<Result>(
    _ body: (any LiveMoment) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let state = state.withLock { state in
      state.reads += 1
      return state
    }
    if let failure = state.failure { throw failure }
    return try body(MemoryMoment(state: state))
  }
}

private struct MemoryMoment: LiveMoment {
  let state: MemoryStore.State
  var now: World { state.worlds[state.worlds.count - 1] }
  var token: Token { MemoryStore.token(state.worlds.count - 1, epoch: state.epoch) }

  func standing(of token: Token) throws(StoreError) -> TokenStanding {
    token.position >= 0 && token == MemoryStore.token(Int(token.position), epoch: state.epoch)
      && token.position >= state.oldest ? .known : .expired
  }

  func touches(after position: Int64) throws(StoreError) -> Touches {
    var all = Touches()
    for touches in state.touches[min(Int(position) + 1, state.touches.count)...] {
      all.objects.merge(touches.objects) { $0.union($1) }
    }
    return all
  }

  func dictionaries(
    of plan: FetchPlan, at moment: Moment
  ) throws(StoreError) -> TabulatedResult { TabulatedResult() }

  func roots(of plan: FetchPlan, touchedBy touches: Touches) throws(StoreError) -> Set<ObjectID> {
    var roots = touches.objects[0] ?? []
    guard plan.paths.contains(where: { !$0.steps.isEmpty }), let countries = touches.objects[1]
    else { return roots }
    for (id, city) in now.cities {
      if let country = city.country, countries.contains(.integer(Int64(country))) {
        roots.insert(.integer(Int64(id)))
      }
    }
    return roots
  }

  func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?
  ) throws(StoreError) -> [OrderKey] {
    let sorted = now.keys(of: definition).filter { key in after.map { $0 < key } ?? true }
    return Array(sorted.prefix(limit ?? .max))
  }

  func total(of definition: ResultDefinition) throws(StoreError) -> Int {
    now.keys(of: definition).count
  }

  func rows(
    of plan: FetchPlan, ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> [ObjectID: Row] {
    let world = world(moment)
    var rows: [ObjectID: Row] = [:]
    for case .integer(let id) in ids {
      guard let city = world.cities[Int(id)], world.matches(city, Int(id), plan.definition) else {
        continue
      }
      rows[.integer(id)] = world.row(of: Int(id), city, plan)
    }
    return rows
  }

  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>
  ) throws(StoreError) -> [ExpandedObject] {
    try expandedObjects(of: plan, roots: ids, at: .now)
  }

  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at moment: Moment
  ) throws(StoreError) -> [ExpandedObject] {
    let world = world(moment)
    let countries = Set(
      ids.compactMap { id -> Int? in
        guard case .integer(let id) = id else { return nil }
        return world.cities[Int(id)]?.country
      })
    return countries.compactMap { id in
      world.countries[id].map {
        ExpandedObject(entity: 1, id: .integer(Int64(id)), json: $0.json(id))
      }
    }
  }

  private func world(_ moment: Moment) -> World {
    switch moment {
    case .now: now
    case .past(let position): state.worlds[Int(position)]
    }
  }
}

extension Country {
  func json(_ id: Int) -> [UInt8] {
    Array("{\"id\":\(id),\"name\":\"\(name)\",\"code\":\"\(code)\"}".utf8)
  }
}

extension World {
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

  func matches(_ city: City, _ id: Int, _ definition: ResultDefinition) -> Bool {
    guard case .comparison(let comparison) = definition.predicate.condition,
      case .path(let path) = comparison.left, case .constant(let constant) = comparison.right
    else { return true }
    switch (value(path.path, city, id), constant) {
    case (.integer(let value), .integer(let bound)): return value >= bound
    case (let value, let wanted): return value == wanted
    }
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
    cities.filter { matches($0.value, $0.key, definition) }
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

extension World {
  /// What the server would send as the snapshot of `plan`, made the slow and plain way.
  func snapshot(of plan: FetchPlan, at token: Token, in model: Model) -> ResultSnapshot {
    let all = keys(of: plan.definition)
    let behind = all.filter { key in plan.window.after.map { $0 < key } ?? true }
    let rest = behind.dropFirst(plan.window.offset)
    let shown = plan.window.limit.map { rest.prefix($0) } ?? rest
    var summary = ResultSummary(count: shown.count)
    if shown.count == plan.window.limit, let last = shown.last {
      summary.next = Cursor(of: plan.definition, in: model).encode(last)
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
          .init(info: SectionInfo(of: key, term: plan.definition.section, model: model)))
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
