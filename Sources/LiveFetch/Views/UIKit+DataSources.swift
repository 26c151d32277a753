// Snapshots of a results controller in the diffable data sources of UIKit.

#if canImport(UIKit) && !os(watchOS)
  import FetchModel
  import UIKit

  extension NSDiffableDataSourceSnapshot {
    /// The sections and items of `snapshot`; items with new values are reconfigured, and reloaded if
    /// they moved.
    public init(_ snapshot: DiffableSnapshot<SectionIdentifierType, ItemIdentifierType>) {
      self.init()
      appendSections(snapshot.sectionIdentifiers)
      for section in snapshot.sections { appendItems(section.items, toSection: section.id) }
      reconfigureItems(Array(snapshot.reconfiguredItemIdentifiers))
      reloadItems(Array(snapshot.reloadedItemIdentifiers))
    }
  }

  extension UICollectionViewDiffableDataSource<SectionIdentifier, ObjectID> {
    /// Shows the content of a controller, now and after each change. A cell provider gets the element
    /// by ``FetchedResultsController/object(withID:)``.
    ///
    /// - Returns: the controller's delegate, for example for errors. Keep a reference to it: nothing
    ///   else does.
    @MainActor
    public func show<Element: Fetchable>(
      _ controller: FetchedResultsController<Element>, animatingDifferences: Bool = true
    ) -> FetchedResultsControllerCallbacks<Element> {
      FetchedResultsControllerCallbacks(controller) { [weak self] snapshot, isChange in
        self?.apply(
          NSDiffableDataSourceSnapshot(snapshot),
          animatingDifferences: isChange && animatingDifferences)
      }
    }
  }

  extension UITableViewDiffableDataSource<SectionIdentifier, ObjectID> {
    /// Shows the content of a controller, now and after each change. A cell provider gets the element
    /// by ``FetchedResultsController/object(withID:)``.
    ///
    /// - Returns: the controller's delegate, for example for errors. Keep a reference to it: nothing
    ///   else does.
    @MainActor
    public func show<Element: Fetchable>(
      _ controller: FetchedResultsController<Element>, animatingDifferences: Bool = true
    ) -> FetchedResultsControllerCallbacks<Element> {
      FetchedResultsControllerCallbacks(controller) { [weak self] snapshot, isChange in
        self?.apply(
          NSDiffableDataSourceSnapshot(snapshot),
          animatingDifferences: isChange && animatingDifferences)
      }
    }
  }
#endif
