// One execution of a request: a store puts in what it finds, a controller takes out batches. A
// mutex stands between them, so both may live where they like.

import DequeModule

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

  private struct Content: MailboxContent {
    var pending = DataStoreBatch<Result>()
    var ready: DataStoreBatch<Result>?
    var notices: Deque<Event> = []
    var isFinished = false
    var isFlushing = false

    mutating func take() -> Event? {
      if let batch = ready {
        ready = nil
        return .batch(batch)
      }
      return notices.popFirst()
    }
  }

  public let request: Request
  /// How long an enqueued change waits at most before it is processed.
  public let throttle: Duration
  private let box = Mailbox(Content())

  public init(_ request: Request, throttle: Duration = .milliseconds(50)) {
    self.request = request
    self.throttle = throttle
  }

  /// Whether nobody reads any more: it was stopped, or rejected.
  public var isFinished: Bool { box.isFinished }

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
    box.put { content in
      // Nothing comes before the error of a rejected query, which would end in a fetch without it.
      guard !content.isFinished else { return }
      var batch = content.ready ?? DataStoreBatch()
      batch.append(content.pending)
      content.ready = batch
      content.pending = DataStoreBatch()
    }
  }

  /// The request failed; this query tells nothing more. What was processed is still read.
  public func reject(_ error: any Error) {
    box.put { content in
      guard !content.isFinished else { return }
      content.notices.append(.failed(error))
      content.isFinished = true
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
    box.put { content in
      guard !content.isFinished else { return }
      // Of being on- and offline the last one counts.
      if case .notice = event {} else { content.notices.removeAll { !$0.isNotice } }
      if content.notices.count < 16 { content.notices.append(event) }
    }
  }

  private func change(_ body: (inout DataStoreBatch<Result>) -> Void) {
    let mustFlush = box.withLock { content in
      guard !content.isFinished else { return false }
      body(&content.pending)
      defer { content.isFlushing = true }
      return !content.isFlushing
    }
    guard mustFlush else { return }
    Task { [weak self, throttle] in
      try? await Task.sleep(for: throttle)
      self?.flush()
    }
  }

  private func flush() {
    let hasChanges = box.withLock { content in
      content.isFlushing = false
      return !content.pending.isEmpty
    }
    if hasChanges { processPendingChanges() }
  }

  // MARK: - For readers

  /// The next event; nil when there will be none, or the task is cancelled.
  func next() async -> Event? {
    await box.next { self.finish() }
  }

  /// Nobody reads any more.
  func finish() {
    box.put { content in
      content.isFinished = true
      (content.ready, content.notices) = (nil, [])
    }
  }
}

extension DataStoreQuery.Event {
  fileprivate var isNotice: Bool { if case .notice = self { true } else { false } }
}
