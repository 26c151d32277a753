// A state of a result and the elements that were made of its items.

/// What a controller shows at one moment.
struct FetchedContent<Element: Fetchable> {
  let state: ResultState
  let elements: [[Element]]

  /// Makes every element anew.
  init(_ state: ResultState, in context: ManagedObjectContext) throws(MaterializationError) {
    var elements: [[Element]] = []
    for section in state.sections {
      var made: [Element] = []
      made.reserveCapacity(section.items.count)
      for item in section.items { made.append(try Element.materialize(item, in: context)) }
      elements.append(made)
    }
    self.state = state
    self.elements = elements
  }

  /// Makes those elements anew that `diff` brings or changes on its way from `old`.
  init(
    _ state: ResultState, from old: Self, by diff: Diff, in context: ManagedObjectContext
  ) throws(MaterializationError) {
    self.state = state
    elements = try rearrange(old.elements, by: diff) { position throws(MaterializationError) in
      let item = state.sections[position.section].items[position.item]
      return try Element.materialize(item, in: context)
    }
  }

  var sections: [FetchedSection<Element>] {
    zip(state.sections, elements).map { FetchedSection($0.info, objects: $1) }
  }

  subscript(position: Position) -> Element? {
    guard elements.indices.contains(position.section),
      elements[position.section].indices.contains(position.item)
    else { return nil }
    return elements[position.section][position.item]
  }

  /// Every id, in order.
  var ids: [ObjectID] { state.sections.flatMap { $0.items.map(\.id) } }
}

extension ResultState {
  /// The content by identifiers; `change` tells which of them have new values.
  func snapshot(after change: ContentChange?) -> ResultsSnapshot {
    let objects = change?.objects ?? []
    return ResultsSnapshot(
      sections: sections.map {
        .init(id: SectionIdentifier($0.info), items: $0.items.map(\.id))
      },
      reconfigured: Set(objects.lazy.filter { $0.type == .update }.map(\.id)),
      reloaded: Set(objects.lazy.filter { $0.type == .move }.map(\.id)))
  }
}

/// A controller's content by sections and ids. The ids are permanent.
public typealias ResultsSnapshot = DiffableSnapshot<SectionIdentifier, ObjectID>
