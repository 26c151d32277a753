// Snapshots of a results controller in the diffable data sources of AppKit.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
  import FetchModel
  import AppKit

  extension NSDiffableDataSourceSnapshot {
    /// The sections and items of `snapshot`; items with new values are reloaded.
    public init(_ snapshot: DiffableSnapshot<SectionIdentifierType, ItemIdentifierType>) {
      self.init()
      appendSections(snapshot.sectionIdentifiers)
      for section in snapshot.sections { appendItems(section.items, toSection: section.id) }
      let changed = snapshot.reconfiguredItemIdentifiers.union(snapshot.reloadedItemIdentifiers)
      reloadItems(Array(changed))
    }
  }

  extension NSCollectionViewDiffableDataSource<SectionIdentifier, ObjectID> {
    /// Shows the content of a controller, now and after each change. An item or cell provider gets the
    /// element by ``FetchedResultsController/object(withID:)``.
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

  extension NSTableViewDiffableDataSource<SectionIdentifier, ObjectID> {
    /// Shows the content of a controller, now and after each change. An item or cell provider gets the
    /// element by ``FetchedResultsController/object(withID:)``.
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
