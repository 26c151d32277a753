// A delegate made of closures, where a class of one's own would be too much.

/// Is told of changes by closures.
///
/// ```swift
/// let callbacks = FetchedResultsControllerCallbacks(controller)
/// callbacks.didChangeContentWithSnapshot = { snapshot in draw(snapshot) }
/// try await controller.performFetch()
/// ```
///
/// Hold it as long as it shall be told: the controller does not. Of the three ways to be told that
/// one applies whose closure is set, as with any delegate.
public final class FetchedResultsControllerCallbacks<Element: Fetchable>:
  FetchedResultsControllerDelegate
{
  public typealias Controller = FetchedResultsController<Element>

  public let controller: Controller

  public var didChangeContentWithSnapshot: ((ResultsSnapshot) -> Void)?
  public var didChangeContentWithDifference: ((CollectionDifference<ObjectID>) -> Void)?
  public var willChangeContent: (() -> Void)?
  /// The section, its index and what happened to it.
  public var didChangeSection: ((FetchedSection<Element>, Int, SectionChangeType) -> Void)?
  /// What happened, and the object; nil for one that a request with a `fetchBatchSize` did not make
  /// so far.
  public var didChangeObject: ((ObjectChange, Element?) -> Void)?
  public var didChangeContent: (() -> Void)?
  public var didFail: ((FetchError) -> Void)?
  /// The index title for a section's name.
  public var sectionIndexTitle: ((String) -> String?)?

  /// Becomes the delegate of `controller`.
  public init(_ controller: Controller) {
    self.controller = controller
    controller.delegate = self
  }

  public func controller(
    _ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot
  ) {
    guard let didChangeContentWithSnapshot else { return controller.tellDifference(to: self) }
    didChangeContentWithSnapshot(snapshot)
  }

  public func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>
  ) {
    guard let didChangeContentWithDifference else { return controller.tellEachChange(to: self) }
    didChangeContentWithDifference(difference)
  }

  public func controllerWillChangeContent(_ controller: Controller) { willChangeContent?() }

  public func controller(
    _ controller: Controller, didChange section: FetchedSection<Element>, atSectionIndex index: Int,
    for type: SectionChangeType
  ) { didChangeSection?(section, index, type) }

  public func controller(
    _ controller: Controller, didChange object: Element, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {
    guard let didChangeObject,
      let id = (newIndexPath ?? indexPath).flatMap({ controller.id(ofChangedAt: $0, for: type) })
    else { return }
    didChangeObject(ObjectChange(type, id, from: indexPath, to: newIndexPath), object)
  }

  public func controller(
    _ controller: Controller, didChangeObjectWithID id: ObjectID, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) { didChangeObject?(ObjectChange(type, id, from: indexPath, to: newIndexPath), nil) }

  public func controllerDidChangeContent(_ controller: Controller) { didChangeContent?() }

  public func controller(
    _ controller: Controller, sectionIndexTitleForSectionName name: String
  ) -> String? { sectionIndexTitle?(name) }

  public func controller(_ controller: Controller, didFailWith error: FetchError) {
    didFail?(error)
  }
}

extension FetchedResultsController {
  /// The id of an object while a change of it is told: deleted ones stand in the old content.
  fileprivate func id(ofChangedAt position: Position, for type: ObjectChangeType) -> ObjectID? {
    (type == .delete ? pending?.old : pending?.new)?.state[position]?.id
  }
}
