// Who is told what changes in a controller's content.

/// Is told of changes in the content of a ``FetchedResultsController``. Every method may be left out.
///
/// There are three ways to be told, and a delegate gets one of them: a delegate that implements the
/// snapshot method gets that one alone; else one that implements the difference method gets that
/// one alone; else each change is told by itself, between will-change and did-change, as
/// ``ContentChange`` orders them.
///
/// While will-change runs the controller still shows the old content; from then on the new one.
///
/// A delegate on an actor says so where it conforms: `extension CitiesScreen: @MainActor
/// FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate<Element>: AnyObject {
  associatedtype Element: Fetchable
  typealias Controller = FetchedResultsController<Element>

  /// The content changed; `snapshot` is the new one. Called after the first fetch as well.
  func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot)
  /// The content changed; `difference` leads from the old ids to the new ones, over all sections.
  /// Called after the first fetch as well, from nothing.
  func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>)

  /// The content is about to change.
  func controllerWillChangeContent(_ controller: Controller)
  /// A section came or went: see ``SectionChange/index`` for what `index` counts in.
  func controller(
    _ controller: Controller, didChange section: FetchedSection<Element>, atSectionIndex index: Int,
    for type: SectionChangeType)
  /// An object came, went, moved or changed.
  ///
  /// - Parameters:
  ///   - controller: whose content changes.
  ///   - object: as it is now; a deleted one as it was.
  ///   - indexPath: where it stood in the old content; nil for an insert.
  ///   - type: what happened to it.
  ///   - newIndexPath: where it stands in the new content; nil for a delete.
  func controller(
    _ controller: Controller, didChange object: Element, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?)
  /// The same of an object that a request with a `fetchBatchSize` did not make so far.
  func controller(
    _ controller: Controller, didChangeObjectWithID id: ObjectID, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?)
  /// The content changed, and every part of it was told.
  func controllerDidChangeContent(_ controller: Controller)

  /// The title for a section in the index; nil: the capitalised first letter of its name.
  func controller(
    _ controller: Controller, sectionIndexTitleForSectionName name: String
  ) -> String?

  /// The store cannot be reached, the fetch ended, or the content was out of step and is fetched
  /// anew: ``FetchedResultsController/state`` tells which, and whether the controller goes on. Also
  /// that an object of the result cannot be read, which ends nothing:
  /// ``FetchedResultsController/unreadableObjects`` has those of the moment.
  func controller(_ controller: Controller, didFailWith error: FetchError)
}

extension FetchedResultsControllerDelegate {
  public func controller(
    _ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot
  ) {
    controller.tellDifference(to: self)
  }

  public func controller(
    _ controller: Controller, didChangeContentWith difference: CollectionDifference<ObjectID>
  ) {
    controller.tellEachChange(to: self)
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
