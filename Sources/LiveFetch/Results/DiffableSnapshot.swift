// A content as identifiers alone: what lists and tables diff.

/// Sections and items by their identifiers, and which items have new values.
///
/// A value type: compare two of them, take the difference, apply it, map it to sections and items
/// of one's own.
public struct DiffableSnapshot<SectionID: Hashable, ItemID: Hashable> {
  public struct Section {
    public var id: SectionID
    public var items: [ItemID]

    public init(id: SectionID, items: [ItemID]) {
      self.id = id
      self.items = items
    }
  }

  public var sections: [Section]
  /// Items whose values changed since the snapshot before, and that are shown anew.
  public var reconfiguredItemIdentifiers: Set<ItemID>
  /// Items whose place in the order changed as well: whatever shows them is made anew.
  public var reloadedItemIdentifiers: Set<ItemID>

  public init(
    sections: [Section] = [], reconfigured: Set<ItemID> = [], reloaded: Set<ItemID> = []
  ) {
    self.sections = sections
    reconfiguredItemIdentifiers = reconfigured
    reloadedItemIdentifiers = reloaded
  }

  public var sectionIdentifiers: [SectionID] { sections.map(\.id) }
  public var itemIdentifiers: [ItemID] { sections.flatMap(\.items) }
  public var numberOfSections: Int { sections.count }
  public var numberOfItems: Int { sections.reduce(0) { $0 + $1.items.count } }

  /// The items of a section; none where there is no such section.
  public func itemIdentifiers(inSection id: SectionID) -> [ItemID] {
    sections.first { $0.id == id }?.items ?? []
  }

  /// The section and item numbers of `item`, in O(n).
  public func position(of item: ItemID) -> Position? {
    for (section, content) in sections.enumerated() {
      if let index = content.items.firstIndex(of: item) {
        return Position(section: section, item: index)
      }
    }
    return nil
  }

  /// The same content with sections and items of one's own.
  ///
  /// The maps should keep what is different different. What they do not tell apart stands once: items
  /// that become the same one stand where the first of them stood, and sections that become the same
  /// one are one section, at the place of the first, with the items of all.
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
  /// What leads from `other` to this snapshot.
  public func difference(from other: Self) -> Difference {
    let (oldItems, newItems) = (other.flattened, flattened)
    return Difference(
      sections: sectionIdentifiers.difference(from: other.sectionIdentifiers),
      items: newItems.difference(from: oldItems).inferringMoves(),
      reconfigured: reconfiguredItemIdentifiers, reloaded: reloadedItemIdentifiers)
  }

  /// This snapshot after `difference`; nil where it leads from another one.
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

  /// Makes this the snapshot that `difference` leads to.
  ///
  /// - Returns: false where it leads from another one; this one is then as it was.
  @discardableResult
  public mutating func apply(_ difference: Difference) -> Bool {
    guard let result = applying(difference) else { return false }
    self = result
    return true
  }

  /// Two snapshots' difference: sections and items, each as Swift's own.
  public struct Difference {
    public let sections: CollectionDifference<SectionID>
    /// An item that went to another section is removed and inserted.
    public let items: CollectionDifference<PlacedItem>
    public let reconfigured: Set<ItemID>
    public let reloaded: Set<ItemID>

    public var isEmpty: Bool {
      sections.isEmpty && items.isEmpty && reconfigured.isEmpty && reloaded.isEmpty
    }
  }

  /// An item and the section it stands in.
  public struct PlacedItem: Hashable {
    public let section: SectionID
    public let id: ItemID
  }

  private var flattened: [PlacedItem] {
    sections.flatMap { section in section.items.map { PlacedItem(section: section.id, id: $0) } }
  }
}

extension DiffableSnapshot.PlacedItem: Sendable where SectionID: Sendable, ItemID: Sendable {}
extension DiffableSnapshot.Difference: Sendable where SectionID: Sendable, ItemID: Sendable {}
