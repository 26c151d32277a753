// Snapshots of a results controller in the diffable data sources of UIKit and AppKit.

#if canImport(UIKit) && !os(watchOS)
  import FetchModel
  import UIKit

  private typealias CollectionDataSource = UICollectionViewDiffableDataSource
  private typealias TableDataSource = UITableViewDiffableDataSource
#elseif canImport(AppKit)
  import AppKit
  import FetchModel

  private typealias CollectionDataSource = NSCollectionViewDiffableDataSource
  private typealias TableDataSource = NSTableViewDiffableDataSource
#endif

#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
  extension NSDiffableDataSourceSnapshot {
    /// The sections and items of `snapshot`. Items with new values are reconfigured, and reloaded if
    /// they moved; AppKit reloads both.
    public init(_ snapshot: DiffableSnapshot<SectionIdentifierType, ItemIdentifierType>) {
      self.init()
      appendSections(snapshot.sections.map(\.id))
      for section in snapshot.sections { appendItems(section.items, toSection: section.id) }
      #if canImport(UIKit)
        reconfigureItems(Array(snapshot.reconfiguredItemIdentifiers))
      #else
        reloadItems(Array(snapshot.reconfiguredItemIdentifiers))
      #endif
      reloadItems(Array(snapshot.reloadedItemIdentifiers))
    }
  }

  extension CollectionDataSource<SectionIdentifier, ObjectID> {
    /// Shows the content of a controller, now and after each change. A cell provider gets the element
    /// by ``FetchedResultsController/object(withID:)``.
    ///
    /// - Returns: the closures that receive the changes; others of them may be set, for example for
    ///   errors. Keep a reference to it: nothing else does.
    @MainActor
    public func show<Element: Fetchable>(
      _ controller: FetchedResultsController<Element>, animatingDifferences: Bool = true
    ) -> FetchedResultsControllerCallbacks<Element> {
      FetchedResultsControllerCallbacks(controller, animatingDifferences) { [weak self] in
        self?.apply($0, animatingDifferences: $1)
      }
    }
  }

  extension TableDataSource<SectionIdentifier, ObjectID> {
    /// As for a collection view.
    @MainActor
    public func show<Element: Fetchable>(
      _ controller: FetchedResultsController<Element>, animatingDifferences: Bool = true
    ) -> FetchedResultsControllerCallbacks<Element> {
      FetchedResultsControllerCallbacks(controller, animatingDifferences) { [weak self] in
        self?.apply($0, animatingDifferences: $1)
      }
    }
  }

  extension FetchedResultsControllerCallbacks {
    /// Passes each snapshot to `apply`, and true if it is a change that is animated.
    @MainActor
    fileprivate convenience init(
      _ controller: FetchedResultsController<Element>, _ animatesChanges: Bool,
      apply:
        @escaping (NSDiffableDataSourceSnapshot<SectionIdentifier, ObjectID>, Bool) -> Void
    ) {
      self.init(controller) { snapshot, isChange in
        apply(NSDiffableDataSourceSnapshot(snapshot), isChange && animatesChanges)
      }
    }
  }
#endif
