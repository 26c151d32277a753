// A live result over any data store: batches of a query enter, sections of results and their
// changes leave.

import Foundation
import Observation

/// Keeps the results of a request in sections and order, whatever store provides them.
///
/// ```swift
/// let controller = DataStoreResultsController(store: store, request: FilterRequest<City>())
/// controller.sectionName = { $0.country }
/// controller.itemOrder = { $0.population > $1.population }
/// controller.controllerDidChangeResults = { change in draw(change) }
/// try await controller.performFetch()
/// ```
///
/// It belongs to one isolation domain: the actor that calls its methods. Its closures are called
/// there for every batch that changes the content, including the first, in this order:
/// ``controllerWillChangeContent`` (with the old content), ``controllerDidChangeResults``,
/// ``controllerDidChangeContent``. A batch of few changes calls the closures of the arrangement
/// O(log n) times for each of them; many changes, or a store that enqueues all results, cost
/// O(n log n). Sections, changes and their order are those of a ``FetchedResultsController``.
public final class DataStoreResultsController<
  Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest
>: Observable where Request.Result == Result {
  /// The running request of the controller.
  public typealias Query = DataStoreQuery<Result, Request>

  /// The controller's relation to its store. The store retries by itself while its source cannot be
  /// reached.
  public typealias State = ResultsState<any Error, any Error>

  /// The store of the results.
  public let store: DataStore<Result, Request>
  /// The request in force.
  public internal(set) var request: Request
  let throttle: Duration

  /// Filter, sections, order and window. A new value is reported as one difference.
  public var arrangement: ResultArrangement<Result> { didSet { rearrange() } }

  /// The content is about to change.
  public var controllerWillChangeContent: (() -> Void)?
  /// The content changed so.
  public var controllerDidChangeResults: ((ContentChange<Result>) -> Void)?
  /// The content changed.
  public var controllerDidChangeContent: (() -> Void)?
  /// The source failed, cannot be reached, or recovered from an error: see ``state``.
  public var controllerDidFail: ((any Error) -> Void)?

  let registrar = ObservationRegistrar()
  /// The state of the followed query.
  var followedState = State.initial
  var storedSections: [FetchedSection<Result>] = []
  var results = StoredResults<Result>()
  /// Every arranged result in order, before the window is applied.
  var ordered: [PlacedResult<Result>] = []
  var positions: [Result.InstanceID: Position]?
  /// The followed query.
  var query: Query?
  /// The query of a fetch in progress, which replaces `query` with its first results.
  var loadingQuery: Query?
  /// True if the followed query delivered results.
  var hasResults = false
  /// True if any query delivered results; before that there are no sections.
  var wasLoaded = false
  var following: Task<Void, Never>?

  /// Creates a controller. ``performFetch(isolation:)`` fetches.
  ///
  /// - Parameters:
  ///   - store: the store of the results.
  ///   - request: the request whose results are shown.
  ///   - arrangement: filter, sections, order and window.
  ///   - throttle: the longest time for which a change waits that the store enqueues by itself.
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
    for query in [query, loadingQuery].compactMap(\.self) {
      store.stop(query)
      query.finish()
    }
  }
}

// MARK: - The content

extension DataStoreResultsController {
  /// The controller's relation to its store.
  public var state: State {
    registrar.access(self, keyPath: \.state)
    return shownState
  }

  var shownState: State { loadingQuery == nil ? followedState : .loading }

  /// The sections and their results; empty before the first fetch. Without section names there is
  /// exactly one section.
  public var sections: [FetchedSection<Result>] {
    registrar.access(self, keyPath: \.sections)
    return storedSections
  }

  /// Every visible result, in order.
  public var fetchedResults: [Result] { sections.flatMap(\.objects) }

  /// The result at `position`; nil if there is none.
  public func result(at position: Position) -> Result? {
    let sections = sections
    guard sections.indices.contains(position.section),
      sections[position.section].objects.indices.contains(position.item)
    else { return nil }
    return sections[position.section].objects[position.item]
  }

  /// The position of the result with this id; nil if it is not visible. O(n) for the first call
  /// after a change, then O(1).
  public func indexPath(for id: Result.InstanceID) -> Position? {
    let sections = sections
    if positions == nil {
      var found: [Result.InstanceID: Position] = [:]
      for (section, content) in sections.enumerated() {
        for (item, result) in content.objects.enumerated() {
          found[result.instanceID] = Position(section: section, item: item)
        }
      }
      positions = found
    }
    return positions?[id]
  }

  /// The content by sections and ids.
  public var snapshot: DiffableSnapshot<SectionIdentifier, Result.InstanceID> {
    DiffableSnapshot(
      sections: sections.map { .init(id: $0.id, items: $0.objects.map(\.instanceID)) })
  }

  /// Filters results in addition to the request.
  public var filter: ((Result) -> Bool)? {
    get { arrangement.filter }
    set { arrangement.filter = newValue }
  }

  /// The name of a result's section.
  public var sectionName: ((Result) -> String)? {
    get { arrangement.sectionName }
    set { arrangement.sectionName = newValue }
  }

  /// True if a result precedes another one of its section.
  public var itemOrder: ((Result, Result) -> Bool)? {
    get { arrangement.itemOrder }
    set { arrangement.itemOrder = newValue }
  }
}
