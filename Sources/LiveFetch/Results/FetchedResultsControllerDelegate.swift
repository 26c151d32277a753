// The delegate of a results controller.

/// Receives changes of the content of a ``FetchedResultsController``. Every method is optional.
///
/// A delegate gets one of three kinds of callbacks: if it implements the snapshot method, only that
/// one; otherwise, if it implements the difference method, only that one; otherwise one call per
/// change between will-change and did-change, in the order of ``ContentChange``.
///
/// During will-change the controller still has the old content, afterwards the new one.
///
/// A delegate on an actor conforms in isolation: `extension CitiesScreen: @MainActor
/// FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate<Element>: AnyObject {
  /// The type of the controller's elements.
  associatedtype Element: Fetchable
  /// The type of the controller.
  typealias Controller = FetchedResultsController<Element>

  /// The content changed to `snapshot`. Also called after the first fetch.
  func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot)
  /// The content changed; `difference` transforms the old ids into the new ones, over all sections.
  /// Also called after the first fetch, from an empty content.
  func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>)

  /// The content is about to change.
  func controllerWillChangeContent(_ controller: Controller)
  /// A section was inserted or deleted. `index` counts as ``SectionChange/index`` does.
  func controller(
    _ controller: Controller, didChange section: FetchedSection<Element>, atSectionIndex index: Int,
    for type: SectionChangeType)
  /// An object was inserted, deleted, moved or updated.
  ///
  /// - Parameters:
  ///   - controller: the controller.
  ///   - object: the object's new state; for a deleted object its old state.
  ///   - indexPath: its position in the old content; nil for an insert.
  ///   - type: the kind of change.
  ///   - newIndexPath: its position in the new content; nil for a delete.
  func controller(
    _ controller: Controller, didChange object: Element, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?)
  /// As above, for an object that a request with a `fetchBatchSize` has not loaded.
  func controller(
    _ controller: Controller, didChangeObjectWithID id: ObjectID, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?)
  /// The content changed, and every change was reported.
  func controllerDidChangeContent(_ controller: Controller)

  /// Returns a section's index title; nil means the capitalised first letter of its name.
  func controller(
    _ controller: Controller, sectionIndexTitleForSectionName name: String
  ) -> String?

  /// The store cannot be reached, the fetch failed, or a digest differed and the result is fetched
  /// again: see ``FetchedResultsController/state``. Also called for each unreadable object, which
  /// does not end the fetch: see ``FetchedResultsController/unreadableObjects``.
  func controller(_ controller: Controller, didFailWith error: FetchError)
}

extension FetchedResultsControllerDelegate {
  public func controller(
    _ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot
  ) {
    controller.reportDifference(to: self)
  }

  public func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>
  ) {
    controller.reportEachChange(to: self)
  }

  public func controllerWillChangeContent(_ controller: Controller) {}

  public func controller(
    _ controller: Controller, didChange section: FetchedSection<Element>, atSectionIndex index: Int,
    for type: SectionChangeType
  ) {}

  public func controller(
    _ controller: Controller, didChange object: Element, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {}

  public func controller(
    _ controller: Controller, didChangeObjectWithID id: ObjectID, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) {}

  public func controllerDidChangeContent(_ controller: Controller) {}

  public func controller(
    _ controller: Controller, sectionIndexTitleForSectionName name: String
  ) -> String? { nil }

  public func controller(_ controller: Controller, didFailWith error: FetchError) {}
}
