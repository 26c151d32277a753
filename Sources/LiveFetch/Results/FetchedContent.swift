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

  /// Makes those elements anew that `diff`, which led from `old` to `state`, brings or changes.
  init(
    _ state: ResultState, from old: Self, by diff: Diff, in context: ManagedObjectContext
  ) throws(MaterializationError) {
    // What `diff` could be applied to, it can rearrange.
    let kept: [[Element?]] =
      (try? diff.rearranged(
        old.elements.map { $0.map(Optional.some) }, isObject: { _, _ in true },
        element: Self.unchanged)) ?? state.sections.map { $0.items.map { _ in nil } }
    var elements: [[Element]] = []
    for (section, row) in zip(state.sections, kept) {
      var made: [Element] = []
      made.reserveCapacity(row.count)
      for (item, element) in zip(section.items, row) {
        let element = if let element { element } else { try Element.materialize(item, in: context) }
        made.append(element)
      }
      elements.append(made)
    }
    self.state = state
    self.elements = elements
  }

  /// The element of an object that merely moved; nil for what has to be made anew.
  private static func unchanged(_ arrival: Diff.Arrival<Element?>) -> Element? {
    if case .moved(let change, let element) = arrival, !change.hasChangedValues {
      element
    } else {
      nil
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
