// A store over another one: its results, with changes laid over them that only this store knows
// until they are committed.

import Synchronization

/// Changes that can be looked at before they are made.
///
/// A draft is a store itself: controllers show it, and it can have drafts. A window that the source
/// cuts (`fetchLimit`) is refilled for what a draft takes out of it: see
/// ``DataStoreRequest/showing(_:)``. New results stand at the end, beyond the window, as the draft does not
/// know the source's order.
public final class DataStoreDraft<
  Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest
>: DataStore<Result, Request>, @unchecked Sendable where Request.Result == Result {
  typealias ID = Result.InstanceID

  private struct State {
    /// In the order of the first change of each result.
    var changes: [DraftChange<Result>] = []
    var overlays: [Overlay] = []
    var version = 0
  }

  /// A query of this store, and the parent's query under it.
  fileprivate struct Overlay {
    let query: Query
    var inner: Query
    /// A query for more of the source's results; it takes the place of `inner` when it has answered.
    var wider: Query?
    /// How many results beside the window were asked for; nil: the window as it is.
    var slack: Int?
    var base = StoredResults<Result>()
    var hasBase = false
  }

  private let source: DataStore<Result, Request>
  // Guards changes and what lies under them; queries are told in their order.
  private let state = Mutex(State())

  init(parent: DataStore<Result, Request>) {
    source = parent
    super.init(parent: parent)
  }

  /// What a commit would save, in order.
  public var changes: [Change] { state.withLock { $0.changes.map(\.change) } }
  public var hasChanges: Bool { state.withLock { !$0.changes.isEmpty } }

  // MARK: - Changes

  /// Remembers the changes. An update of what was deleted, or an insert of what was inserted, is
  /// refused.
  public override func save(_ changes: [Change]) async throws {
    try state.withLock { state in
      var draft = state.changes
      for change in changes {
        state.version += 1
        try Self.add(change, base: Self.base(of: change, in: state), state.version, to: &draft)
      }
      state.changes = draft
      tell(Set(changes.map(\.result.instanceID)), &state)
    }
    widen()
  }

  /// Saves the changes to the parent, all or none.
  ///
  /// - Throws: what the parent says; the draft then keeps its changes.
  public func commit() async throws {
    let committed = state.withLock { $0.changes }
    guard !committed.isEmpty else { return }
    try await source.save(committed.map(\.change))
    state.withLock { state in
      let versions = Set(committed.map(\.version))
      state.changes.removeAll { versions.contains($0.version) }
      // Until the parent tells, what was committed stands under the draft.
      for index in state.overlays.indices {
        let request = state.overlays[index].query.request
        state.overlays[index].base.commit(committed, request)
      }
      tell(Set(committed.map(\.id)), &state)
    }
  }

  /// Forgets the changes.
  public func reset() {
    state.withLock { state in
      let ids = Set(state.changes.map(\.id))
      state.changes = []
      tell(ids, &state)
    }
  }

  /// What the change was made of: what the caller says, else what a query shows.
  private static func base(of change: Change, in state: State) -> Result? {
    change.base
      ?? state.overlays.lazy.compactMap { $0.base.entries[change.result.instanceID]?.result }.first
  }

  private static func add(
    _ change: Change, base: Result?, _ version: Int, to changes: inout [DraftChange<Result>]
  ) throws {
    let id = change.result.instanceID
    guard let place = changes.firstIndex(where: { $0.id == id }) else {
      let base = change.type == .insert ? nil : base
      changes.append(
        DraftChange(change: Change(change.type, change.result, base: base), version: version))
      return
    }
    let (old, new) = (changes[place].change, change.result)
    let merged: Change? =
      switch (old.type, change.type) {
      case (.insert, .update): Change(.insert, new)
      case (.insert, .delete): nil
      case (.update, .update): Change(.update, new, base: old.base)
      case (.update, .delete): Change(.delete, new, base: old.base)
      case (.delete, .insert): Change(.update, new, base: old.base)
      case (.insert, .insert), (.update, .insert): throw DataStoreError.exists("\(id)")
      case (.delete, .update), (.delete, .delete): throw DataStoreError.missing("\(id)")
      }
    if let merged {
      changes[place] = DraftChange(change: merged, version: version)
    } else {
      changes.remove(at: place)
    }
  }

  // MARK: - Queries

  public override func execute(_ query: Query) {
    let inner = Query(query.request, throttle: query.throttle)
    state.withLock { $0.overlays.append(Overlay(query: query, inner: inner)) }
    run(inner)
    widen()
  }

  private func run(_ inner: Query) {
    source.execute(inner)
    Task { [weak self] in
      while let event = await inner.next() { self?.receive(event, inner) }
    }
  }

  public override func stop(_ query: Query) {
    let ended = state.withLock { state in
      let place = state.overlays.firstIndex { $0.query === query }
      return place.map { state.overlays.remove(at: $0) }
    }
    guard let ended else { return }
    end(ended.inner)
    if let wider = ended.wider { end(wider) }
  }

  private func end(_ inner: Query) {
    source.stop(inner)
    inner.finish()
  }

  private func receive(_ event: Query.Event, _ inner: Query) {
    let query = state.withLock { state in state.overlays.first { $0.reads(inner) }?.query }
    guard let query else { return }
    switch event {
    case .batch(let batch): receive(batch, inner)
    case .offline(let error): query.suspend(error)
    case .online: query.resume()
    case .notice(let error): query.report(error)
    case .failed(let error): query.reject(error)
    }
  }

  private func receive(_ batch: DataStoreBatch<Result>, _ inner: Query) {
    let replaced: Query? = state.withLock { state in
      guard let place = state.overlays.firstIndex(where: { $0.reads(inner) }) else { return nil }
      let replaced = state.overlays[place].take(inner)
      state.overlays[place].hasBase = true
      var touched = state.overlays[place].base.apply(batch).touched
      if replaced != nil { touched.formUnion(state.changes.map(\.id)) }
      Self.tell(touched, state.changes, to: state.overlays[place])
      return replaced
    }
    if let replaced { end(replaced) }
  }

  /// Asks the source for more where the changes take results out of its window.
  private func widen() {
    let (begun, ended) = state.withLock { state in
      let changes = state.changes
      var (begun, ended) = ([Query](), [Query]())
      for index in state.overlays.indices {
        guard let wider = state.overlays[index].widen(for: changes) else { continue }
        begun.append(wider.begun)
        ended += wider.ended.map { [$0] } ?? []
      }
      return (begun, ended)
    }
    for query in ended { end(query) }
    for query in begun { run(query) }
  }

  private func tell(_ ids: Set<ID>, _ state: inout State) {
    guard !ids.isEmpty else { return }
    for overlay in state.overlays where overlay.hasBase {
      Self.tell(ids, state.changes, to: overlay)
    }
  }

  private static func tell(
    _ ids: Set<ID>, _ changes: [DraftChange<Result>], to overlay: Overlay
  ) {
    let request = overlay.query.request
    let visible = overlay.base.ordered(
      under: changes, request, in: overlay.isWidened ? request.window : nil)
    overlay.query.enqueue(all: visible, changed: ids)
    overlay.query.processPendingChanges()
  }
}

extension DataStoreDraft.Overlay {
  /// Whether more is read than the window shows.
  var isWidened: Bool { inner.request.window != query.request.window }

  func reads(_ query: DataStoreQuery<Result, Request>) -> Bool {
    query === inner || query === wider
  }

  /// Makes the wider query the one that is read, if it is `query`.
  ///
  /// - Returns: the one that was read until now.
  mutating func take(
    _ query: DataStoreQuery<Result, Request>
  ) -> DataStoreQuery<Result, Request>? {
    guard query === wider else { return nil }
    defer { (inner, wider, base) = (query, nil, StoredResults()) }
    return inner
  }

  /// The wider query that `changes` need, and one that it makes needless; nil where none is needed.
  mutating func widen(
    for changes: [DraftChange<Result>]
  ) -> (begun: DataStoreQuery<Result, Request>, ended: DataStoreQuery<Result, Request>?)? {
    guard let window = query.request.window else { return nil }
    let needed = changes.count { change in
      change.change.type == .delete
        || change.change.type == .update && query.request.includes(change.change.result) == false
    }
    guard needed > slack ?? 0 else { return nil }
    // Some more, so that not each deletion asks again.
    let slack = max(16, needed * 2)
    let (end, overflow) = window.upperBound.addingReportingOverflow(slack)
    let begun = DataStoreQuery(
      query.request.showing(0..<(overflow ? .max : end)), throttle: query.throttle)
    defer { (wider, self.slack) = (begun, slack) }
    return (begun, wider)
  }
}

/// One result's change in a draft; the version tells whether it was changed again.
struct DraftChange<Result: InstanceIdentifiable & Sendable>: Sendable {
  let change: DataStoreChange<Result>
  let version: Int

  var id: Result.InstanceID { change.result.instanceID }
}

extension StoredResults where Result: Sendable {
  /// The results as `changes` leave them, in the store's order, new ones last.
  ///
  /// - Parameter window: of the store's results, where it is cut here.
  fileprivate func ordered<Request: DataStoreRequest>(
    under changes: [DraftChange<Result>], _ request: Request, in window: Range<Int>? = nil
  ) -> [Result] where Request.Result == Result {
    let byID = Dictionary(changes.map { ($0.id, $0.change) }) { $1 }
    let kept = ordered.compactMap { result -> Result? in
      guard let change = byID[result.instanceID] else { return result }
      if change.type == .delete || request.includes(change.result) == false { return nil }
      return change.result
    }
    let new = changes.map(\.change).filter { change in
      guard entries[change.result.instanceID] == nil else { return false }
      switch change.type {
      case .insert: return request.includes(change.result) ?? true
      // Whether it is meant now the store alone can tell.
      case .update: return request.includes(change.result) ?? false
      case .delete: return false
      }
    }.map(\.result)
    guard let window else { return kept + new }
    return kept.dropFirst(window.lowerBound).prefix(window.count) + new
  }

  /// Takes over what the parent has saved, before it tells so itself.
  fileprivate mutating func commit<Request: DataStoreRequest>(
    _ changes: [DraftChange<Result>], _ request: Request
  ) where Request.Result == Result {
    var batch = DataStoreBatch<Result>()
    batch.replace(with: ordered(under: changes, request), changed: nil)
    _ = apply(batch)
  }
}
