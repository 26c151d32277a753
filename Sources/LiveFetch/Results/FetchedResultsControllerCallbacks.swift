// The changes of a controller as closures.

/// Receives a controller's changes by closures.
///
/// ```swift
/// let callbacks = FetchedResultsControllerCallbacks(controller)
/// callbacks.didChangeContentWithSnapshot = { snapshot in draw(snapshot) }
/// try await controller.performFetch()
/// ```
///
/// Keep a reference to it: the controller does not. The closures that are set determine whether it
/// gets snapshots, differences or single changes, as the methods of a
/// ``FetchedResultsControllerDelegate`` do.
public final class FetchedResultsControllerCallbacks<Element: Fetchable> {
  /// The controller whose changes are received.
  public let controller: FetchedResultsController<Element>

  /// Called with the new content's snapshot.
  public var didChangeContentWithSnapshot: ((ResultsSnapshot) -> Void)?
  /// Called with the difference from the old ids to the new ones, over all sections.
  public var didChangeContentWithDifference: ((CollectionDifference<ObjectID>) -> Void)?
  /// Called before the content changes.
  public var willChangeContent: (() -> Void)?
  /// Called with an inserted or deleted section, its index and the kind of change.
  public var didChangeSection: ((FetchedSection<Element>, Int, SectionChangeType) -> Void)?
  /// Called with an object's change and the object, which is nil if a request with a `fetchBatchSize`
  /// has not loaded it.
  public var didChangeObject: ((ObjectChange<ObjectID>, Element?) -> Void)?
  /// Called after the content changed and every change was reported.
  public var didChangeContent: (() -> Void)?
  /// Called with errors that no call threw.
  public var didFail: ((FetchError) -> Void)?
  /// Returns the index title for a section's name.
  public var sectionIndexTitle: ((String) -> String?)?

  private let relay = CallbackRelay<Element>()

  /// Replaces the delegate of `controller`.
  public init(_ controller: FetchedResultsController<Element>) {
    self.controller = controller
    relay.callbacks = self
    controller.delegate = relay
  }

  /// Replaces the delegate of `controller` and shows its content: now, if it has any, and after each
  /// change.
  ///
  /// - Parameters:
  ///   - controller: The controller whose content is shown.
  ///   - show: Shows a snapshot. Its second argument is true after a change, which a view may animate.
  public convenience init(
    _ controller: FetchedResultsController<Element>,
    showing show: @escaping (ResultsSnapshot, Bool) -> Void
  ) {
    self.init(controller)
    didChangeContentWithSnapshot = { show($0, true) }
    if let snapshot = controller.snapshot { show(snapshot, false) }
  }
}

/// A delegate that passes a controller's calls on to closures.
private final class CallbackRelay<Element: Fetchable>: FetchedResultsControllerDelegate {
  typealias Controller = FetchedResultsController<Element>

  weak var callbacks: FetchedResultsControllerCallbacks<Element>?

  func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot) {
    guard let show = callbacks?.didChangeContentWithSnapshot else {
      return controller.reportDifference(to: self)
    }
    show(snapshot)
  }

  func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>
  ) {
    guard let show = callbacks?.didChangeContentWithDifference else {
      return controller.reportEachChange(to: self)
    }
    show(difference)
  }

  func controllerWillChangeContent(_ controller: Controller) { callbacks?.willChangeContent?() }

  func controller(
    _ controller: Controller, didChange section: FetchedSection<Element>, atSectionIndex index: Int,
    for type: SectionChangeType
  ) { callbacks?.didChangeSection?(section, index, type) }

  func controller(
    _ controller: Controller, didChange object: Element, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {
    let position = newIndexPath ?? indexPath
    guard let id = position.flatMap({ controller.id(ofChangedAt: $0, for: type) }) else { return }
    callbacks?.didChangeObject?(ObjectChange(type, id, from: indexPath, to: newIndexPath), object)
  }

  func controller(
    _ controller: Controller, didChangeObjectWithID id: ObjectID, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) { callbacks?.didChangeObject?(ObjectChange(type, id, from: indexPath, to: newIndexPath), nil) }

  func controllerDidChangeContent(_ controller: Controller) { callbacks?.didChangeContent?() }

  func controller(
    _ controller: Controller, sectionIndexTitleForSectionName name: String
  ) -> String? { callbacks?.sectionIndexTitle?(name) }

  func controller(_ controller: Controller, didFailWith error: FetchError) {
    callbacks?.didFail?(error)
  }
}

extension FetchedResultsController {
  /// The id of an object during a callback; a deleted object is in the old content.
  fileprivate func id(ofChangedAt position: Position, for type: ObjectChangeType) -> ObjectID? {
    (type == .delete ? pending?.old : pending?.new)?.visibleState[position]?.id
  }
}
