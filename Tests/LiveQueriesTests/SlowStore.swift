// A store for tests of catch-ups that exceed the engine's time limits.

import FetchModel
import Foundation
import Synchronization
import TestSupport

@testable import LiveQueries

/// A memory store with slow reads of rows at positions before a limit, and of many keys.
final class SlowStore: LiveStore {
  struct State: Sendable {
    var position: HistoryPosition = HistoryPosition(0)
    var isOpen = false
    /// The number of reads that wait for ``open()``.
    var waiting = 0
    /// The number of transactions that read such rows without a limit.
    var unlimitedReads = 0
    /// The number of such reads, with too little time or with enough.
    var asked = 0
    /// True if such reads exceed every time limit.
    var isEndless = false
    /// Reads of more keys are slow.
    var quickKeys = Int.max
    /// The number of reads of keys.
    var keyReads = 0
    /// The time that every read of rows takes.
    var delay = Duration.zero
    /// The time limits of the transactions, in order.
    var limits: [Duration?] = []
  }

  /// The duration of such a read, for transactions with a limit.
  static let readDuration = Duration.milliseconds(1_500)
  let inner = MemoryStore()
  let state = Mutex(State())
  var model: Model { inner.model }
  var columns: (any ColumnTraits)? { inner.columns }
  var newestToken: Token { inner.newestToken }

  /// From now on reads of rows before `position` wait until ``open()`` is called.
  func slow(before position: HistoryPosition) { state.withLock { $0.position = position } }
  func open() { state.withLock { $0.isOpen = true } }
  var waiting: Int { state.withLock(\.waiting) }
  var unlimitedReads: Int { state.withLock(\.unlimitedReads) }

  /// True if such a read begins within five minutes.
  func isAsked() -> Bool { eventually(within: .seconds(300)) { waiting > 0 } }

  func read<Result>(
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result { try read(cancelledWhen: { false }, body) }

  func read<Result>(
    cancelledWhen isCancelled: @escaping @Sendable () -> Bool,
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try inner.read { transaction throws(StoreError) in
      try body(SlowReadTransaction(inner: transaction, store: self, isCancelled: isCancelled))
    }
  }

  func ask(_ position: HistoryPosition, _ limit: Duration?, _ isCancelled: () -> Bool)
    throws(StoreError)
  {
    if position < state.withLock(\.position) { try wait(limit, isCancelled) }
  }

  func wait(_ limit: Duration?, _ isCancelled: () -> Bool) throws(StoreError) {
    state.withLock { $0.asked += 1 }
    if let limit, limit < Self.readDuration { throw .queryTimeout }
    if state.withLock(\.isEndless) { throw .queryTimeout }
    state.withLock { $0.waiting += 1 }
    defer { state.withLock { $0.waiting -= 1 } }
    while !state.withLock(\.isOpen) {
      if isCancelled() { throw .queryTimeout }
      Thread.sleep(forTimeInterval: 0.001)
    }
  }
}

private final class SlowReadTransaction: ReadTransaction {
  private let inner: any ReadTransaction
  private let store: SlowStore
  private let isCancelled: () -> Bool
  private var limit: Duration?
  private var isUnlimited = false

  init(inner: any ReadTransaction, store: SlowStore, isCancelled: @escaping () -> Bool) {
    self.inner = inner
    self.store = store
    self.isCancelled = isCancelled
  }

  var token: Token { inner.token }

  func withTimeLimit<Result>(
    _ limit: Duration?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    self.limit = limit
    store.state.withLock { $0.limits.append(limit) }
    defer { self.limit = nil }
    return try body()
  }

  func validity(of token: Token) throws(StoreError) -> TokenValidity {
    try inner.validity(of: token)
  }

  func changes(after position: HistoryPosition) throws(StoreError) -> ChangeSet {
    try inner.changes(after: position)
  }

  func affectedIDs(of plan: FetchPlan, by changeSet: ChangeSet) throws(StoreError) -> Set<ObjectID>
  {
    try inner.affectedIDs(of: plan, by: changeSet)
  }

  func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?, maxBytes: Int
  ) throws(StoreError) -> [OrderKey] {
    let isSlow = store.state.withLock { state in
      state.keyReads += 1
      return limit ?? .max > state.quickKeys
    }
    if isSlow { try store.wait(self.limit, isCancelled) }
    return try inner.keys(of: definition, after: after, limit: limit, maxBytes: maxBytes)
  }

  func total(of definition: ResultDefinition) throws(StoreError) -> Int {
    try inner.total(of: definition)
  }

  func rows(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: Row] {
    let delay = store.state.withLock(\.delay)
    if delay > .zero { Thread.sleep(forTimeInterval: delay / .seconds(1)) }
    if case .past(let past) = position {
      try store.ask(past, limit, isCancelled)
      if limit == nil, !isUnlimited {
        isUnlimited = true
        store.state.withLock { $0.unlimitedReads += 1 }
      }
    }
    return try inner.rows(of: plan, ids: ids, at: position)
  }

  func values(
    of paths: [PropertyPath], ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: [StoredValue?]]? {
    try inner.values(of: paths, ids: ids, at: position)
  }

  func dictionaries(
    of plan: FetchPlan, at position: ReadPosition
  ) throws(StoreError) -> GroupedResult { try inner.dictionaries(of: plan, at: position) }

  func expandedObjects(
    of plan: FetchPlan, roots ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ExpandedObject] {
    try inner.expandedObjects(of: plan, roots: ids, at: position)
  }
}
