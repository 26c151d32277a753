// A state of a result and the elements that were made of its items.

/// What a controller shows at one moment.
struct FetchedContent<Element: Fetchable> {
  /// What shows: ``source`` without the objects that cannot be read.
  let state: ResultState
  /// What the store holds, and diffs lead on from.
  let source: ResultState
  /// Why objects of ``source`` do not show.
  let problems: [ObjectID: MaterializationError]
  /// By section; empty where elements are made in batches.
  private let elements: [[Element]]
  /// The elements made so far, where that is done in batches.
  private(set) var loaded: [ObjectID: Element] = [:]
  let isBatched: Bool

  /// Makes every element anew; none of them yet where they are made in batches.
  init(_ source: ResultState, isBatched: Bool, in context: ManagedObjectContext) {
    context.beginMaking(asOf: source.token)
    defer { context.endMaking() }
    var (elements, problems): ([[Element]], [ObjectID: MaterializationError]) = ([], [:])
    for section in isBatched ? [] : source.sections {
      var made: [Element] = []
      made.reserveCapacity(section.items.count)
      for item in section.items {
        do throws(MaterializationError) {
          made.append(try Element.materialize(item, in: context))
        } catch {
          problems[item.id] = error
        }
      }
      elements.append(made)
    }
    self.source = source
    self.problems = problems
    let shown = source.without(problems)
    state = shown.state
    self.elements = isBatched ? [] : shown.kept.map { elements[$0] }
    self.isBatched = isBatched
  }

  /// Makes those elements anew that `diff`, which led from `old` to `source`, brings or changes; all of
  /// them where one cannot be read, or could not before.
  init(_ source: ResultState, from old: Self, by diff: Diff, in context: ManagedObjectContext) {
    context.beginMaking(asOf: source.token)
    defer { context.endMaking() }
    if old.isBatched {
      (state, self.source, elements, problems) = (source, source, [], [:])
      (isBatched, loaded) = (true, old.loaded)
      for id in diff.deleted.map(\.id) + diff.stale { loaded[id] = nil }
    } else if old.problems.isEmpty,
      let elements = try? Self.elements(source, from: old, by: diff, in: context)
    {
      (state, self.source, self.elements, problems) = (source, source, elements, [:])
      isBatched = false
    } else {
      self = Self(source, isBatched: false, in: context)
    }
  }

  private static func elements(
    _ state: ResultState, from old: Self, by diff: Diff, in context: ManagedObjectContext
  ) throws(MaterializationError) -> [[Element]] {
    // What `diff` could be applied to, it can rearrange.
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

  var sections: [FetchedSection<Element>] { state.sections.indices.map(section(at:)) }

  func section(at index: Int) -> FetchedSection<Element> {
    let section = state.sections[index]
    let objects = isBatched ? section.items.compactMap { loaded[$0.id] } : elements[index]
    return FetchedSection(
      section.info, objects: objects, numberOfObjects: section.items.count)
  }

  /// Every element that was made, in order.
  var objects: [Element] {
    isBatched ? ids.compactMap { loaded[$0] } : elements.flatMap { $0 }
  }

  subscript(position: Position) -> Element? {
    guard let item = state[position] else { return nil }
    return isBatched ? loaded[item.id] : elements[position.section][position.item]
  }

  /// Which elements differ from those of a batched content before, or were not made there, as far as
  /// they are made here.
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

  /// What `diff`, which led here from `old`, changed: an element that was made and that is the same
  /// made anew has no update. Ids alone tell that something of an object is new, not whether the
  /// element shows it.
  func change(by diff: Diff, from old: Self, in context: ManagedObjectContext) -> ContentChange {
    if !isBatched, !problems.isEmpty || !old.problems.isEmpty {
      return ContentChange(old.state.difference(to: state))
    }
    guard isBatched, !diff.updated.isEmpty else { return ContentChange(diff) }
    let changed = changes(from: old, in: context)
    var diff = diff
    diff.updated.removeAll {
      old.loaded[$0.id] != nil && loaded[$0.id] != nil && !changed.contains($0.id)
    }
    return ContentChange(diff)
  }

  /// Takes an element over that was made later.
  mutating func load(_ element: Element, of id: ObjectID) { loaded[id] = element }

  /// Every id, in order.
  var ids: [ObjectID] { state.sections.flatMap { $0.items.map(\.id) } }
}

extension ResultState {
  /// The state without some objects, and without the sections that they alone were in.
  ///
  /// - Returns: also the numbers of the sections that stay.
  fileprivate func without(
    _ objects: [ObjectID: MaterializationError]
  ) -> (state: ResultState, kept: [Int]) {
    guard !objects.isEmpty else { return (self, Array(sections.indices)) }
    var state = self
    for index in sections.indices {
      state.sections[index].items.removeAll { objects[$0.id] != nil }
    }
    let kept = sections.indices.filter { index in
      !state.sections[index].items.isEmpty
        || sections.count == 1 && sections[index].info == .unsectioned
    }
    state.sections = kept.map { state.sections[$0] }
    return (state, kept)
  }
}

extension Diff.Arrival {
  /// The element of an object that merely moved; nil for what has to be made anew.
  fileprivate func kept<Kept>() -> Kept? where Element == Kept? {
    if case .moved(let change, let element) = self, change.isMereMove { element } else { nil }
  }
}

extension Diff {
  /// The objects that stay and whose values may differ.
  var stale: [ObjectID] { moved.filter { !$0.isMereMove }.map(\.id) + updated.map(\.id) }
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
