// A content as identifiers only, for diffable lists and tables.

/// Sections and items by identifier, and the items with new values.
///
/// A value type: compare two snapshots, or map sections and items to types of your own.
public struct DiffableSnapshot<SectionID: Hashable, ItemID: Hashable> {
  /// A section and its items, in order.
  public struct Section {
    /// The section's identifier.
    public var id: SectionID
    /// The identifiers of the section's items.
    public var items: [ItemID]

    /// Makes a section.
    public init(id: SectionID, items: [ItemID]) {
      self.id = id
      self.items = items
    }
  }

  /// The sections in order.
  public var sections: [Section]
  /// Items whose values changed since the previous snapshot. Configure their cells again.
  public var reconfiguredItemIdentifiers: Set<ItemID>
  /// Items whose position changed as well. Reload their cells.
  public var reloadedItemIdentifiers: Set<ItemID>

  /// - Parameters:
  ///   - sections: the sections in order.
  ///   - reconfigured: items whose values changed.
  ///   - reloaded: items whose position changed as well.
  public init(
    sections: [Section] = [], reconfigured: Set<ItemID> = [], reloaded: Set<ItemID> = []
  ) {
    self.sections = sections
    reconfiguredItemIdentifiers = reconfigured
    reloadedItemIdentifiers = reloaded
  }

  /// The identifiers of all sections. O(sections).
  public var sectionIdentifiers: [SectionID] { sections.map(\.id) }
  /// The identifiers of all items. O(items).
  public var itemIdentifiers: [ItemID] { sections.flatMap(\.items) }
  /// The number of sections.
  public var numberOfSections: Int { sections.count }
  /// The number of items in all sections. O(sections).
  public var numberOfItems: Int { sections.reduce(0) { $0 + $1.items.count } }

  /// The items of a section; empty if there is no such section.
  public func itemIdentifiers(inSection id: SectionID) -> [ItemID] {
    sections.first { $0.id == id }?.items ?? []
  }

  /// The section and item index of `item`. O(n).
  public func position(of item: ItemID) -> Position? {
    for (section, content) in sections.enumerated() {
      if let index = content.items.firstIndex(of: item) {
        return Position(section: section, item: index)
      }
    }
    return nil
  }

  /// Maps sections and items to other types.
  ///
  /// The maps should be injective. Items that map to the same value appear once, at the position of
  /// the first. Sections that map to the same value become one section with all their items, at the
  /// position of the first.
  public func map<NewSection: Hashable, NewItem: Hashable>(
    sections mapSection: (SectionID) -> NewSection, items mapItem: (ItemID) -> NewItem
  ) -> DiffableSnapshot<NewSection, NewItem> {
    var mapped = DiffableSnapshot<NewSection, NewItem>(
      reconfigured: Set(reconfiguredItemIdentifiers.map(mapItem)),
      reloaded: Set(reloadedItemIdentifiers.map(mapItem)))
    var places: [NewSection: Int] = [:]
    var known: Set<NewItem> = []
    for section in sections {
      let id = mapSection(section.id)
      let items = section.items.map(mapItem).filter { known.insert($0).inserted }
      if let place = places[id] {
        mapped.sections[place].items += items
      } else {
        places[id] = mapped.sections.count
        mapped.sections.append(.init(id: id, items: items))
      }
    }
    return mapped
  }
}

extension DiffableSnapshot.Section: Equatable {}
extension DiffableSnapshot.Section: Hashable {}
extension DiffableSnapshot.Section: Sendable where SectionID: Sendable, ItemID: Sendable {}
extension DiffableSnapshot: Equatable {}
extension DiffableSnapshot: Hashable {}
extension DiffableSnapshot: Sendable where SectionID: Sendable, ItemID: Sendable {}
