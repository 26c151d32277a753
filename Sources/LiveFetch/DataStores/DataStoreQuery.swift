// A running request. The store enqueues results, the controller reads batches; a mutex protects the
// buffer, so both may be in different isolation domains.

import DequeModule

/// A running request.
///
/// A store enqueues inserted, updated and deleted results and calls ``processPendingChanges()``
/// when they are consistent. Otherwise that happens automatically after the controller's throttle,
/// 50 ms by default. A slow reader gets everything since its last read as one batch.
public final class DataStoreQuery<
  Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest
>: Sendable where Request.Result == Result {
  /// An event for the reader.
  enum Event: Sendable {
    case batch(DataStoreBatch<Result>)
    /// The source cannot be reached; the query tries again.
    case offline(any Error)
    /// The source is reachable again.
    case online
    /// An error that the store recovered from.
    case notice(any Error)
    /// The last event.
    case failed(any Error)
  }

  private struct Content: EventBufferContent {
    var pending = DataStoreBatch<Result>()
    var ready: DataStoreBatch<Result>?
    /// The last offline or online event; results replace it.
    var connection: Event?
    var notices: Deque<Event> = []
    var isFinished = false
    var isFlushing = false
    var reachedSuperclass = false

    mutating func take() -> Event? {
      if let batch = ready {
        ready = nil
        return .batch(batch)
      }
      if let connection {
        self.connection = nil
        return connection
      }
      return notices.popFirst()
    }
  }

  /// The request whose results the query reports.
  public let request: Request
  /// The longest time for which an enqueued change waits.
  let throttle: Duration
  private let box = EventBuffer(Content())

  init(_ request: Request, throttle: Duration) {
    (self.request, self.throttle) = (request, throttle)
  }

  /// True after a stop or a rejection.
  public var isFinished: Bool { box.isFinished }

  // MARK: - For stores

  /// Enqueues an inserted, updated or deleted result.
  public func enqueue(_ result: Result, as type: DataStoreChangeType) {
    change { $0.add(.init(id: result.instanceID, result: type == .delete ? nil : result)) }
  }

  /// Enqueues the complete results, in the store's order.
  ///
  /// - Parameters:
  ///   - results: all results.
  ///   - changed: those that may differ from earlier ones; nil if the reader must compare.
  public func enqueue(all results: [Result], changed: Set<Result.InstanceID>? = nil) {
    change { $0.replace(with: results, changed: changed) }
  }

  /// Enqueues changes; all results instead if many changes wait and some have places, because those
  /// are not merged. For one task at a time.
  ///
  /// - Parameter all: all results after the changes.
  func enqueue(_ changes: [ResultChange<Result>], of all: () -> [Result]) {
    let isMany = box.withLock { content in
      let unread = [content.ready, content.pending].compactMap(\.self)
      return unread.reduce(changes.count) { $0 + $1.changes.count } > ResultEdit<Result>.maxChanges
        && (unread.contains(where: \.isPlaced) || changes.contains { $0.place != nil })
    }
    if isMany { return enqueue(all: all(), changed: Set(changes.map(\.id))) }
    change { batch in
      for change in changes { batch.add(change) }
    }
  }

  /// Delivers the enqueued changes as one batch.
  public func processPendingChanges() {
    box.put { content in
      // A rejected query delivers nothing after its error.
      guard !content.isFinished else { return }
      // Moved out and in again, because a second reference would copy what was not read yet.
      var batch = content.ready ?? DataStoreBatch()
      content.ready = nil
      batch.append(content.pending)
      content.ready = batch
      content.pending = DataStoreBatch()
    }
  }

  /// Ends the query with an error. Batches that were processed before can still be read.
  public func reject(_ error: any Error) {
    box.put { content in
      guard !content.isFinished else { return }
      content.notices.append(.failed(error))
      content.isFinished = true
    }
  }

  /// Reports that the source cannot be reached. The store retries by itself, and then calls
  /// ``resume()`` or enqueues results.
  public func suspend(_ error: any Error) { notify { $0.connection = .offline(error) } }

  /// Reports that the source is reachable again and nothing changed in the meantime.
  public func resume() { notify { $0.connection = .online } }

  /// Reports an error that the store recovered from. At most 1,000 unread errors are kept.
  public func report(_ error: any Error) {
    notify { content in
      if content.notices.count < 1_000 { content.notices.append(.notice(error)) }
    }
  }

  private func notify(_ change: (inout Content) -> Void) {
    box.put { content in if !content.isFinished { change(&content) } }
  }

  private func change(_ body: (inout DataStoreBatch<Result>) -> Void) {
    let mustFlush = box.withLock { content in
      guard !content.isFinished else { return false }
      content.connection = nil
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

  /// Notes that ``DataStore``'s own `execute(_:)` was called.
  func recordSuperclass() { box.withLock { $0.reachedSuperclass = true } }

  /// True if ``DataStore``'s own `execute(_:)` was called and nothing was enqueued or reported.
  var isLeftToSuperclass: Bool {
    box.withLock { content in
      content.reachedSuperclass && content.pending.isEmpty && content.ready == nil
        && content.connection == nil && content.notices.isEmpty && !content.isFinished
    }
  }

  // MARK: - For readers

  /// The next event; nil after the end or if the task is cancelled.
  func next() async -> Event? {
    await box.next { self.finish() }
  }

  /// Ends reading.
  func finish() {
    box.put { content in
      content.isFinished = true
      (content.ready, content.connection, content.notices) = (nil, nil, [])
    }
  }
}
