// A live result: a fetch request enters, sections of elements and their changes leave. The content
// is always the store's state at one token.

import Foundation
import Observation

/// Keeps the result of a fetch up to date with its store.
///
/// ```swift
/// let controller = FetchedResultsController(
///   fetchRequest: FetchRequest<City>(
///     where: FetchPredicate("population >= %ld", 1_000_000), sortedBy: [.descending("population")]),
///   context: context, sectionKeyPath: "country.name")
/// controller.delegate = self
/// try await controller.performFetch()
/// for await snapshot in controller.snapshots { draw(snapshot) }
/// ```
///
/// A controller belongs to one isolation domain: the actor that calls its methods. Its delegate is
/// called there. It contains saved values only, unless ``includesPendingChanges`` is true.
public final class FetchedResultsController<Element: Fetchable>: Observable {
  /// The controller's relation to its store. It retries by itself while the store cannot be reached,
  /// and resumes from its token.
  public typealias State = ResultsState<ObjectStoreError, FetchError>

  /// The context that fetches, and that contains the controller's managed objects.
  public let context: ManagedObjectContext
  /// The request in force.
  public internal(set) var fetchRequest: FetchRequest<Element>
  /// The key path by which elements are grouped; nil for no sections.
  public internal(set) var section: SortTerm?
  /// Receives the changes of the content. Not retained.
  public weak var delegate: (any FetchedResultsControllerDelegate<Element>)?
  /// Called with every new ``state``, for example when the store becomes unreachable or returns.
  public var stateDidChange: ((State) -> Void)?
  /// The seconds that one request waits for changes, from 0 to 60, which servers accept. A value
  /// outside counts as the nearer limit.
  package var holdTime = 25.0

  /// True to show unsaved changes of the context and its parents: new objects, changed values at
  /// their places, and no deleted objects. For managed objects only; takes effect with the next
  /// fetch. False, the default, shows saved values only.
  ///
  /// Changes are reported when the actor has finished the code that made them. Until a new object is
  /// saved, its id in the content is the text of its temporary id; the save is reported as an update
  /// with the permanent id. The whole result is followed, without limit, offset and batches, which
  /// apply to what is shown; a change costs O(n). Predicates and orders over properties that the class
  /// does not declare see saved values, as in ``ManagedObjectContext/fetch(_:isolation:)``. A fetch
  /// with sections by parts of values is refused. Where unsaved changes need stored values that cannot be
  /// read, the ``state`` is `offline`, and they are read again, or `failed` until the next change.
  public var includesPendingChanges = false

  let registrar = ObservationRegistrar()
  var storedContent: FetchedContent<Element>? { didSet { resumeCatchUps() } }
  /// The position of each object, computed on first use.
  var storedPositions: [ObjectID: Position]?
  var storedState = State.initial { didSet { resumeCatchUps() } }
  /// The followed result and the unsaved changes; nil if the content has saved values only.
  var pendingResults: PendingResults<Element>?
  /// The reasons why objects of the result are not in the content.
  var unreadable: [ObjectID: MaterializationError] = [:]
  /// The change that is being reported; nil outside of reports.
  var pending: PendingChange?
  /// Changes with each fetch and with ``stop()``. Another value after an `await` means that another
  /// call began in the meantime: the answer is obsolete.
  var fetchGeneration = 0
  /// The request of an update that is not in force yet; the last one wins.
  var wanted: (request: FetchRequest<Element>, section: SortTerm?)?
  /// Changes with each update and with ``stop()``. Earlier updates are superseded.
  var updateGeneration = 0
  /// The outcome of the last fetch; nil while one is in progress.
  var outcome: Result<Void, FetchError>?
  /// Calls that wait for a later one.
  var overtaken: [CheckedContinuation<Void, Never>] = []
  /// The task that requests changes and applies them; nil while nothing is followed.
  var following: Task<Void, Never>?
  /// True if a fetch was requested and the controller was not stopped since.
  var isBegun = false
  /// The readers of ``snapshots`` and ``changes``. A reader owns its channel; the controller does
  /// not.
  var channels: [WeakChannel] = []
  /// Receives accessed batches; nil unless in batch mode.
  var batchRequests: AsyncStream<Range<Int>>.Continuation?
  /// The first indexes of the batches that are being loaded.
  var requestedBatches: Set<Int> = []
  /// Objects that changed while elements were loaded, by the number of the load.
  var changedWhileLoading: [Int: Set<ObjectID>] = [:]
  var lastLoad = 0
  /// The calls of ``caughtUp(to:isolation:)`` that wait for the next content or state.
  var catchUps: [Int: AsyncStream<Void>.Continuation] = [:]
  var lastCatchUp = 0

  /// Both contents while a change is being reported.
  struct PendingChange {
    let old: FetchedContent<Element>?
    let new: FetchedContent<Element>
    /// nil for the first content.
    let change: ContentChange<ObjectID>?
  }

  /// Creates a controller. ``performFetch(isolation:)`` fetches.
  ///
  /// - Parameters:
  ///   - fetchRequest: the fetch request.
  ///   - context: the context in which elements are created; it provides the store.
  ///   - section: groups the elements; it precedes the request's sort descriptors.
  public init(
    fetchRequest: FetchRequest<Element>, context: ManagedObjectContext, section: SortTerm? = nil
  ) {
    self.fetchRequest = fetchRequest
    self.context = context
    self.section = section
  }

  /// - Parameters:
  ///   - fetchRequest: the fetch request.
  ///   - context: the context in which elements are created; it provides the store.
  ///   - sectionKeyPath: groups the elements by the value of a key path, ascending.
  public convenience init(
    fetchRequest: FetchRequest<Element>, context: ManagedObjectContext, sectionKeyPath: String
  ) {
    self.init(
      fetchRequest: fetchRequest, context: context, section: .ascending(sectionKeyPath))
  }

  private func resumeCatchUps() {
    for continuation in catchUps.values { continuation.yield() }
  }

  deinit {
    following?.cancel()
    batchRequests?.finish()
    for entry in channels { entry.channel?.finish() }
  }
}

// MARK: - The content

extension FetchedResultsController {
  private var content: FetchedContent<Element>? {
    registrar.access(self, keyPath: \.sections)
    return storedContent
  }

  /// The controller's relation to its store.
  public var state: State {
    registrar.access(self, keyPath: \.state)
    return storedState
  }

  /// The sections and their elements; empty before the first fetch. Without a section key path
  /// there is exactly one section.
  public var sections: [FetchedSection<Element>] { content?.sections ?? [] }

  /// Every element in order, in batch mode those loaded so far; nil before the first fetch.
  public var fetchedObjects: [Element]? { content?.objects }

  /// The element at `position`; nil if there is none or it is not loaded: see
  /// ``load(_:isolation:)``.
  public func object(at position: Position) -> Element? {
    if let element = content?[position] { return element }
    requestBatch(of: position)
    return nil
  }

  /// The element at a Foundation index path, `[section, item]`.
  public func object(at indexPath: IndexPath) -> Element? {
    Position(indexPath).flatMap { object(at: $0) }
  }

  /// The element with this id; nil if it is not in the result.
  public func object(withID id: ObjectID) -> Element? {
    position(of: id).flatMap { object(at: $0) }
  }

  /// The position of `element`; nil if it is not in the result.
  ///
  /// Elements are compared by id. An element that is neither `Identifiable` nor an object of this
  /// controller is not found. O(n) for an object that is not `Identifiable`.
  public func indexPath(for element: Element) -> Position? {
    if let id = element.fetchedObjectID { return position(of: id) }
    guard Element.self is AnyClass, let content else { return nil }
    for (section, row) in content.sections.enumerated() {
      if let item = row.objects.firstIndex(where: { $0 as AnyObject === element as AnyObject }) {
        return Position(section: section, item: item)
      }
    }
    return nil
  }

  /// The position of the object with this id; nil if it is not in the result. O(n) for the first
  /// call after a change, then O(1).
  public func position(of id: ObjectID) -> Position? {
    guard let content else { return nil }
    let positions = storedPositions ?? content.visibleState.positions
    storedPositions = positions
    return positions[id]
  }

  /// The ids of the content's objects by section; nil before the first fetch.
  public var snapshot: ResultsSnapshot? { content?.visibleState.snapshot(after: nil) }

  /// The snapshot's properties other than its elements, such as `total`; nil before the first fetch.
  public var summary: ResultSummary? { content?.visibleState.summary }

  /// Objects of the result whose stored values do not fit the element type, with the property and
  /// the reason. The content leaves them out, the delegate is notified once for each, and they
  /// appear when they become readable.
  ///
  /// With a `fetchBatchSize` they are part of the content and are discovered when they are loaded.
  public var unreadableObjects: [MaterializationError] {
    registrar.access(self, keyPath: \.sections)
    return unreadable.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The token of the content; nil before the first fetch.
  public var token: String? { content?.visibleState.token }

  /// The distinct titles of the section index, in the sections' order.
  public var sectionIndexTitles: [String] {
    var titles: [String] = []
    for section in sections {
      let title = indexTitle(of: section)
      if titles.last != title, !titles.contains(title) { titles.append(title) }
    }
    return titles
  }

  /// The first section with the index title `title`; nil if there is none. O(sections).
  ///
  /// - Parameters:
  ///   - title: one of ``sectionIndexTitles``.
  ///   - index: the title's index; ignored.
  public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
    sections.firstIndex { indexTitle(of: $0) == title }
  }

  private func indexTitle(of section: FetchedSection<Element>) -> String {
    delegate?.controller(self, sectionIndexTitleForSectionName: section.name) ?? section.indexTitle
  }
}

// MARK: - Index paths

extension Position {
  /// Converts a Foundation index path `[section, item]`; nil if it has another length.
  public init?(_ indexPath: IndexPath) {
    guard indexPath.count == 2 else { return nil }
    self.init(section: indexPath[0], item: indexPath[1])
  }

  /// This position as a Foundation index path, for the platform's tables and collection views.
  public var indexPath: IndexPath { [section, item] }
}
