// Saves that wait for a server: each is stored before it is sent, sent in its turn under one
// idempotency key, and removed when the server has answered it.

import FetchModel
import Foundation
import Synchronization

/// The queue of an ``OfflineStore``.
final class OfflineQueue: Sendable {
  typealias Answer = QueuedSave.Answer

  /// A caller that waits for the answer to a save.
  private struct Caller {
    /// Resumed with the answer; with nil if the caller is to wait no longer.
    let waiter: SingleShotContinuation<Answer?>
    /// nil if the caller waits for the answer in any case.
    let handle: QueuedSave?

    /// - Returns: true if the caller gets the answer, directly or from its handle.
    @discardableResult
    func end(_ answer: Answer) -> Bool {
      let isTaken = waiter.end(answer)
      return handle?.enter(.answered(answer)) ?? false || isTaken
    }
  }

  private struct State {
    /// In the order in which they are sent.
    var entries: [Entry]
    var refusals: [Refusal]
    var lastNumber: Int
    var callers: [Int: Caller] = [:]
    /// The permanent ids of answered inserts, by temporary id.
    var ids: [String: ObjectID] = [:]
    /// Why the first save could not be sent the last time.
    var failure: ObjectStoreError?
    var isClosed = false
  }

  private let storage: any OfflineStorage
  private let send: @Sendable (JSON, String) async -> Answer
  private let onQueue: (@Sendable (Int, ObjectStoreError?) -> Void)?
  private let onRefused: (@Sendable (RefusedSave) -> Void)?
  // Protects the entries and the order of writes to the storage.
  private let state: Mutex<State>
  private let news: AsyncStream<Void>
  private let newsContinuation: AsyncStream<Void>.Continuation

  /// - Parameter send: sends a save under an idempotency key.
  init(
    _ storage: any OfflineStorage, send: @escaping @Sendable (JSON, String) async -> Answer,
    onQueue: (@Sendable (Int, ObjectStoreError?) -> Void)?,
    onRefused: (@Sendable (RefusedSave) -> Void)?
  ) throws {
    let keys = try storage.keys().filter { $0.hasPrefix("save-") }
    let stored = try keys.compactMap { try storage.value(forKey: $0).flatMap { Entry($0) } }
      .sorted { $0.number < $1.number }
    let refusals = try Refusal.all(in: storage)
    // The program may have ended after it had stored a refusal and before it removed the save.
    let refused = Set(refusals.map(\.number))
    let entries = stored.filter { !refused.contains($0.number) }
    for entry in stored where refused.contains(entry.number) {
      try storage.setValue(nil, forKey: entry.key)
    }
    // A save that cannot be read stays in the storage: its number is not used again.
    let numbers = keys.compactMap { Int($0.dropFirst(5)) } + stored.map(\.number)
    let last = max(numbers.max() ?? 0, refusals.last?.number ?? 0)
    state = Mutex(State(entries: entries, refusals: refusals, lastNumber: last))
    (self.storage, self.send) = (storage, send)
    (self.onQueue, self.onRefused) = (onQueue, onRefused)
    (news, newsContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// The saves that wait, in their order.
  var bodies: [JSON] { state.withLock { $0.entries.map(\.body) } }

  /// Why the first save waits; nil if none was sent in vain.
  var failure: ObjectStoreError? { state.withLock { $0.failure } }

  /// The refused saves that no function received.
  var refusedSaves: [RefusedSave] { state.withLock { $0.refusals.map(\.save) } }

  func removeRefusedSaves() {
    state.withLock { state in
      for refusal in state.refusals {
        try? storage.setValue(nil, forKey: Refusal.key(refusal.number))
      }
      state.refusals = []
    }
  }

  // MARK: - Callers

  /// Stores a save and waits for the server's answer. A caller that is cancelled leaves the save in
  /// the queue.
  func save(_ body: JSON) async -> Answer {
    switch await append(body, UUID().uuidString, handle: nil) {
    case .success(let answer): answer ?? .failure(.cancelled)
    case .failure(let error): .failure(error)
    }
  }

  /// Stores a save, and waits for the server's answer while one can be expected soon.
  func submit(_ body: JSON, _ key: String) async -> Result<SubmittedSave, ObjectStoreError> {
    let handle = QueuedSave()
    return await append(body, key, handle: handle).flatMap { answer in
      answer.map { $0.map { .made($0) } } ?? .success(.queued(handle))
    }
  }

  /// - Returns: the answer; nil if the caller is to wait no longer; an error if the save is not
  ///   stored.
  private func append(
    _ body: JSON, _ key: String, handle: QueuedSave?
  ) async -> Result<Answer?, ObjectStoreError> {
    let caller = Caller(waiter: SingleShotContinuation(), handle: handle)
    let refusal = Mutex<ObjectStoreError?>(nil)
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard caller.waiter.begin(continuation) || handle != nil else { return }
        if let error = append(body, key, caller) {
          refusal.withLock { $0 = error }
          caller.waiter.end(nil)
        }
      }
    } onCancel: {
      caller.waiter.end(nil)
    }
    if let error = refusal.withLock({ $0 }) { return .failure(error) }
    return .success(answer)
  }

  private func append(_ body: JSON, _ key: String, _ caller: Caller) -> ObjectStoreError? {
    let result: Result<Int, ObjectStoreError> = state.withLock { state in
      guard !state.isClosed else { return .failure(.cancelled) }
      // A name that a waiting save inserts means that object.
      var ids = state.ids
      for waiting in state.entries where !ids.isEmpty {
        for name in waiting.body.insertedNames { ids[name] = nil }
      }
      let entry = Entry(number: state.lastNumber + 1, body: body.withIDs(ids), idempotencyKey: key)
      do {
        try storage.setValue(entry.data, forKey: entry.key)
      } catch {
        return .failure(.unreachable(ServiceUnavailable("the storage cannot be written: \(error)")))
      }
      state.lastNumber = entry.number
      state.entries.append(entry)
      state.callers[entry.number] = caller
      return .success(state.entries.count)
    }
    switch result {
    case .success(let count):
      onQueue?(count, nil)
      newsContinuation.yield()
      if caller.handle != nil { limitWait(of: caller) }
      return nil
    case .failure(let error): return error
    }
  }

  /// A call that may return before the answer does so at once if the server cannot be reached, else
  /// after two seconds.
  private func limitWait(of caller: Caller) {
    guard failure == nil else {
      caller.waiter.end(nil)
      return
    }
    Task {
      try? await Task.sleep(for: .seconds(2))
      caller.waiter.end(nil)
    }
  }

  // MARK: - Sending

  /// Sends the saves until the queue is closed or the task is cancelled.
  func run() async {
    reportRefusals()
    var news = news.makeAsyncIterator()
    var failures = 0
    while !Task.isCancelled {
      guard let entry = begin() else {
        if await news.next() == nil { return }
        continue
      }
      let answer: Answer =
        if entry.isOutcomeUnknown { .failure(.outcomeUnknown) } else {
          await send(entry.body, entry.idempotencyKey)
        }
      guard !Task.isCancelled else { return }
      if case .failure(let error) = answer, error.leavesQueued {
        keepFirst(entry, after: error)
        failures += 1
        let pause = max(
          min(5, 0.1 * Double(1 << min(failures - 1, 6))),
          min(error.unavailability?.retryAfter ?? 0, 300))
        try? await Task.sleep(for: .seconds(pause * Double.random(in: 1...1.25)))
      } else {
        failures = 0
        end(entry.number, answer)
      }
    }
  }

  private struct Sending {
    let number: Int
    let isOutcomeUnknown: Bool
    /// True if the server has not received the save before.
    let isFirst: Bool
    let body: JSON
    let idempotencyKey: String
  }

  /// The first save, after its time of sending was stored; nil if there is none.
  private func begin() -> Sending? {
    state.withLock { state in
      guard !state.isClosed, var entry = state.entries.first else { return nil }
      let now = Date().timeIntervalSince1970
      let sending = Sending(
        number: entry.number, isOutcomeUnknown: entry.sent.map { now - $0 > 23 * 3_600 } ?? false,
        isFirst: entry.sent == nil, body: entry.body, idempotencyKey: entry.idempotencyKey)
      if entry.sent == nil {
        entry.sent = now
        try? storage.setValue(entry.data, forKey: entry.key)
        state.entries[0] = entry
        state.callers[entry.number]?.handle?.enter(.sent)
      }
      return sending
    }
  }

  /// Keeps a save that was not answered. Calls that need not wait for answers return.
  private func keepFirst(_ sending: Sending, after error: ObjectStoreError) {
    let (count, failure, waiters) = state.withLock { state in
      // The save may have been removed in the meantime.
      let isFirst = state.entries.first?.number == sending.number
      state.failure = isFirst ? error : nil
      if isFirst, sending.isFirst, !error.mayBeMade {
        state.entries[0].sent = nil
        try? storage.setValue(state.entries[0].data, forKey: state.entries[0].key)
        state.callers[sending.number]?.handle?.enter(.waiting)
      }
      let waiters = state.callers.values.filter { $0.handle != nil }.map(\.waiter)
      return (state.entries.count, state.failure, waiters)
    }
    for waiter in waiters { waiter.end(nil) }
    onQueue?(count, failure)
  }

  /// Removes an answered save. Later saves get the permanent ids first: if the program ends in
  /// between, the save is sent once more and answered with the same ids.
  private func end(_ number: Int, _ answer: Answer) {
    let (entry, caller, count) = state.withLock { state in
      // The save may have been removed in the meantime.
      let isFirst = state.entries.first?.number == number
      let entry = isFirst ? state.entries.removeFirst() : nil
      state.failure = nil
      if case .success(let receipt) = answer { replaceIDs(receipt.ids, &state) }
      return (entry, state.callers.removeValue(forKey: number), state.entries.count)
    }
    guard let entry else { return }
    let isTaken = caller?.end(answer) ?? false
    if case .failure(let error) = answer, !isTaken { keep(entry, refusedFor: error) }
    try? storage.setValue(nil, forKey: entry.key)
    reportRefusals()
    onQueue?(count, nil)
  }

  /// Removes the saves for which `isRemoved` returns true. Their callers get
  /// ``ObjectStoreError/removedFromQueue``.
  func remove(where isRemoved: (JSON) -> Bool) {
    let waiting = state.withLock { $0.entries }
    let numbers = Set(waiting.filter { isRemoved($0.body) }.map(\.number))
    let (callers, count, failure) = state.withLock { state in
      if let first = state.entries.first, numbers.contains(first.number) { state.failure = nil }
      for entry in state.entries where numbers.contains(entry.number) {
        try? storage.setValue(nil, forKey: entry.key)
      }
      state.entries.removeAll { numbers.contains($0.number) }
      let callers = numbers.sorted().compactMap { state.callers.removeValue(forKey: $0) }
      return (callers, state.entries.count, state.failure)
    }
    for caller in callers { caller.end(.failure(.removedFromQueue)) }
    onQueue?(count, failure)
  }

  private func replaceIDs(_ ids: [String: ObjectID], _ state: inout State) {
    guard !ids.isEmpty else { return }
    state.ids.merge(ids) { $1 }
    var ids = ids
    for index in state.entries.indices {
      for name in state.entries[index].body.insertedNames { ids[name] = nil }
      let body = state.entries[index].body.withIDs(ids)
      guard body != state.entries[index].body else { continue }
      state.entries[index].body = body
      try? storage.setValue(state.entries[index].data, forKey: state.entries[index].key)
    }
  }

  // MARK: - Refusals

  /// Stores a refused save until the application has received it.
  private func keep(_ entry: Entry, refusedFor error: ObjectStoreError) {
    let refusal = Refusal(
      number: entry.number, save: RefusedSave(request: entry.body, error: error))
    state.withLock { state in
      try? storage.setValue(refusal.save.data, forKey: Refusal.key(refusal.number))
      state.refusals.append(refusal)
    }
  }

  /// Gives the refused saves to the application, also those of earlier runs.
  private func reportRefusals() {
    guard let onRefused else { return }
    let refusals = state.withLock { state in
      defer { state.refusals = [] }
      return state.refusals
    }
    for refusal in refusals {
      onRefused(refusal.save)
      try? storage.setValue(nil, forKey: Refusal.key(refusal.number))
    }
  }

  /// Ends the callers. The saves stay in the storage.
  func close() {
    let callers = state.withLock { state in
      state.isClosed = true
      defer { state.callers = [:] }
      return state.callers.values
    }
    newsContinuation.finish()
    for caller in callers {
      caller.waiter.end(nil)
      caller.handle?.enter(.answered(.failure(.cancelled)))
    }
  }
}
