// A store that delays its responses: requests are executed at once, responses wait for the test. Its
// history and its fetches can be made to fail.

import LiveFetch
import Synchronization

/// Forwards requests to another store and holds its responses back while a gate is closed.
final class PausingStore: ObjectStore {
  enum Gate: Hashable { case diffs, saves, snapshots }

  private struct State {
    /// The error of every request for the history; nil if it is answered.
    var historyFailure: ObjectStoreError?
    /// The error of every fetch; nil if it is answered.
    var fetchFailure: ObjectStoreError?
    /// The error of every fetch of a whole result; nil if it is answered.
    var readFailure: ObjectStoreError?
    /// True if each answer of the history has one save.
    var hasShortPages = false
    var closed: Set<Gate> = []
    var waiting: [Gate: [CheckedContinuation<Void, Never>]] = [:]
  }

  private let store: any ObjectStore
  // Protects the gates.
  private let state = Mutex(State())

  init(_ store: any ObjectStore) { self.store = store }

  func close(_ gate: Gate) { state.withLock { _ = $0.closed.insert(gate) } }

  /// Makes every request for the history fail, until it is called with nil.
  func failHistory(_ error: ObjectStoreError?) { state.withLock { $0.historyFailure = error } }

  /// Makes every fetch fail, until it is called with nil.
  func failFetches(_ error: ObjectStoreError?) { state.withLock { $0.fetchFailure = error } }

  /// Makes every fetch of a whole result fail, until it is called with nil. Diffs are answered.
  func failReads(_ error: ObjectStoreError?) { state.withLock { $0.readFailure = error } }

  /// Makes each answer of the history have one save at most, as if every save were large.
  func shortenHistory() { state.withLock { $0.hasShortPages = true } }

  /// Releases the waiting responses and all later ones.
  func open(_ gate: Gate) {
    let waiting = state.withLock { state in
      state.closed.remove(gate)
      return state.waiting.removeValue(forKey: gate) ?? []
    }
    for continuation in waiting { continuation.resume() }
  }

  /// The number of waiting responses.
  func waiting(_ gate: Gate) -> Int { state.withLock { $0.waiting[gate]?.count ?? 0 } }

  private func pass(_ gate: Gate) async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        guard state.closed.contains(gate) else { return true }
        state.waiting[gate, default: []].append(continuation)
        return false
      }
      if isOpen { continuation.resume() }
    }
  }

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    if let failure = state.withLock({ $0.fetchFailure }) { throw failure }
    if request["since"] == nil, let failure = state.withLock({ $0.readFailure }) { throw failure }
    let answer = try await store.fetch(request)
    await pass(request["since"] == nil ? .snapshots : .diffs)
    guard !Task.isCancelled else { throw .cancelled }
    return answer
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    let receipt: SaveReceipt
    do throws(ObjectStoreError) {
      receipt = try await store.save(request)
    } catch {
      await pass(.saves)
      throw error
    }
    await pass(.saves)
    return receipt
  }

  func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    if let failure = state.withLock({ $0.historyFailure }) { throw failure }
    let answer = try await store.changes(since: token)
    guard state.withLock({ $0.hasShortPages }), case .array(let saves)? = answer["saves"],
      let first = saves.first, let to = first["token"]
    else { return answer }
    return .object([
      .init(name: "from", value: .string(token)), .init(name: "to", value: to),
      .init(name: "saves", value: .array([first])),
    ])
  }
}
