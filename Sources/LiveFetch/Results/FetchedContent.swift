// One state of a result and the elements created from its items.

import FetchModel

/// The content of a controller at one token.
struct FetchedContent<Element: Fetchable> {
  /// ``sourceState`` without unreadable objects.
  let visibleState: ResultState
  /// The state as the store sent it, to which diffs are applied.
  let sourceState: ResultState
  /// The reasons why objects of ``sourceState`` are not visible.
  let problems: [ObjectID: MaterializationError]
  /// Elements by section; empty in batch mode.
  private let elements: [[Element]]
  /// The elements created so far in batch mode.
  private(set) var loaded: [ObjectID: Element] = [:]
  let isBatched: Bool

  /// Creates every element, or none in batch mode.
  ///
  /// - Parameter decoded: the elements, if they were decoded before.
  init(
    _ source: ResultState, isBatched: Bool, in context: ManagedObjectContext,
    decoded: DecodedValues<Element>? = nil
  ) {
    var problems: [ObjectID: MaterializationError] = [:]
    for problem in decoded?.problems ?? [] { problems[problem.id] = problem }
    let sections = isBatched ? [] : source.sections
    let elements = Self.elements(of: sections, in: context, at: source.token, decoded, &problems)
    let visible = source.without(problems)
    (visibleState, sourceState, self.problems) = (visible.state, source, problems)
    self.elements = isBatched ? [] : visible.sectionIndexes.map { elements[$0] }
    self.isBatched = isBatched
  }

  /// Creates the elements of `sections`, except those with a problem, and adds the problems of those
  /// that cannot be created.
  private static func elements(
    of sections: [ResultState.Section], in context: ManagedObjectContext, at token: String,
    _ decoded: DecodedValues<Element>?, _ problems: inout [ObjectID: MaterializationError]
  ) -> [[Element]] {
    var decodedElements = decoded?.elements.makeIterator()
    context.beginMaterializing(asOf: token)
    defer { context.endMaterializing() }
    return sections.map { section in
      var elements: [Element] = []
      elements.reserveCapacity(section.items.count)
      for item in section.items where problems.isEmpty || problems[item.id] == nil {
        do throws(MaterializationError) {
          let element =
            if let next = decodedElements?.next() { next } else {
              try Element.materialize(item, in: context)
            }
          elements.append(element)
        } catch {
          problems[item.id] = error
        }
      }
      return elements
    }
  }

  /// A content of existing elements, which no diff is applied to.
  init(
    _ state: ResultState, elements: [Element], _ problems: [ObjectID: MaterializationError]
  ) {
    var rest = elements[...]
    self.elements = state.sections.map { section in
      defer { rest = rest.dropFirst(section.items.count) }
      return Array(rest.prefix(section.items.count))
    }
    (visibleState, sourceState, self.problems, isBatched) = (state, state, problems, false)
  }

  /// Creates the elements that `diff`, which led from `old` to `source`, inserts or changes.
  /// Creates all elements if one is or was unreadable.
  init(_ source: ResultState, from old: Self, by diff: Diff, in context: ManagedObjectContext) {
    context.beginMaterializing(asOf: source.token)
    defer { context.endMaterializing() }
    if old.isBatched {
      (visibleState, sourceState, elements, problems) = (source, source, [], [:])
      (isBatched, loaded) = (true, old.loaded)
      for id in diff.deleted.map(\.id) + diff.inserted.map(\.id) + diff.stale { loaded[id] = nil }
    } else if old.problems.isEmpty,
      let elements = try? Self.elements(source, from: old, by: diff, in: context)
    {
      (visibleState, sourceState, self.elements, problems) = (source, source, elements, [:])
      isBatched = false
    } else {
      self = Self(source, isBatched: false, in: context)
    }
  }

  private static func elements(
    _ state: ResultState, from old: Self, by diff: Diff, in context: ManagedObjectContext
  ) throws(MaterializationError) -> [[Element]] {
    // The diff was applied to the state, so it applies to the elements as well; if it did not, every
    // element would be created again.
    let kept: [[Element?]] =
      (try? diff.rearranged(
        old.elements.map { $0.map(Optional.some) }, isObject: { _, _ in true },
        element: { $0.kept() })) ?? state.sections.map { $0.items.map { _ in nil } }
    var elements: [[Element]] = []
    for (section, row) in zip(state.sections, kept) {
      var made: [Element] = []
      made.reserveCapacity(section.items.count)
      for (item, element) in zip(section.items, row) {
        let element = if let element { element } else { try Element.materialize(item, in: context) }
        made.append(element)
      }
      elements.append(made)
    }
    return elements
  }

  var sections: [FetchedSection<Element>] { visibleState.sections.indices.map(section(at:)) }

  func section(at index: Int) -> FetchedSection<Element> {
    let section = visibleState.sections[index]
    let objects = isBatched ? section.items.compactMap { loaded[$0.id] } : elements[index]
    return FetchedSection(
      section.info, objects: objects, numberOfObjects: section.items.count)
  }

  /// Every created element, in order.
  var objects: [Element] {
    if isBatched { return ids.compactMap { loaded[$0] } }
    // Shares the memory of a result without sections.
    return elements.count == 1 ? elements[0] : elements.flatMap { $0 }
  }

  subscript(position: Position) -> Element? {
    guard let item = visibleState[position] else { return nil }
    return isBatched ? loaded[item.id] : elements[position.section][position.item]
  }

  /// The loaded elements that differ from those of `old`, which is batched, or that were not loaded
  /// there.
  func changes(from old: Self, in context: ManagedObjectContext) -> Set<ObjectID> {
    let present =
      isBatched ? loaded : Dictionary(zip(ids, elements.flatMap { $0 })) { first, _ in first }
    return Set(
      present.filter { id, element in
        guard let before = old.loaded[id] else { return true }
        if let object = element as? ManagedObject {
          return before as? ManagedObject !== object
            || context.pending.refreshedObjects.contains(object)
        }
        return !isKnownSame(before, element)
      }.keys)
  }

  /// The visible changes of `diff`, which led here from `old`: with unreadable objects, the difference
  /// of the visible states; without batches, the diff. In batch mode an element that equals its
  /// predecessor is not an update: a diff of ids reports every changed object, even if the element
  /// does not show the changed value.
  func change(by diff: Diff, from old: Self, in context: ManagedObjectContext) -> ContentChange<
    ObjectID
  > {
    if !isBatched, !problems.isEmpty || !old.problems.isEmpty {
      return ContentChange(from: old.visibleState, to: visibleState)
    }
    guard isBatched, !diff.updated.isEmpty else { return ContentChange(diff) }
    let changed = changes(from: old, in: context)
    var diff = diff
    diff.updated.removeAll {
      old.loaded[$0.id] != nil && loaded[$0.id] != nil && !changed.contains($0.id)
    }
    return ContentChange(diff)
  }

  /// Adds an element that was loaded later.
  mutating func load(_ element: Element, of id: ObjectID) { loaded[id] = element }

  /// Every id, in order.
  var ids: [ObjectID] { visibleState.sections.flatMap { $0.items.map(\.id) } }
}

extension ResultState {
  /// The state without `objects` and without the sections that become empty.
  ///
  /// - Returns: also the indexes that the remaining sections had.
  fileprivate func without(
    _ objects: [ObjectID: MaterializationError]
  ) -> (state: ResultState, sectionIndexes: [Int]) {
    guard !objects.isEmpty else { return (self, Array(sections.indices)) }
    var state = self
    for index in sections.indices {
      state.sections[index].items.removeAll { objects[$0.id] != nil }
    }
    let remaining = sections.indices.filter { index in
      !state.sections[index].items.isEmpty
        || sections.count == 1 && sections[index].info == .unsectioned
    }
    state.sections = remaining.map { state.sections[$0] }
    return (state, remaining)
  }
}

extension Diff.Arrival {
  /// The element of an object that only moved; nil if it must be created again.
  fileprivate func kept<Kept>() -> Kept? where Element == Kept? {
    if case .moved(let change, let element) = self, change.isMereMove { element } else { nil }
  }
}

extension Diff {
  /// The remaining objects whose values may differ.
  var stale: [ObjectID] { moved.filter { !$0.isMereMove }.map(\.id) + updated.map(\.id) }
}

extension ResultState {
  /// The content by identifier, with the items that `change` updated.
  func snapshot(after change: ContentChange<ObjectID>?) -> ResultsSnapshot {
    let objects = change?.objects ?? []
    return ResultsSnapshot(
      sections: sections.map {
        .init(id: SectionIdentifier($0.info), items: $0.items.map(\.id))
      },
      reconfigured: Set(objects.lazy.filter { $0.type == .update }.map(\.id)),
      reloaded: Set(objects.lazy.filter { $0.type == .move }.map(\.id)))
  }
}

/// A controller's content by section and permanent id.
public typealias ResultsSnapshot = DiffableSnapshot<SectionIdentifier, ObjectID>
