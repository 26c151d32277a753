// Connects a controller with a delegate that can be exchanged, and lets subclasses override
// callbacks.

/// Owns a controller and forwards its callbacks to a delegate. The delegate can be exchanged, and a
/// subclass can override callbacks.
///
/// ```swift
/// final class CitiesAdapter: FetchedResultsControllerAdapter<CitiesScreen> {}
///
/// let adapter = CitiesAdapter(controller, delegate: screen)
/// try await adapter.performFetch()
/// ```
///
/// The element type is the delegate's. An overridden callback reaches the delegate only if the
/// override calls `super`. The delegate determines which of the three kinds of callbacks it gets;
/// without a delegate, the subclass's overrides do.
open class FetchedResultsControllerAdapter<Delegate: FetchedResultsControllerDelegate>:
  FetchedResultsControllerDelegate, ResultsRelay
{
  public typealias Element = Delegate.Element
  public typealias Controller = FetchedResultsController<Delegate.Element>

  /// The controller whose delegate this is.
  public private(set) var controller: Controller
  /// Receives the callbacks. Not retained.
  public weak var delegate: Delegate?

  /// Becomes the delegate of `controller`. Does not fetch.
  public init(_ controller: Controller, delegate: Delegate? = nil) {
    self.controller = controller
    self.delegate = delegate
    controller.delegate = self
  }

  /// Fetches and follows changes: see ``FetchedResultsController/performFetch(isolation:)``.
  public func performFetch(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    try await controller.performFetch(isolation: isolation)
  }

  func passesOn(to other: AnyObject) -> Bool { delegate === other }

  // MARK: - Callbacks

  open func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot) {
    guard let delegate else { return controller.reportDifference(to: self) }
    delegate.controller(controller, didChangeContentWith: snapshot)
  }

  open func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>
  ) {
    guard let delegate else { return controller.reportEachChange(to: self) }
    delegate.controller(controller, didChangeContentWith: difference)
  }

  open func controllerWillChangeContent(_ controller: Controller) {
    delegate?.controllerWillChangeContent(controller)
  }

  open func controller(
    _ controller: Controller, didChange section: FetchedSection<Delegate.Element>,
    atSectionIndex index: Int, for type: SectionChangeType
  ) {
    delegate?.controller(controller, didChange: section, atSectionIndex: index, for: type)
  }

  open func controller(
    _ controller: Controller, didChange object: Delegate.Element, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {
    delegate?.controller(
      controller, didChange: object, at: indexPath, for: type, newIndexPath: newIndexPath)
  }

  open func controller(
    _ controller: Controller, didChangeObjectWithID id: ObjectID, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {
    delegate?.controller(
      controller, didChangeObjectWithID: id, at: indexPath, for: type, newIndexPath: newIndexPath)
  }

  open func controllerDidChangeContent(_ controller: Controller) {
    delegate?.controllerDidChangeContent(controller)
  }

  open func controller(
    _ controller: Controller, sectionIndexTitleForSectionName name: String
  ) -> String? {
    delegate?.controller(controller, sectionIndexTitleForSectionName: name)
  }

  open func controller(_ controller: Controller, didFailWith error: FetchError) {
    delegate?.controller(controller, didFailWith: error)
  }
}
