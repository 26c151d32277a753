// A live result in this process: a fetch request enters, sections of elements leave, and whoever
// wants is told what changes. The content is always that of one moment of the store.

import Foundation
import Observation

/// Keeps the result of a fetch in step with its store.
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
/// called there. It shows what was saved.
public final class FetchedResultsController<Element: Fetchable>: Observable {
  /// Where a controller stands with its store.
  public enum State {
    /// Nothing was fetched yet, or nothing is followed any more.
    case initial
    case loading
    /// The content is in step.
    case following
    /// The store cannot be reached. The content is that of the last moment known; the controller
    /// tries again by itself and resumes where it was.
    case offline(ObjectStoreError)
    /// The fetch ended; ``FetchedResultsController/performFetch(isolation:)`` begins it anew.
    case failed(FetchError)
  }

  public let context: ManagedObjectContext
  public internal(set) var fetchRequest: FetchRequest<Element>
  /// By what the elements are grouped; nil: not at all.
  public internal(set) var section: SortTerm?
  public weak var delegate: (any FetchedResultsControllerDelegate<Element>)?
  /// Is told of every new ``state``: the store went, or it is back.
  public var stateDidChange: ((State) -> Void)?
  /// How long one request for changes is held by the store, in seconds.
  public var holdTime = 25.0

  let registrar = ObservationRegistrar()
  var storedContent: FetchedContent<Element>?
  /// Where each object of the content stands, once that was asked for.
  var storedPositions: [ObjectID: Position]?
  var storedState = State.initial
  var pending: PendingChange?
  /// How many fetches were begun: the answer to an earlier one than the last counts no more.
  var fetches = 0
  /// What an update asked for that is not in force yet; the last one wins.
  var wanted: (request: FetchRequest<Element>, section: SortTerm?)?
  /// How many updates were begun, or given up: an earlier one is superseded.
  var updates = 0
  /// How the last fetch ended; nil while one is under way.
  var outcome: Result<Void, FetchError>?
  /// Calls that wait for a later one.
  var overtaken: [CheckedContinuation<Void, Never>] = []
  var following: Task<Void, Never>?
  /// Whether the content is followed by nobody, since no actor asked for it.
  var isDetached = false
  /// Whether there is to be a content: a fetch was asked for, and not stopped since.
  var isBegun = false
  /// Who reads ``snapshots`` and ``changes``; a reader keeps its channel, the controller does not.
  var channels: [WeakChannel] = []
  /// Batches that were asked for; nil unless elements are made in batches.
  var touches: AsyncStream<Range<Int>>.Continuation?
  /// The first numbers of the batches on their way.
  var touched: Set<Int> = []
  /// What was told as changed while elements were read, by the number of the reading.
  var changedWhileLoading: [Int: Set<ObjectID>] = [:]
  var lastLoad = 0

  /// Both contents while a change is told.
  struct PendingChange {
    let old: FetchedContent<Element>?
    let new: FetchedContent<Element>
    /// nil for the first content.
    let change: ContentChange?
  }

  /// Fetches nothing yet: ``performFetch(isolation:)`` does.
  ///
  /// - Parameters:
  ///   - fetchRequest: what is fetched.
  ///   - context: knows the store, and what elements are made in.
  ///   - section: how elements are grouped; it goes ahead of the request's order.
  public init(
    fetchRequest: FetchRequest<Element>, context: ManagedObjectContext, section: SortTerm? = nil
  ) {
    self.fetchRequest = fetchRequest
    self.context = context
    self.section = section
  }

  public convenience init(
    fetchRequest: FetchRequest<Element>, context: ManagedObjectContext, sectionKeyPath: String
  ) {
    self.init(
      fetchRequest: fetchRequest, context: context, section: .ascending(sectionKeyPath))
  }

  deinit {
    following?.cancel()
    touches?.finish()
    for entry in channels { entry.channel?.finish() }
  }
}

// MARK: - The content

extension FetchedResultsController {
  private var content: FetchedContent<Element>? {
    registrar.access(self, keyPath: \.sections)
    return storedContent
  }

  /// Where the controller stands with its store.
  public var state: State {
    registrar.access(self, keyPath: \.state)
    return storedState
  }

  /// The sections and their elements; empty before the first fetch. Without a section key path
  /// there is one, also where it has no elements.
  public var sections: [FetchedSection<Element>] { content?.sections ?? [] }

  /// Every element in order, with a `fetchBatchSize` those made so far; nil before the first fetch.
  public var fetchedObjects: [Element]? { content?.objects }

  /// The element at `position`; nil where there is none, or where it was not made so far: see
  /// ``load(_:isolation:)``.
  public func object(at position: Position) -> Element? {
    if let element = content?[position] { return element }
    touch(position)
    return nil
  }

  /// The element at a Foundation index path, `[section, item]`.
  public func object(at indexPath: IndexPath) -> Element? {
    Position(indexPath).flatMap { object(at: $0) }
  }

  /// The element of the object with this id; nil where it is not in the result.
  public func object(withID id: ObjectID) -> Element? {
    position(of: id).flatMap { object(at: $0) }
  }

  /// Where `element` stands; nil where it is not in the result.
  ///
  /// Elements are told apart by their ids: what is neither `Identifiable` nor an object that the
  /// controller gave is not found.
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

  /// Where the object with this id stands; nil where it is not in the result. The first time after
  /// a change it takes O(n).
  public func position(of id: ObjectID) -> Position? {
    guard let content else { return nil }
    let positions = storedPositions ?? content.state.positions
    storedPositions = positions
    return positions[id]
  }

  /// The content by permanent ids; nil before the first fetch.
  public var snapshot: ResultsSnapshot? { content?.state.snapshot(after: nil) }

  /// What the store tells of the result beside its elements; nil before the first fetch.
  public var summary: ResultSummary? { content?.state.summary }

  /// The moment of the store that the content is true of; nil before the first fetch.
  public var token: String? { content?.state.token }

  /// The titles of the sections' index, once each, in the sections' order.
  public var sectionIndexTitles: [String] {
    var titles: [String] = []
    for section in sections {
      let title = indexTitle(of: section)
      if titles.last != title, !titles.contains(title) { titles.append(title) }
    }
    return titles
  }

  /// The first section that `title` of the index stands for; nil for a title that it has not.
  ///
  /// - Parameters:
  ///   - title: one of ``sectionIndexTitles``.
  ///   - index: the title's place there; tells nothing more.
  public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
    sections.firstIndex { indexTitle(of: $0) == title }
  }

  private func indexTitle(of section: FetchedSection<Element>) -> String {
    delegate?.controller(self, sectionIndexTitleForSectionName: section.name) ?? section.indexTitle
  }
}

// MARK: - Index paths

extension Position {
  /// The place that a Foundation index path `[section, item]` names; nil for other lengths.
  public init?(_ indexPath: IndexPath) {
    guard indexPath.count == 2 else { return nil }
    self.init(section: indexPath[0], item: indexPath[1])
  }

  /// The place as a Foundation index path, which tables and collection views of the platform take.
  public var indexPath: IndexPath { [section, item] }
}
