// A content as identifiers only, for diffable lists and tables.

/// Sections and items by identifier, and the items with new values.
///
/// A value type: compare two snapshots, compute and apply their difference, or map sections and
/// items to types of your own.
public struct DiffableSnapshot<SectionID: Hashable, ItemID: Hashable> {
  /// A section and its items, in order.
  public struct Section {
    /// The section's identifier.
    public var id: SectionID
    /// The identifiers of the section's items.
    public var items: [ItemID]

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

// MARK: - Differences

extension DiffableSnapshot {
  /// The difference that transforms `other` into this snapshot.
  public func difference(from other: Self) -> Difference {
    let (oldItems, newItems) = (other.flattened, flattened)
    return Difference(
      sections: sectionIdentifiers.difference(from: other.sectionIdentifiers),
      items: newItems.difference(from: oldItems).inferringMoves(),
      reconfigured: reconfiguredItemIdentifiers, reloaded: reloadedItemIdentifiers)
  }

  /// This snapshot after `difference`; nil if the difference starts from another snapshot.
  public func applying(_ difference: Difference) -> Self? {
    guard let ids = sectionIdentifiers.applying(difference.sections),
      let items = flattened.applying(difference.items)
    else { return nil }
    var result = Self(
      sections: ids.map { Section(id: $0, items: []) },
      reconfigured: difference.reconfigured, reloaded: difference.reloaded)
    let numbers = Dictionary(ids.enumerated().map { ($1, $0) }) { first, _ in first }
    for item in items {
      guard let number = numbers[item.section] else { return nil }
      result.sections[number].items.append(item.id)
    }
    return result
  }

  /// Applies `difference` to this snapshot.
  ///
  /// - Returns: false if the difference starts from another snapshot; this one is then unchanged.
  @discardableResult
  public mutating func apply(_ difference: Difference) -> Bool {
    guard let result = applying(difference) else { return false }
    self = result
    return true
  }

  /// The difference of two snapshots, as Swift's `CollectionDifference` of sections and items.
  public struct Difference {
    /// Inserted and removed sections.
    public let sections: CollectionDifference<SectionID>
    /// An item that changed its section is removed and inserted.
    public let items: CollectionDifference<PlacedItem>
    /// Items with changed values: configure their cells again.
    public let reconfigured: Set<ItemID>
    /// Items whose position changed as well: reload their cells.
    public let reloaded: Set<ItemID>

    /// True if the snapshots are equal and no item has changed values.
    public var isEmpty: Bool {
      sections.isEmpty && items.isEmpty && reconfigured.isEmpty && reloaded.isEmpty
    }
  }

  /// An item and its section.
  public struct PlacedItem: Hashable {
    /// The identifier of the item's section.
    public let section: SectionID
    /// The item's identifier.
    public let id: ItemID
  }

  private var flattened: [PlacedItem] {
    sections.flatMap { section in section.items.map { PlacedItem(section: section.id, id: $0) } }
  }
}

extension DiffableSnapshot.PlacedItem: Sendable where SectionID: Sendable, ItemID: Sendable {}
extension DiffableSnapshot.Difference: Sendable where SectionID: Sendable, ItemID: Sendable {}
