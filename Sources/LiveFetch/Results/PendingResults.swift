// A stored result and the unsaved changes of a context enter, the content with both leaves. O(n) for
// each change.

import FetchModel

/// Combines the followed result of a controller with unsaved changes.
final class PendingResults<Element: Fetchable> {
  /// A save that the followed result may not contain yet.
  private struct RecentSave {
    let token: Token
    let changed: [ManagedObject]
    let deleted: [ObjectID]
  }

  /// A row of the content.
  private struct Row {
    /// The sort key; nil if it is not needed or unknown.
    let place: [UInt8]?
    let section: SectionInfo
    let item: Item
    let element: Element
  }

  private let request: FetchRequest<Element>
  private let section: SortTerm?
  private let context: ManagedObjectContext
  private let type: any ManagedEntity.Type
  /// The names of an item's visible values.
  private let names: [String]
  /// The request that is followed: without a window, with all values that determine the order.
  let body: [JSON.Member]
  /// The result as the store sent it, to which diffs are applied.
  var base: ResultState?
  /// The elements of `base` and the items from which they were created.
  private var made: [ObjectID: (item: Item, element: Element)] = [:]
  private var recentSaves: [RecentSave] = []
  /// True while the store is asked whether `base` contains the recent saves.
  var isConfirming = false
  /// The new objects of the last created content, by the ids that they have there.
  private var temporaries: [ObjectID: ManagedObject] = [:]
  /// Those of the shown content.
  private var shownTemporaries: [ObjectID: ManagedObject] = [:]
  private var tokens: [ObservationToken] = []
  /// True if the content has to be created again.
  var isStale = false
  var isRefreshing = false
  /// True while a pause lasts after which values that could not be read are read again.
  var isWaiting = false
  /// True if values of the content could not be read. The controller's state is then the reason.
  var isUnread = false

  /// nil for elements that are not managed objects.
  ///
  /// - Throws: ``FetchError`` if the sections are parts of values.
  init?(
    _ request: FetchRequest<Element>, section: SortTerm?, in context: ManagedObjectContext
  ) throws(FetchError) {
    guard request.includesPendingChanges, let type = Element.self as? any ManagedEntity.Type else {
      return nil
    }
    if let section, section.sectionPart != .value {
      throw .store(
        .refused(
          .badRequest(
            "bad-parameter", "sections by parts of values cannot include unsaved changes.")))
    }
    (self.section, self.context, self.type) = (section, context, type)
    self.request = request
    names = request.propertiesToFetch ?? context.layout(of: type).itemNames
    var followed = request.withoutWindow
    followed.fetchBatchSize = 0
    let paths =
      UnsavedEvaluator(followed, section: section, in: context)?.orderPaths.filter {
        [names] in !names.contains($0)
      } ?? []
    if !paths.isEmpty { followed.propertiesToFetch = names + paths }
    body = followed.followedBody(section: section)
  }

  /// Calls `changed` after each change of the context, its parents, or the stored values.
  func observe(isolation: isolated (any Actor)?, _ changed: @escaping () -> Void) {
    guard tokens.isEmpty else { return }
    for context in sequence(first: context, next: \.parent) {
      tokens.append(context.observe(ObjectsDidChange.self, isolation: isolation) { _ in changed() })
    }
    tokens.append(
      context.root.observe(DidSettle.self, isolation: isolation) { [weak self] save in
        self?.record(save)
        changed()
      })
  }

  private func record(_ save: DidSettle) {
    guard let token = Token(save.token) else { return }
    let changed = save.changed.filter { $0 is Element }
    let deleted = save.deleted.filter { $0 is Element }.compactMap(\.objectID.permanentID)
    guard !changed.isEmpty || !deleted.isEmpty else { return }
    recentSaves.append(RecentSave(token: token, changed: changed, deleted: deleted))
  }

  // MARK: - The content

  /// The content with the present unsaved changes.
  ///
  /// - Throws: ``ContextError`` if values that the predicate needs could not be read.
  func content(
    of base: ResultState, isolation: isolated (any Actor)?
  ) async throws(ContextError) -> FetchedContent<Element> {
    if !base.isStored, base.sections.contains(where: { $0.items.contains { made[$0.id] == nil } }) {
      await context.awaitRunningSave(isolation: isolation)
    }
    let new = base.sections.flatMap(\.items).filter { made[$0.id]?.item != $0 }
    if !new.isEmpty { await complete(new, of: base, isolation: isolation) }
    let problems = make(new, of: base)
    let saved = saved(after: base)
    let view = try await context.unsavedView(
      of: request.withoutWindow, section: section, saved: saved, rereads: false,
      isolation: isolation)
    var matches: [ManagedObject] = []
    if let view { matches = try await context.unsavedMatches(view, isolation: isolation) }
    return content(of: base, view, matches, problems)
  }

  private func complete(
    _ items: [Item], of base: ResultState, isolation: isolated (any Actor)?
  ) async {
    context.root.recordToken(base.token)
    await context.learnDestinations(for: Element.self, isolation: isolation)
    try? await context.completeItems(items, as: type, isolation: isolation)
  }

  /// Creates the elements of items, and returns the problems of unreadable ones.
  private func make(_ items: [Item], of base: ResultState) -> [ObjectID: MaterializationError] {
    context.beginMaterializing(asOf: base.token)
    defer { context.endMaterializing() }
    var problems: [ObjectID: MaterializationError] = [:]
    for item in items {
      do throws(MaterializationError) {
        made[item.id] = (item, try Element.materialize(selected(item), in: context))
      } catch {
        (made[item.id], problems[item.id]) = (nil, error)
      }
    }
    if made.count > base.count {
      let ids = Set(base.sections.flatMap { $0.items.map(\.id) })
      made = made.filter { ids.contains($0.key) }
    }
    return problems
  }

  /// The item without the values that were selected for the order only.
  private func selected(_ item: Item) -> Item {
    item.without(item.names.filter { $0.contains(".") })
  }

  /// The ids of saved objects that `base` may lack or contain in an older version.
  private func saved(after base: ResultState) -> (changed: [ObjectID], deleted: [ObjectID]) {
    guard let current = Token(base.token) else { return ([], []) }
    recentSaves.removeAll {
      $0.token.epoch != current.epoch || $0.token.position <= current.position
    }
    return (
      recentSaves.flatMap { $0.changed.compactMap(\.objectID.permanentID) },
      recentSaves.flatMap(\.deleted)
    )
  }

  /// The token of the last save that `base` may lack.
  var lastRecentSave: Token? { recentSaves.last?.token }

  /// `base` contains the saves up to `token`.
  func forgetSaves(upTo token: Token) {
    recentSaves.removeAll { $0.token.position <= token.position }
  }

  private func content(
    of base: ResultState, _ view: UnsavedView<Element>?, _ matches: [ManagedObject],
    _ problems: [ObjectID: MaterializationError]
  ) -> FetchedContent<Element> {
    let evaluator = view?.evaluator
    var hidden = Set(view?.deleted ?? [])
    if evaluator != nil {
      hidden.formUnion(view?.candidates.compactMap(\.objectID.permanentID) ?? [])
    }
    var rows: [Row] = []
    for section in base.sections {
      for item in section.items where !hidden.contains(item.id) {
        guard let element = made[item.id]?.element else { continue }
        rows.append(
          Row(
            place: matches.isEmpty ? nil : evaluator?.place(of: item), section: section.info,
            item: shown(item.id, element, item), element: element))
      }
    }
    temporaries = [:]
    rows = rows.inserting(matches.compactMap { row(of: $0, evaluator) }, sortKey: \.place)
    let window = rows.dropFirst(request.fetchOffset).prefix(request.fetchLimit ?? .max)
    return FetchedContent(state(of: window, base), elements: window.map(\.element), problems)
  }

  /// The row of an unsaved object; nil if its section is unknown.
  private func row(of object: ManagedObject, _ evaluator: UnsavedEvaluator?) -> Row? {
    guard let element = object as? Element, let info = evaluator?.section(of: object) else {
      return nil
    }
    let item = shown(visibleID(of: object), element, nil)
    return Row(
      place: evaluator?.place(of: object), section: info, item: item, element: element)
  }

  /// The object's id, or its temporary id as text.
  private func visibleID(of object: ManagedObject) -> ObjectID {
    if let id = object.objectID.permanentID { return id }
    let id = ObjectID.text(object.objectID.description)
    temporaries[id] = object
    return id
  }

  /// The current values of an element.
  private func shown(_ id: ObjectID, _ element: Element, _ item: Item?) -> Item {
    let object = element as? ManagedObject
    return Item(
      id: id,
      values: ItemValues(
        names.map { name in
          .init(name: name, value: object?.current(name) ?? item?[name] ?? .null)
        }))
  }

  private func state(of rows: ArraySlice<Row>, _ base: ResultState) -> ResultState {
    var state = base
    state.sections = []
    for row in rows {
      if state.sections.last?.info.value != row.section.value {
        state.sections.append(.init(info: row.section, items: []))
      }
      state.sections[state.sections.count - 1].items.append(row.item)
    }
    if section == nil, state.sections.isEmpty {
      state.sections = [.init(info: .unsectioned, items: [])]
    }
    (state.summary.count, state.summary.next, state.summary.digest) = (rows.count, nil, nil)
    return state
  }

  /// Called before the last created content is shown.
  func willShow() { shownTemporaries = temporaries }

  /// The permanent ids of the objects that are shown with temporary ones.
  var resolvedIDs: Set<ObjectID> {
    Set(shownTemporaries.values.compactMap(\.objectID.permanentID))
  }

  /// A shown state whose temporary ids are replaced by the permanent ones that the objects have now.
  func resolved(_ state: ResultState) -> ResultState {
    guard !shownTemporaries.isEmpty else { return state }
    var state = state
    for section in state.sections.indices {
      for index in state.sections[section].items.indices {
        let item = state.sections[section].items[index]
        guard let id = shownTemporaries[item.id]?.objectID.permanentID else { continue }
        state.sections[section].items[index] = Item(
          id: id, values: ItemValues(names.map { .init(name: $0, value: item[$0] ?? .null) }))
      }
    }
    return state
  }
}

/// The store carried out a save; objects have permanent ids. Sent before their changes are reported.
struct DidSettle: ContextEvent {
  let token: String
  let changed: [ManagedObject]
  let deleted: [ManagedObject]

  init(_ save: DidSave, token: String) {
    self.token = token
    changed = Array(save.insertedObjects.union(save.updatedObjects))
    deleted = Array(save.deletedObjects)
  }
}

// MARK: - In a controller

extension FetchedResultsController {
  /// The token from which the store's changes are followed.
  var followedToken: String? {
    if let pendingResults { pendingResults.base?.token } else { storedContent?.visibleState.token }
  }

  /// The body of the followed request.
  var followedBody: [JSON.Member] {
    pendingResults?.body ?? fetchRequest.followedBody(section: section)
  }

  /// Applies a diff to the stored result.
  ///
  /// - Returns: false if it does not lead to the store's state.
  func apply(
    _ diff: Diff, to results: PendingResults<Element>, isolation: isolated (any Actor)?
  ) -> Bool {
    guard let state = results.base?.applying(diff) else { return false }
    results.base = state
    if let isolation { pendingDidChange(IsolatedReference(self, on: isolation)) }
    return true
  }

  /// Shows the unsaved changes from now on, after the present code of the actor.
  func observePendingChanges(isolation: isolated (any Actor)?) {
    guard let actor = isolation else { return }
    let reference = IsolatedReference(self, on: actor)
    pendingResults?.observe(isolation: isolation) { [weak self] in
      self?.pendingDidChange(reference)
    }
    // The context may have changed since the content was created.
    pendingDidChange(reference)
  }

  private func pendingDidChange(_ reference: IsolatedReference<FetchedResultsController>) {
    guard let results = pendingResults else { return }
    startConfirmingSaves(reference)
    results.isStale = true
    guard !results.isRefreshing else { return }
    results.isRefreshing = true
    Task {
      await reference.run { controller, isolation in
        await controller.refreshPending(isolation: isolation)
      }
    }
  }

  /// Replaces the content until no change arrived in the meantime.
  private func refreshPending(isolation: isolated any Actor) async {
    guard let results = pendingResults else { return }
    results.isRefreshing = true
    defer { results.isRefreshing = false }
    while results.isStale, let base = results.base, results === pendingResults {
      results.isStale = false
      let content: FetchedContent<Element>
      do throws(ContextError) {
        content = try await results.content(of: base, isolation: isolation)
      } catch {
        didNotRead(FetchError(error), of: results, isolation: isolation)
        continue
      }
      guard results === pendingResults, isBegun else { return }
      if let old = storedContent {
        let change = ContentChange(
          from: results.resolved(old.visibleState), to: content.visibleState,
          changed: results.resolvedIDs)
        results.willShow()
        show(content, change, from: old)
      } else {
        results.willShow()
        notify(content, nil)
      }
      guard results.isUnread, results === pendingResults else { continue }
      results.isUnread = false
      if following != nil { setState(stateOfFollowing) }
    }
  }

  /// Reports values that could not be read. While the store does not answer, the state is `offline`, and
  /// they are read again after a pause. After another error the next change tries again.
  private func didNotRead(
    _ error: FetchError, of results: PendingResults<Element>, isolation: isolated any Actor
  ) {
    guard results === pendingResults, following != nil else { return }
    if let unavailability = error.unavailability, !results.isWaiting {
      results.isWaiting = true
      let reference = IsolatedReference(self, on: isolation)
      let waiting = IsolatedReference(results, on: isolation)
      let pause = Self.pause(after: unavailability)
      Task {
        try? await Task.sleep(for: .seconds(pause))
        _ = await reference.run { controller, isolation in
          // A later fetch may have replaced them.
          guard let results = controller.pendingResults, waiting.refers(to: results) else { return }
          results.isWaiting = false
          guard controller.isBegun else { return }
          controller.pendingDidChange(IsolatedReference(controller, on: isolation))
        }
      }
    }
    switch (storedState, error) {
    case (.failed, _): break
    case (.offline, .store(let reason)) where reason.isTransient: break
    case (_, .store(let reason)) where reason.isTransient:
      results.isUnread = true
      report(.offline(reason), error)
    default:
      results.isUnread = true
      report(.failed(error), error)
    }
  }

  /// Starts ``confirmSaves(isolation:)`` if it does not run.
  private func startConfirmingSaves(_ reference: IsolatedReference<FetchedResultsController>) {
    guard let results = pendingResults, results.lastRecentSave != nil, !results.isConfirming else {
      return
    }
    results.isConfirming = true
    Task {
      await reference.run { controller, isolation in
        await controller.confirmSaves(isolation: isolation)
      }
    }
  }

  /// Asks the store whether the stored result contains the recent saves, because its token advances
  /// with its changes only. Without that, the saved objects would count as unsaved until something
  /// else changes the result. After an error, the next change asks again.
  private func confirmSaves(isolation: isolated any Actor) async {
    guard let results = pendingResults else { return }
    defer { results.isConfirming = false }
    var hold = 0
    while results === pendingResults, isBegun, let save = results.lastRecentSave,
      let token = results.base?.token
    {
      do throws(ObjectStoreError) {
        guard
          let state = try await unchangedState(since: token, hold: hold, isolation: isolation)
        else {
          // The diff that the controller receives asks again, unless it was received in the meantime.
          if results.base?.token == token { return }
          continue
        }
        results.forgetSaves(upTo: state)
        pendingDidChange(IsolatedReference(self, on: isolation))
        hold = state.position >= save.position ? 0 : 1
      } catch {
        return
      }
    }
  }
}
