// A store in memory that keeps every state, as a reference for the live engine.

import FetchModel
import Synchronization

@testable import LiveQueries

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
    var states: [MemoryObjects] = [MemoryObjects()]
    var epoch = "t1"
    /// The oldest position that can be continued from.
    var oldest = 0
    var failure: StoreError?
    var reads = 0
    var demands: [RetentionDemand] = []
    /// The newest token that a fetch has read.
    var newest = Token.untracked
  }

  let state = Mutex(State())
  /// Counts reads of totals, keys and rows.
  let readCounts = ReadCounts()
  let model = MemoryStore.cityModel
  /// True if it reports the changed properties of an object, and values.
  let reportsValues: Bool
  var columns: (any ColumnTraits)? { reportsValues ? MemoryColumns() : nil }
  var newestToken: Token { state.withLock(\.newest) }

  init(reportsValues: Bool = true) { self.reportsValues = reportsValues }

  /// Replaces all objects by Shanghai and Beijing.
  @discardableResult
  func saveTwoCities() -> Token {
    save { objects in
      objects.cities = [
        1: City(name: "Shanghai", population: 24, isCapital: false, country: nil),
        2: City(name: "Beijing", population: 18, isCapital: true, country: nil),
      ]
    }
  }

  static func token(_ position: Int, epoch: String = "t1") -> Token {
    Token(
      epoch: epoch, position: HistoryPosition(Int64(position)),
      nonce: UInt32(position) &* 2_654_435_761)
  }

  /// Saves what `change` does to the objects and returns the new token.
  @discardableResult
  func save(_ change: (inout MemoryObjects) -> Void) -> Token {
    state.withLock { state in
      let old = state.states[state.states.count - 1]
      var new = old
      change(&new)
      state.states.append(new)
      return Self.token(state.states.count - 1, epoch: state.epoch)
    }
  }

  var token: Token {
    state.withLock { Self.token($0.states.count - 1, epoch: $0.epoch) }
  }

  func demand(_ demand: RetentionDemand, of reader: ObjectIdentifier) {
    state.withLock { $0.demands.append(demand) }
  }

  var demands: [RetentionDemand] { state.withLock { $0.demands } }

  func objects(at position: HistoryPosition) -> MemoryObjects {
    state.withLock { $0.states[Int(position.number)] }
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

extension MemoryObjects {
  /// The objects that differ.
  fileprivate func changedObjects(to new: MemoryObjects) -> ChangeSet {
    let changedCities = Set(cities.keys).union(new.cities.keys).filter {
      cities[$0] != new.cities[$0]
    }
    let changedCountries = Set(countries.keys).union(new.countries.keys).filter {
      countries[$0] != new.countries[$0]
    }
    var changes = ChangeSet()
    for (entity, ids) in [changedCities, changedCountries].enumerated() where !ids.isEmpty {
      changes.objects[entity] = Set(ids.map { .integer(Int64($0)) })
    }
    return changes
  }
}

/// The numbers of reads of a memory store.
final class ReadCounts: Sendable {
  let totals = Atomic(0)
  let keys = Atomic(0)
  let looks = Atomic(0)
  /// The number of objects whose rows were read.
  let rows = Atomic(0)
  /// The number of the next reads of changes that are refused because they need a newer state.
  let refusals = Atomic(0)
}

private struct MemoryReadTransaction: ReadTransaction {
  let state: MemoryStore.State
  let reportsValues: Bool
  let readCounts: ReadCounts
  var now: MemoryObjects { state.states[state.states.count - 1] }
  var token: Token { MemoryStore.token(state.states.count - 1, epoch: state.epoch) }

  func validity(of token: Token) throws(StoreError) -> TokenValidity {
    token.position.number >= 0
      && token == MemoryStore.token(Int(token.position.number), epoch: state.epoch)
      && token.position.number >= state.oldest ? .known : .expired
  }

  func changes(after position: HistoryPosition) throws(StoreError) -> ChangeSet {
    if readCounts.refusals.load(ordering: .relaxed) > 0 {
      readCounts.refusals.subtract(1, ordering: .relaxed)
      throw .busy
    }
    // As both stores: an object that changed and changed back is not among them.
    let old = state.states[Int(position.number)]
    var changes = old.changedObjects(to: now)
    if reportsValues { changes.changes = old.changes(to: now) }
    changes.hasStatesBetween = Int(position.number) + 2 < state.states.count
    return changes
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
    of definition: ResultDefinition, after: OrderKey?, limit: Int?, maxBytes: Int
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
    let objects = objects(position)
    let matches = Matcher(plan.definition)
    var rows: [ObjectID: Row] = [:]
    for case .integer(let id) in ids {
      guard let city = objects.cities[Int(id)], matches(city, Int(id), objects) else {
        continue
      }
      rows[.integer(id)] = objects.row(of: Int(id), city, plan)
    }
    return rows
  }

  func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]? {
    guard reportsValues else { return nil }
    let objects = objects(position)
    var values: [ObjectID: [StoredValue?]] = [:]
    for case .integer(let id) in ids {
      let row = paths.map { objects.stored($0, Int(id)) }
      if !row.contains(nil) { values[.integer(id)] = row }
    }
    return values
  }

  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ExpandedObject] {
    let objects = objects(position)
    let countries = Set(
      ids.compactMap { id -> Int? in
        guard case .integer(let id) = id else { return nil }
        return objects.cities[Int(id)]?.country
      })
    return countries.compactMap { id in
      objects.countries[id].map {
        ExpandedObject(entity: 1, id: .integer(Int64(id)), json: $0.json(id))
      }
    }
  }

  private func objects(_ position: ReadPosition) -> MemoryObjects {
    switch position {
    case .now: now
    case .past(let position): state.states[Int(position.number)]
    }
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

/// The memory store counts its saves, and tests name them by their numbers.
extension HistoryPosition: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int64) { self.init(value) }
}
