// A live result over any data store: batches of a query enter, sections of results leave, and
// closures are told what changes.

import Foundation
import Observation

/// Keeps the results of a request in sections and order, whatever store they come from.
///
/// ```swift
/// let controller = DataStoreResultsController(store: store, request: FilterRequest<City>())
/// controller.sectionName = { $0.country }
/// controller.itemOrder = { $0.population > $1.population }
/// controller.controllerDidChangeResults = { difference in draw(difference) }
/// try await controller.performFetch()
/// ```
///
/// It belongs to one isolation domain: the actor that calls its methods. Its closures are called
/// there, for every batch that changes what is shown, the first one too, in this order:
/// ``controllerWillChangeContent`` (the old content is still shown), ``controllerDidChangeResults``,
/// ``controllerDidChangeContent``. A batch costs time in proportion to the results.
public final class DataStoreResultsController<
  Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest
>: Observable where Request.Result == Result {
  public typealias Query = DataStoreQuery<Result, Request>

  /// Where a controller stands with its store.
  public enum State {
    /// Nothing was fetched yet, or it was stopped.
    case initial
    case loading
    /// The content is in step.
    case loaded
    /// The source cannot be reached. The content is the last one known; the store tries again.
    case offline(any Error)
    /// The request ended; ``DataStoreResultsController/performFetch(isolation:)`` begins it anew.
    case failed(any Error)
  }

  public let store: DataStore<Result, Request>
  public internal(set) var request: Request
  /// How long a change waits in a query at most: see ``DataStoreQuery/throttle``.
  public let throttle: Duration

  /// Filter, sections, order and window. A new value is told as one difference.
  public var arrangement: ResultArrangement<Result> { didSet { rearrange() } }

  /// The content is about to change.
  public var controllerWillChangeContent: (() -> Void)?
  /// What changed.
  public var controllerDidChangeResults: ((DataStoreDifference<Result>) -> Void)?
  /// The content changed.
  public var controllerDidChangeContent: (() -> Void)?
  /// The source failed, cannot be reached for now, or something went wrong and was mended: see
  /// ``state``.
  public var controllerDidFail: ((any Error) -> Void)?

  let registrar = ObservationRegistrar()
  var storedState = State.initial
  var storedSections: [DataStoreSection<Result>] = []
  var results = StoredResults<Result>()
  /// Everything that the arrangement shows, windows apart, in order.
  var ordered: [PlacedResult<Result>] = []
  var positions: [Result.InstanceID: Position]?
  var query: Query?
  /// Whether the query told its results.
  var hasResults = false
  /// Whether any query did: before that there are no sections.
  var wasLoaded = false
  var following: Task<Void, Never>?

  /// Fetches nothing yet: ``performFetch(isolation:)`` does.
  public init(
    store: DataStore<Result, Request>, request: Request,
    arrangement: ResultArrangement<Result> = ResultArrangement(),
    throttle: Duration = .milliseconds(50)
  ) {
    self.store = store
    self.request = request
    self.arrangement = arrangement
    self.throttle = throttle
  }

  deinit {
    following?.cancel()
    if let query {
      store.stop(query)
      query.finish()
    }
  }
}

// MARK: - The content

extension DataStoreResultsController {
  /// Where the controller stands with its store.
  public var state: State {
    registrar.access(self, keyPath: \.state)
    return storedState
  }

  /// The sections and their results; empty before the first fetch. Without section names there is
  /// one, also where it has no results.
  public var sections: [DataStoreSection<Result>] {
    registrar.access(self, keyPath: \.sections)
    return storedSections
  }

  /// Every result shown, in order.
  public var fetchedResults: [Result] { sections.flatMap(\.results) }

  /// The result at `position`; nil where there is none.
  public func result(at position: Position) -> Result? {
    let sections = sections
    guard sections.indices.contains(position.section),
      sections[position.section].results.indices.contains(position.item)
    else { return nil }
    return sections[position.section].results[position.item]
  }

  /// Where the result with this id stands; nil where it is not shown. The first time after a change
  /// it takes O(n).
  public func indexPath(for id: Result.InstanceID) -> Position? {
    let sections = sections
    if positions == nil {
      var found: [Result.InstanceID: Position] = [:]
      for (section, content) in sections.enumerated() {
        for (item, result) in content.results.enumerated() {
          found[result.instanceID] = Position(section: section, item: item)
        }
      }
      positions = found
    }
    return positions?[id]
  }

  /// Where `result` stands; nil where it is not shown.
  public func indexPath(for result: Result) -> Position? { indexPath(for: result.instanceID) }

  /// The content by section names and ids.
  public var snapshot: DiffableSnapshot<String, Result.InstanceID> {
    DiffableSnapshot(
      sections: sections.map { .init(id: $0.name, items: $0.results.map(\.instanceID)) })
  }

  /// Which results are shown, beside what the request says.
  public var filter: ((Result) -> Bool)? {
    get { arrangement.filter }
    set { arrangement.filter = newValue }
  }

  /// The name of the section that a result stands in.
  public var sectionName: ((Result) -> String)? {
    get { arrangement.sectionName }
    set { arrangement.sectionName = newValue }
  }

  /// Whether a section stands before another, by their names.
  public var sectionOrder: ((String, String) -> Bool)? {
    get { arrangement.sectionOrder }
    set { arrangement.sectionOrder = newValue }
  }

  /// Whether a result stands before another of its section.
  public var itemOrder: ((Result, Result) -> Bool)? {
    get { arrangement.itemOrder }
    set { arrangement.itemOrder = newValue }
  }
}
