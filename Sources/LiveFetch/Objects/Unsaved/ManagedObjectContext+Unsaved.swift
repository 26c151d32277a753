// Unsaved changes in what a context fetches: the store tells of every object that was not touched
// here; those that were are judged by their present values, and put where they belong.

/// What of a context, and of those above it, the store does not know, as far as a request is
/// concerned.
struct UnsavedView<Element: Fetchable> {
  /// Its window is one: who fetches has checked that.
  let request: FetchRequest<Element>
  /// nil where the classes do not declare what the request names: then the store's word stands.
  let judge: UnsavedJudge?
  /// Objects with unsaved values, new ones too.
  let candidates: [ManagedObject]
  /// Objects that are to be deleted.
  let deleted: [ObjectID]

  /// The request for everything that is not judged here.
  var rest: FetchRequest<Element> {
    var rest = request
    let ids = judge == nil ? deleted : deleted + candidates.compactMap(\.objectID.permanentID)
    // A list has at most 10,000 values.
    for some in ids.sorted().chunks(of: 10_000) { rest.narrow(to: !FetchPredicate.ids(some)) }
    guard judge != nil else { return rest }
    rest.fetchOffset = 0
    rest.fetchLimit = request.fetchLimit.map { limit in
      let (end, overflow) = limit.addingReportingOverflow(request.fetchOffset)
      return overflow ? .max : end
    }
    return rest
  }

  /// The store's elements and those that are judged here, in order, as the request's window shows
  /// them.
  func merged(_ stored: [(item: Item, element: Element)], _ unsaved: [ManagedObject]) -> [Element] {
    guard let judge else { return stored.map(\.element) }
    let here = Set(unsaved)
    var rows = stored.filter { row in
      (row.element as? ManagedObject).map { !here.contains($0) && !$0.isDeleted } ?? true
    }.map { (place: unsaved.isEmpty ? nil : judge.place(of: $0.item), element: $0.element) }
    for object in unsaved {
      guard let element = object as? Element else { continue }
      let place = judge.place(of: object)
      let next = place.flatMap { place in
        rows.firstIndex { row in row.place.map { place.precedes($0) } ?? false }
      }
      rows.insert((place, element), at: next ?? rows.count)
    }
    return rows.dropFirst(request.fetchOffset).prefix(request.fetchLimit ?? .max).map(\.element)
  }
}

extension ManagedObjectContext {
  /// What `request` has to see beside the store; nil where that is nothing.
  func unsavedView<Element: Fetchable>(
    of request: FetchRequest<Element>, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> UnsavedView<Element>? {
    guard request.includesPendingChanges, let type = Element.self as? any ManagedEntity.Type,
      hasUnsavedChanges
    else { return nil }
    var (candidates, updated, deleted) = ([ManagedObject](), [ObjectID](), [ObjectID]())
    for object in unsavedObjects(of: Element.self) {
      if request.includesSubentities == false, object.entityName != type.entityName { continue }
      switch (object.stage, object.objectID.permanentID) {
      case (.deleted, let id?): deleted.append(id)
      case (.inserted, _): candidates += adoptFromAbove(type, object.objectID).map { [$0] } ?? []
      case (_, let id?): updated.append(id)
      default: break
      }
    }
    let gone = Set(deleted)
    candidates += try await objects(
      below: type, with: updated.filter { !gone.contains($0) }, isolation)
    candidates.removeAll { $0.isDeleted || isDeletedAbove(key(of: $0)) }
    guard !candidates.isEmpty || !deleted.isEmpty else { return nil }
    return UnsavedView(
      request: request, judge: UnsavedJudge(request, in: self), candidates: candidates,
      deleted: deleted)
  }

  private var hasUnsavedChanges: Bool { hasChanges || parent?.hasUnsavedChanges == true }

  /// The changed objects of this context and of those above it, each once.
  private func unsavedObjects<Element>(of type: Element.Type) -> [ManagedObject] {
    var seen: Set<RegistryKey> = []
    var found: [ManagedObject] = []
    var context: ManagedObjectContext? = self
    while let here = context {
      for object in here.deletions + here.insertions + here.updates where object is Element {
        if seen.insert(here.key(of: object)).inserted { found.append(object) }
      }
      context = here.parent
    }
    return found
  }

  /// Objects with unsaved values, their other values read anew: a fetch refreshes what it finds.
  private func objects(
    below type: any ManagedEntity.Type, with ids: [ObjectID], _ isolation: isolated (any Actor)?
  ) async throws(ContextError) -> [ManagedObject] {
    let read = try await read(layout(of: type), ids: ids, isolation: isolation)
    return withExtendedLifetime(read) { ids.compactMap { registeredObject(type, .permanent($0)) } }
  }

  /// Those of a view's candidates that its request means. Where values in memory do not tell, the
  /// store's word about what it has stands.
  func judged<Element: Fetchable>(
    _ view: UnsavedView<Element>, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> [ManagedObject] {
    guard let judge = view.judge else { return [] }
    // Each round fetches what is one step further away.
    for _ in 0..<16 {
      for object in view.candidates where judge.matches(object) != false {
        _ = judge.place(of: object)
      }
      let missing = judge.takeMissing()
      guard !missing.isEmpty else { break }
      guard let found = try await fetch(missing, isolation: isolation) else { break }
      judge.kept += found
    }
    let unknown = view.candidates.filter { judge.matches($0) == nil }
    let told = try await stored(unknown, view.request, isolation: isolation)
    return view.candidates.filter { object in
      guard object.managedObjectContext === self, !object.isDeleted else { return false }
      return judge.matches(object) ?? object.objectID.permanentID.map(told.contains) ?? false
    }
  }

  /// Brings what a judge missed into memory; nil where nothing of it is to be had.
  private func fetch(
    _ missing: UnsavedJudge.Missing, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> [ManagedObject]? {
    var kept: [ManagedObject] = []
    for (owner, name) in missing.members where owner.objectID.permanentID != nil {
      try await fetchMembers(of: owner, name, isolation: isolation)
      kept.append(owner)
    }
    let byClass = Dictionary(grouping: missing.objects.values) { ObjectIdentifier($0.type) }
    for group in byClass.values {
      kept += try await read(
        layout(of: group[0].type), ids: group.map(\.id), isolation: isolation)
    }
    return kept.isEmpty ? nil : kept
  }

  /// Which of these objects the request means as they are stored.
  private func stored<Element>(
    _ objects: [ManagedObject], _ request: FetchRequest<Element>, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> Set<ObjectID> {
    var found: Set<ObjectID> = []
    for some in objects.compactMap(\.objectID.permanentID).chunks(of: 1000) {
      var asked = request.withoutWindow
      asked.narrow(to: .ids(some))
      let body = asked.body(as: "ids").filter { $0.name != "select" }
      let state = try Self.state(of: await ask(body, isolation: isolation))
      found.formUnion(state.sections.flatMap { $0.items.map(\.id) })
    }
    return found
  }

  /// Whether the ids of a class are texts, as far as objects in memory tell.
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
