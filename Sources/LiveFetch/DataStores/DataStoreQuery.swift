// One execution of a request: a store puts in what it finds, a controller takes out batches. A
// mutex stands between them, so both may live where they like.

import Synchronization

/// A running request.
///
/// A store enqueues results, each as inserted, updated or deleted, and calls
/// ``processPendingChanges()`` when what it enqueued is consistent; else that happens by itself
/// ``throttle`` after the first of them. Whoever reads slowly gets all that came meanwhile as one
/// batch.
public final class DataStoreQuery<
  Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest
>: Sendable where Request.Result == Result {
  /// What a reader gets.
  enum Event: Sendable {
    case batch(DataStoreBatch<Result>)
    /// The source cannot be reached for now.
    case offline(any Error)
    /// It can be reached again.
    case online
    /// Something went wrong, and was mended.
    case notice(any Error)
    /// The last event.
    case failed(any Error)
  }

  private struct State {
    var pending = DataStoreBatch<Result>()
    var ready: DataStoreBatch<Result>?
    var notices: [Event] = []
    var isFinished = false
    var isFlushing = false
    var reader: CheckedContinuation<Event?, Never>?
  }

  public let request: Request
  /// How long an enqueued change waits at most before it is processed.
  public let throttle: Duration
  // Guards what is on its way; never held while the reader is resumed.
  private let state = Mutex(State())

  public init(_ request: Request, throttle: Duration = .milliseconds(50)) {
    self.request = request
    self.throttle = throttle
  }

  /// Whether nobody reads any more: it was stopped, or rejected.
  public var isFinished: Bool { state.withLock { $0.isFinished } }

  // MARK: - For stores

  /// A result came, changed or went.
  public func enqueue(_ result: Result, as type: DataStoreChangeType) {
    change { $0.add(result, type) }
  }

  /// These are all results there are, in the store's order.
  ///
  /// - Parameters:
  ///   - results: all of them.
  ///   - changed: those that may differ from what was told before; nil: the reader compares.
  public func enqueue(all results: [Result], changed: Set<Result.InstanceID>? = nil) {
    change { $0.replace(with: results, changed: changed) }
  }

  /// Hands on what was enqueued, as one batch.
  public func processPendingChanges() {
    resumeReader { state in
      // Nothing comes before the error of a rejected query, which would end in a fetch without it.
      guard !state.isFinished else { return }
      var batch = state.ready ?? DataStoreBatch()
      batch.append(state.pending)
      state.ready = batch
      state.pending = DataStoreBatch()
    }
  }

  /// The request failed; this query tells nothing more. What was processed is still read.
  public func reject(_ error: any Error) {
    resumeReader { state in
      guard !state.isFinished else { return }
      state.notices.append(.failed(error))
      state.isFinished = true
    }
  }

  /// The source cannot be reached for now; the store tries again by itself, and then calls
  /// ``resume()`` or enqueues results.
  public func suspend(_ error: any Error) { notify(.offline(error)) }

  /// The source can be reached again, and nothing changed meanwhile.
  public func resume() { notify(.online) }

  /// Something went wrong and was mended; whoever wants can know.
  public func report(_ error: any Error) { notify(.notice(error)) }

  private func notify(_ event: Event) {
    resumeReader { state in
      guard !state.isFinished else { return }
      // Of being on- and offline the last one counts.
      if case .notice = event {} else { state.notices.removeAll { !$0.isNotice } }
      if state.notices.count < 16 { state.notices.append(event) }
    }
  }

  private func change(_ body: (inout DataStoreBatch<Result>) -> Void) {
    let mustFlush = state.withLock { state in
      guard !state.isFinished else { return false }
      body(&state.pending)
      defer { state.isFlushing = true }
      return !state.isFlushing
    }
    guard mustFlush else { return }
    Task { [weak self, throttle] in
      try? await Task.sleep(for: throttle)
      self?.flush()
    }
  }

  private func flush() {
    let hasChanges = state.withLock { state in
      state.isFlushing = false
      return !state.pending.isEmpty
    }
    if hasChanges { processPendingChanges() }
  }

  // MARK: - For readers

  /// The next event; nil when there will be none, or the task is cancelled.
  func next() async -> Event? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let event: Event?? = state.withLock { state in
          if let event = Self.take(&state) { return event }
          if state.isFinished || state.reader != nil || Task.isCancelled { return .some(nil) }
          state.reader = continuation
          return nil
        }
        if let event { continuation.resume(returning: event) }
      }
    } onCancel: {
      finish()
    }
  }

  /// Nobody reads any more.
  func finish() {
    resumeReader { state in
      state.isFinished = true
      (state.ready, state.notices) = (nil, [])
    }
  }

  private func resumeReader(after change: (inout State) -> Void) {
    let resumption: (CheckedContinuation<Event?, Never>, Event?)? = state.withLock { state in
      change(&state)
      guard let reader = state.reader else { return nil }
      let event = Self.take(&state)
      guard event != nil || state.isFinished else { return nil }
      state.reader = nil
      return (reader, event)
    }
    resumption.map { $0.resume(returning: $1) }
  }

  private static func take(_ state: inout State) -> Event? {
    if let batch = state.ready {
      state.ready = nil
      return .batch(batch)
    }
    return state.notices.isEmpty ? nil : state.notices.removeFirst()
  }
}

extension DataStoreQuery.Event {
  fileprivate var isNotice: Bool { if case .notice = self { true } else { false } }
}
