// A store in memory that keeps every state, as a reference for the live engine.

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
    var changeSet: [ChangeSet] = [ChangeSet()]
    var epoch = "t1"
    /// The oldest position that can be continued from.
    var oldest = 0
    var failure: StoreError?
    var reads = 0
    var demands: [RetentionDemand] = []
  }

  let state = Mutex(State())
  /// Counts reads of totals, keys and rows.
  let readCounts = ReadCounts()
  let model = MemoryStore.cityModel
  /// True if it reports the changed properties of an object, and values.
  let reportsValues: Bool
  var columns: (any ColumnTraits)? { reportsValues ? MemoryColumns() : nil }

  init(reportsValues: Bool = true) { self.reportsValues = reportsValues }

  static func token(_ position: Int, epoch: String = "t1") -> Token {
    Token(
      epoch: epoch, position: HistoryPosition(Int64(position)),
      nonce: UInt32(position) &* 2_654_435_761)
  }

  /// Saves what `change` does to the world and returns the new token.
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
      var changeSet = ChangeSet()
      if !cities.isEmpty { changeSet.objects[0] = Set(cities.map { .integer(Int64($0)) }) }
      if !countries.isEmpty { changeSet.objects[1] = Set(countries.map { .integer(Int64($0)) }) }
      if reportsValues { changeSet.changes = old.changes(to: new) }
      state.changeSet.append(changeSet)
      return Self.token(state.worlds.count - 1, epoch: state.epoch)
    }
  }

  var token: Token {
    state.withLock { Self.token($0.worlds.count - 1, epoch: $0.epoch) }
  }

  func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {
    state.withLock { $0.demands.append(demand) }
  }

  var demands: [RetentionDemand] { state.withLock { $0.demands } }

  func world(at position: HistoryPosition) -> World {
    state.withLock { $0.worlds[Int(position.number)] }
  }

  func read<Result>(
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let state = state.withLock { state in
      state.reads += 1
      return state
    }
    if let failure = state.failure { throw failure }
    return try body(
      MemoryReadTransaction(state: state, reportsValues: reportsValues, readCounts: readCounts))
  }
}

/// The numbers of reads of a memory store.
final class ReadCounts: Sendable {
  let totals = Atomic(0)
  let keys = Atomic(0)
  let looks = Atomic(0)
  /// The number of objects whose rows were read.
  let rows = Atomic(0)
}

private struct MemoryReadTransaction: ReadTransaction {
  let state: MemoryStore.State
  let reportsValues: Bool
  let readCounts: ReadCounts
  var now: World { state.worlds[state.worlds.count - 1] }
  var token: Token { MemoryStore.token(state.worlds.count - 1, epoch: state.epoch) }

  func validity(of token: Token) throws(StoreError) -> TokenValidity {
    token.position.number >= 0
      && token == MemoryStore.token(Int(token.position.number), epoch: state.epoch)
      && token.position.number >= state.oldest ? .known : .expired
  }

  func changes(after position: HistoryPosition) throws(StoreError) -> ChangeSet {
    let recent = state.changeSet[min(Int(position.number) + 1, state.changeSet.count)...]
    var all = ChangeSet()
    for changeSet in recent { all.objects.merge(changeSet.objects) { $0.union($1) } }
    if reportsValues { all.changes = state.worlds[Int(position.number)].changes(to: now) }
    return all
  }

  func dictionaries(
    of plan: FetchPlan, at position: ReadPosition
  ) throws(StoreError) -> GroupedResult { GroupedResult() }

  func affectedIDs(of plan: FetchPlan, by changeSet: ChangeSet) throws(StoreError) -> Set<ObjectID>
  {
    var roots = changeSet.objects[0] ?? []
    guard plan.paths.contains(where: { !$0.steps.isEmpty }), let countries = changeSet.objects[1]
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
    let keys = Array(sorted.prefix(limit ?? .max))
    readCounts.keys.add(keys.count, ordering: .relaxed)
    readCounts.looks.add(1, ordering: .relaxed)
    return keys
  }

  func total(of definition: ResultDefinition) throws(StoreError) -> Int {
    readCounts.totals.add(1, ordering: .relaxed)
    return now.keys(of: definition).count
  }

  func rows(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: Row] {
    readCounts.rows.add(ids.count, ordering: .relaxed)
    let world = world(position)
    let matches = Matcher(plan.definition)
    var rows: [ObjectID: Row] = [:]
    for case .integer(let id) in ids {
      guard let city = world.cities[Int(id)], matches(city, Int(id), world) else {
        continue
      }
      rows[.integer(id)] = world.row(of: Int(id), city, plan)
    }
    return rows
  }

  func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]? {
    guard reportsValues else { return nil }
    let world = world(position)
    var values: [ObjectID: [StoredValue?]] = [:]
    for case .integer(let id) in ids {
      let row = paths.map { world.stored($0, Int(id)) }
      if !row.contains(nil) { values[.integer(id)] = row }
    }
    return values
  }

  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ExpandedObject] {
    let world = world(position)
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

  private func world(_ position: ReadPosition) -> World {
    switch position {
    case .now: now
    case .past(let position): state.worlds[Int(position.number)]
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

  /// The stored value at the end of a path from a city or a country; nil where there is none.
  func stored(_ path: PropertyPath, _ id: Int) -> StoredValue? {
    if path.root == 0 { return cities[id].map { StoredValue(value(path, $0, id), nil) } }
    guard let country = countries[id] else { return nil }
    switch path.target {
    case .object: return .integer(Int64(id))
    case .attribute(let index): return .text(index == 0 ? country.name : country.code)
    }
  }

  /// The properties that differ between objects that are in both worlds.
  func changes(to new: World) -> [Int: [ObjectID: PropertyMask]] {
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

extension World {
  /// The snapshot of `plan` as a server would send it, computed by brute force.
  func snapshot(of plan: FetchPlan, at token: Token, in model: Model) -> ResultSnapshot {
    let all = keys(of: plan.definition)
    let after = all.filter { key in plan.window.after.map { $0 < key } ?? true }
    let rest = after.dropFirst(plan.window.offset)
    let shown = plan.window.limit.map { rest.prefix($0) } ?? rest
    var summary = ResultSummary(count: shown.count)
    let cursor = Cursor(of: plan.definition, in: model)
    if plan.window.limit == 0 {
      summary.next = cursor.ofEmptyWindow(after: plan.window.after, offset: plan.window.offset)
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

/// Compares the memory store's values by their types.
struct MemoryColumns: ColumnTraits {
  func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule? {
    switch property {
    case .id, .relationship: .column(.integer)
    case .attribute(let index):
      MemoryStore.cityModel.entities[entity].attributes[index].type == .string
        ? .column(.text) : .column(.integer)
    }
  }
}

/// Selects the cities of a definition in the memory store.
private struct Matcher {
  private let evaluator: PredicateEvaluator

  init(_ definition: ResultDefinition) {
    evaluator = PredicateEvaluator(
      definition.predicate.condition, model: MemoryStore.cityModel, columns: MemoryColumns())
  }

  func callAsFunction(_ city: City, _ id: Int, _ world: World) -> Bool {
    let values = evaluator.paths.map { StoredValue(world.value($0.path, city, id), nil) }
    return evaluator.evaluate(MatchedRow(values: values)) ?? false
  }
}

private struct MatchedRow: EvaluatedRow {
  let values: [StoredValue]
  func value(of slot: Int) -> StoredValue? { values[slot] }
}

/// The memory store counts its saves, and tests name them by their numbers.
extension HistoryPosition: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int64) { self.init(value) }
}
