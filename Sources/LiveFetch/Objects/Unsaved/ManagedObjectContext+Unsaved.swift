// Includes unsaved changes in a context's fetches. Unchanged objects come from the store; changed
// ones are evaluated by their current values and merged into the order.

/// The unsaved changes of a context and its parents that are relevant to a request.
struct UnsavedView<Element: Fetchable> {
  /// The window was validated by the caller.
  let request: FetchRequest<Element>
  /// nil if the classes do not declare everything in the request; stored values then decide.
  let evaluator: UnsavedEvaluator?
  /// Objects with unsaved values, including new ones, and objects saved after the stored result.
  let candidates: [ManagedObject]
  /// Objects that will be deleted.
  let deleted: [ObjectID]

  /// The objects of which the stored values do not count: deleted ones and, with an evaluator, the
  /// candidates.
  var excluded: Set<ObjectID> {
    Set(evaluator == nil ? deleted : deleted + candidates.compactMap(\.objectID.permanentID))
  }

  /// The request from its start, with room for the excluded objects.
  var storedRequest: FetchRequest<Element> {
    var stored = request
    stored.fetchOffset = 0
    stored.fetchLimit = request.fetchLimit.map { limit in
      let (end, isOver) = limit.addingReportingOverflow(request.fetchOffset)
      let (all, isTooLarge) = end.addingReportingOverflow(excluded.count)
      return isOver || isTooLarge ? .max : all
    }
    return stored
  }

  /// Stored elements and evaluated ones in order, within the request's window.
  func merged(
    _ stored: (items: [Item], elements: [Element]), _ unsaved: [ManagedObject]
  ) -> [Element] {
    let (here, excluded) = (Set(unsaved), excluded)
    let rows = zip(stored.items, stored.elements).filter { item, element in
      guard !excluded.contains(item.id), let object = element as? ManagedObject else {
        return false
      }
      return !here.contains(object) && !object.isDeleted
    }.map { (item: Optional($0), element: $1) }
    let new = unsaved.compactMap { object in
      (object as? Element).map { (item: Item?.none, element: $0) }
    }
    let merged = rows.inserting(new) { row in
      if let item = row.item { return evaluator?.place(of: item) }
      return (row.element as? ManagedObject).flatMap { evaluator?.place(of: $0) }
    }
    return merged.dropFirst(request.fetchOffset).prefix(request.fetchLimit ?? .max).map(\.element)
  }
}

extension Array {
  /// Inserts each new element before the first one whose sort key its own precedes, those without a key
  /// last. O(count + n log n) for n new elements.
  ///
  /// - Parameter sortKey: Returns an element's sort key; nil if it is unknown.
  func inserting(_ new: [Element], sortKey: (Element) -> [UInt8]?) -> [Element] {
    let keyed = new.map { (key: sortKey($0), element: $0) }
    var next = keyed.compactMap { one in one.key.map { (key: $0, element: one.element) } }
      .sorted { $0.key.precedes($1.key) }[...]
    var merged: [Element] = []
    merged.reserveCapacity(count + new.count)
    for element in self {
      if !next.isEmpty, let here = sortKey(element) {
        while let first = next.first, first.key.precedes(here) {
          merged.append(first.element)
          next.removeFirst()
        }
      }
      merged.append(element)
    }
    return merged + next.map(\.element) + keyed.filter { $0.key == nil }.map(\.element)
  }
}

extension ManagedObjectContext {
  /// The unsaved changes relevant to `request`; nil if there are none.
  ///
  /// - Parameters:
  ///   - section: groups the result; it precedes the request's order.
  ///   - saved: the ids of saves that the stored result may not contain yet; treated as unsaved.
  ///   - rereads: true to read changed objects again, false to use the values in memory.
  func unsavedView<Element: Fetchable>(
    of request: FetchRequest<Element>, section: SortTerm? = nil,
    saved: (changed: [ObjectID], deleted: [ObjectID]) = ([], []), rereads: Bool = true,
    isolation: isolated (any Actor)?
  ) async throws(ContextError) -> UnsavedView<Element>? {
    guard request.includesPendingChanges, let type = Element.self as? any ManagedEntity.Type,
      hasUnsavedChanges || !saved.changed.isEmpty || !saved.deleted.isEmpty
    else { return nil }
    var (candidates, updated, deleted) = ([ManagedObject](), saved.changed, saved.deleted)
    for object in unsavedObjects(of: Element.self) {
      if request.includesSubentities == false, object.entityName != type.entityName { continue }
      switch (object.stage, object.objectID.permanentID) {
      case (.deleted, let id?): deleted.append(id)
      case (.deleted, nil): break
      // An object that is new in a parent may be edited here.
      case (.inserted, _), (_, nil):
        candidates += registerFromParent(type, object.objectID).map { [$0] } ?? []
      case (_, let id?): updated.append(id)
      }
    }
    let gone = Set(deleted)
    let changed = Set(updated).subtracting(gone).sorted()
    candidates += try await objects(of: type, ids: changed, rereads: rereads, isolation)
    // An object that is edited here may be deleted in a parent.
    let removed = Set(candidates.filter { $0.isDeleted || isDeletedAbove(key(of: $0)) })
    candidates.removeAll { removed.contains($0) }
    deleted += removed.compactMap(\.objectID.permanentID)
    guard !candidates.isEmpty || !deleted.isEmpty else { return nil }
    return UnsavedView(
      request: request, evaluator: UnsavedEvaluator(request, section: section, in: self),
      candidates: candidates, deleted: deleted)
  }

  private var hasUnsavedChanges: Bool {
    hasChanges || !queuedSaves.isEmpty || parent?.hasUnsavedChanges == true
  }

  /// The changed objects of this context and its parents, without duplicates. Changes that wait in
  /// the store's queue count as well.
  private func unsavedObjects<Element>(of type: Element.Type) -> [ManagedObject] {
    var seen: Set<RegistryKey> = []
    var found: [ManagedObject] = []
    var context: ManagedObjectContext? = self
    while let here = context {
      let changed =
        here.deletions.elements + here.insertions.elements + here.queuedObjects
        + here.updates.elements
      for object in changed where object is Element {
        if seen.insert(here.key(of: object)).inserted { found.append(object) }
      }
      context = here.parent
    }
    return found
  }

  /// Returns the registered objects with `ids`. With `rereads`, reads their stored values first.
  private func objects(
    of type: any ManagedEntity.Type, ids: [ObjectID], rereads: Bool,
    _ isolation: isolated (any Actor)?
  ) async throws(ContextError) -> [ManagedObject] {
    let asked = rereads ? ids : ids.filter { registeredObject(type, .permanent($0)) == nil }
    let read = try await read(layout(of: type), ids: asked, isolation: isolation)
    // The registry holds objects weakly.
    return withExtendedLifetime(read) { ids.compactMap { registeredObject(type, .permanent($0)) } }
  }

  /// The candidates of a view that its request includes. If values in memory do not decide, stored
  /// ones do.
  func unsavedMatches<Element: Fetchable>(
    _ view: UnsavedView<Element>, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> [ManagedObject] {
    guard let evaluator = view.evaluator else { return [] }
    // Each round fetches objects one relationship further away.
    for _ in 0..<16 {
      for object in view.candidates where evaluator.matches(object) != false {
        _ = evaluator.place(of: object)
      }
      let missing = evaluator.takeMissing()
      guard !missing.isEmpty else { break }
      guard let found = try await fetch(missing, isolation: isolation) else { break }
      evaluator.kept += found
    }
    let unknown = view.candidates.filter { evaluator.matches($0) == nil }
    let received = try await stored(
      unknown.compactMap(\.objectID.permanentID), view.request, isolation: isolation)
    return view.candidates.filter { object in
      guard object.managedObjectContext === self, !object.isDeleted else { return false }
      return evaluator.matches(object) ?? object.objectID.permanentID.map(received.contains)
        ?? false
    }
  }

  /// A relationship of a class.
  private struct MissingList: Hashable {
    let type: ObjectIdentifier
    let name: String
  }

  /// Fetches the objects that an evaluator lacked; nil if none of them exists.
  private func fetch(
    _ missing: UnsavedEvaluator.Missing, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> [ManagedObject]? {
    var kept: [ManagedObject] = []
    let lists = Dictionary(grouping: missing.members) {
      MissingList(type: ObjectIdentifier(type(of: $0.owner)), name: $0.name)
    }
    for (list, members) in lists {
      let ids = Set(members.compactMap(\.owner.objectID.permanentID)).sorted()
      kept += try await read(
        layout(of: members[0].owner), ids: ids, extra: [list.name], isolation: isolation
      ).elements
    }
    let byClass = Dictionary(grouping: missing.objects.values) { ObjectIdentifier($0.type) }
    for group in byClass.values {
      kept += try await read(
        layout(of: group[0].type), ids: group.map(\.id), isolation: isolation
      ).elements
    }
    return kept.isEmpty ? nil : kept
  }

  /// The objects that the request includes by their stored values.
  func stored<Element>(
    _ ids: some Sequence<ObjectID>, _ request: FetchRequest<Element>,
    isolation: isolated (any Actor)?
  ) async throws(ContextError) -> Set<ObjectID> {
    var found: Set<ObjectID> = []
    for some in ids.sorted().chunks(of: 1000) {
      var asked = request.withoutWindow
      asked.narrow(to: .ids(some))
      let body = asked.body(as: "ids").filter { $0.name != "select" }
      let state = try await fetchState(body, isolation: isolation).state
      found.formUnion(state.sections.flatMap { $0.items.map(\.id) })
    }
    return found
  }

  /// True if the ids of a class are text, judging by objects in memory.
  func hasTextIDs(_ type: any ManagedEntity.Type) -> Bool {
    let root = layout(of: type).root
    for context in sequence(first: self, next: \.parent) {
      for key in context.registry.keys where key.root == root {
        guard let id = key.id.permanentID else { continue }
        if case .text = id { return true }
        return false
      }
    }
    return false
  }
}
