// A store that adds uncommitted changes to the results of another store.

import Foundation
import Synchronization

/// Uncommitted changes over another store.
///
/// A draft is itself a store: controllers can show it, and it can have drafts. If changes remove
/// results from a window that the source limits (`fetchLimit`), the draft fetches more: see
/// ``DataStoreRequest/showing(_:)``. New results are placed at the end, after the window, because
/// the draft does not know the source's order.
public final class DataStoreDraft<
  Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest
>: DataStore<Result, Request>, @unchecked Sendable where Request.Result == Result {
  typealias ID = Result.InstanceID
  typealias Changes = DraftChanges<Result>

  private struct State {
    /// In the order of each result's first change. They contain those of a commit in progress.
    var changes = Changes()
    /// The changes on top of those of a commit in progress; nil without one.
    var later: Changes?
    var overlays: [Overlay] = []
  }

  /// A query of this store and the parent's query below it.
  struct Overlay {
    let query: Query
    var inner: Query
    /// A query for more of the source's results, or for the same ones again; it replaces `inner` once it
    /// has results.
    var wider: Query?
    /// The number of results beyond the window that were requested; nil for none.
    var slack: Int?
    var base = StoredResults<Result>()
    var hasBase = false
    /// Results of `base` that the changes remove.
    var hidden: Set<ID> = []
    /// Results that only the changes contain.
    var added: Set<ID> = []
    /// Results that the source reported during the last commit.
    var reported: Set<ID> = []
  }

  /// A query that begins, and the one that it makes superfluous.
  typealias Replacement = (begun: Query, ended: Query?)

  private let source: DataStore<Result, Request>
  // Held during changes, so that queries receive them in order. Requests are the user's code and run
  // under it.
  private let order = NSRecursiveLock()
  // Protected by `order`.
  private var state = State()
  // The changes for readers, which may be requests; never held while a request decides.
  private let recorded = Mutex(Changes())
  // Commits wait for each other.
  private let commits = Mutex(SaveQueue())

  init(parent: DataStore<Result, Request>) {
    source = parent
    super.init()
  }

  /// The changes that a commit saves, in order.
  public var changes: [Change] { Array(recorded.withLock { $0 }) }
  /// True if there are changes to commit.
  public var hasChanges: Bool { recorded.withLock { !$0.isEmpty } }

  /// Reads or changes the state in turn.
  private func withState<Value>(_ body: (inout State) throws -> Value) rethrows -> Value {
    try order.withLock { try body(&state) }
  }

  /// Replaces the changes, also for readers.
  private func record(_ changes: Changes, _ state: inout State) {
    state.changes = changes
    recorded.withLock { $0 = changes }
  }

  // MARK: - Changes

  /// Records the changes. Refuses to update or delete a result that this draft deletes, and to insert
  /// one that it inserts or updates; the parent checks the others at the commit.
  public override func save(_ changes: [Change]) async throws {
    try withState { state in
      let based = changes.map { change in
        let base = change.type == .insert ? nil : Self.base(of: change, in: state)
        return Change(change.type, change.result, base: base)
      }
      let merged = try state.changes.merging(based)
      state.later = try state.later?.merging(based)
      record(merged, &state)
      notify(Set(changes.map(\.id)), &state)
    }
    widen()
  }

  /// Saves the changes to the parent, all or none. Changes that are made meanwhile remain, on top of the
  /// committed ones. Waits for the end of an earlier commit.
  ///
  /// - Throws: the parent's error; the draft then keeps its changes.
  public func commit() async throws {
    await withCheckedContinuation { continuation in commits.withLock { $0.enter(continuation) } }
    defer { commits.withLock { $0.leave() } }
    let committed = withState { state -> [Change] in
      guard !state.changes.isEmpty else { return [] }
      state.later = Changes()
      for index in state.overlays.indices { state.overlays[index].reported = [] }
      return Array(state.changes)
    }
    guard !committed.isEmpty else { return }
    do {
      try await source.save(committed)
    } catch {
      withState { $0.later = nil }
      throw error
    }
    endCommit(of: committed)
  }

  private func endCommit(of committed: [Change]) {
    let replacements = withState { state -> [Replacement] in
      record(state.later ?? Changes(), &state)
      state.later = nil
      // The draft shows the committed changes until the parent reports them. What it reported already
      // may be newer.
      for index in state.overlays.indices {
        let overlay = state.overlays[index]
        let unreported = committed.filter { !overlay.reported.contains($0.id) }
        state.overlays[index].base.commit(unreported, overlay.query.request)
        guard state.overlays[index].hasBase else { continue }
        state.overlays[index].reportAll(Set(committed.map(\.id)), under: state.changes)
      }
      // The source does not report a result that it leaves out and the draft could not decide about. A
      // draft whose insertion is deleted shows its own source's result with the same id again.
      return state.overlays.indices.compactMap { index in
        let request = state.overlays[index].query.request
        let isOpen = committed.contains { change in
          request.includes(change.result) == nil
            || change.type == .delete && source is DataStoreDraft
        }
        return isOpen ? state.overlays[index].fetchAgain() : nil
      }
    }
    replace(replacements)
  }

  /// Discards the changes.
  public func reset() {
    withState { state in
      let ids = Set(state.changes.map(\.id))
      state.later = state.later.map { _ in Changes() }
      record(Changes(), &state)
      notify(ids, &state)
    }
  }

  /// The values that the change is based on: those given by the caller, otherwise those that are being
  /// committed, otherwise those of a query.
  private static func base(of change: Change, in state: State) -> Result? {
    let committing = state.later == nil ? nil : state.changes.change(of: change.id)
    return change.base ?? committing?.result
      ?? state.overlays.lazy.compactMap { $0.base.entries[change.result.instanceID]?.result }.first
  }

  // MARK: - Queries

  public override func execute(_ query: Query) {
    let inner = source.start(query.request, throttle: query.throttle)
    withState { $0.overlays.append(Overlay(query: query, inner: inner)) }
    read(inner)
    widen()
  }

  private func read(_ inner: Query) {
    Task { [weak self] in
      while let event = await inner.next() { self?.receive(event, inner) }
    }
  }

  public override func stop(_ query: Query) {
    let ended = withState { state in
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
    let query = withState { state in state.overlays.first { $0.reads(inner) }?.query }
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
    let replaced = withState { state -> Query? in
      guard let place = state.overlays.firstIndex(where: { $0.reads(inner) }) else { return nil }
      let replaced = state.overlays[place].replaceInner(with: inner)
      let isFirst = !state.overlays[place].hasBase || replaced != nil
      state.overlays[place].hasBase = true
      let (previous, isReordered) = state.overlays[place].base.apply(batch)
      if state.later != nil { state.overlays[place].reported.formUnion(previous.keys) }
      let hasPlaces = batch.all == nil && batch.isPlaced
      if !isReordered, !isFirst, hasPlaces,
        state.overlays[place].report(batch.changes, asUnder: state.changes)
      {
        return replaced
      }
      if isReordered || isFirst || batch.isPlaced {
        let others = isFirst ? state.changes.map(\.id) : []
        state.overlays[place].reportAll(Set(previous.keys).union(others), under: state.changes)
      } else {
        let order = (batch.all ?? []).map(\.instanceID).filter { previous[$0] != nil }
        state.overlays[place].report(
          Set(previous.keys), under: state.changes, previous, order + batch.changes.map(\.id))
      }
      return replaced
    }
    if let replaced { end(replaced) }
  }

  /// Requests more results from the source if the changes remove results from its window.
  private func widen() {
    replace(
      withState { state in
        let changes = state.changes
        return state.overlays.indices.compactMap { state.overlays[$0].widen(for: changes) }
      })
  }

  private func replace(_ queries: [Replacement]) {
    for query in queries.compactMap(\.ended) { end(query) }
    for (begun, _) in queries {
      source.execute(begun)
      // Another thread may have ended the query before it was executed.
      if begun.isFinished { source.stop(begun) }
      read(begun)
    }
  }

  private func notify(_ ids: Set<ID>, _ state: inout State) {
    guard !ids.isEmpty else { return }
    for index in state.overlays.indices where state.overlays[index].hasBase {
      state.overlays[index].report(ids, under: state.changes)
    }
  }
}

extension DataStoreDraft.Overlay {
  /// True if more is requested than the window shows.
  var isWidened: Bool { inner.request.window != query.request.window }

  func reads(_ query: DataStoreQuery<Result, Request>) -> Bool {
    query === inner || query === wider
  }

  /// Makes `query` the query that is read, if it is the wider one.
  ///
  /// - Returns: the replaced query.
  mutating func replaceInner(
    with query: DataStoreQuery<Result, Request>
  ) -> DataStoreQuery<Result, Request>? {
    guard query === wider else { return nil }
    defer { (inner, wider, base) = (query, nil, StoredResults()) }
    return inner
  }

  /// The wider query that `changes` require, and the one that it makes superfluous.
  mutating func widen(
    for changes: DraftChanges<Result>
  ) -> DataStoreDraft<Result, Request>.Replacement? {
    guard let window = query.request.window else { return nil }
    let needed = changes.count { change in
      change.type == .delete
        || change.type == .update && query.request.includes(change.result) == false
    }
    guard needed > slack ?? 0 else { return nil }
    // Request more than necessary, so that not every deletion sends a request.
    let slack = max(16, needed * 2)
    let (end, overflow) = window.upperBound.addingReportingOverflow(slack)
    let begun = DataStoreQuery(
      query.request.showing(0..<(overflow ? .max : end)), throttle: query.throttle)
    defer { (wider, self.slack) = (begun, slack) }
    return (begun, wider)
  }

  /// A query for the results that are read already.
  mutating func fetchAgain() -> DataStoreDraft<Result, Request>.Replacement {
    let begun = DataStoreQuery((wider ?? inner).request, throttle: query.throttle)
    defer { wider = begun }
    return (begun, wider)
  }
}
