// The events of a context: changes of its objects, and saves. Delivered to closures and as
// sequences.

import DequeModule
import Synchronization

/// An event of a context.
public protocol ContextEvent {}

/// An event that lists objects.
public protocol ObjectChangesEvent: ContextEvent {
  /// The inserted objects.
  var insertedObjects: Set<ManagedObject> { get }
  /// The objects whose properties changed.
  var updatedObjects: Set<ManagedObject> { get }
  /// The deleted objects.
  var deletedObjects: Set<ManagedObject> { get }
}

extension ObjectChangesEvent {
  /// The inserted objects of a class, including its subclasses.
  public func inserted<Object: ManagedObject>(_ type: Object.Type) -> Set<Object> {
    insertedObjects.only(type)
  }

  /// The updated objects of a class, including its subclasses.
  public func updated<Object: ManagedObject>(_ type: Object.Type) -> Set<Object> {
    updatedObjects.only(type)
  }

  /// The deleted objects of a class, including its subclasses.
  public func deleted<Object: ManagedObject>(_ type: Object.Type) -> Set<Object> {
    deletedObjects.only(type)
  }
}

/// Objects of a context changed, by the program or by the store. Sent after each fetch, merge and
/// save, by ``ManagedObjectContext/processPendingChanges()``, and, for observers on an actor, when
/// the actor has finished the code that changed the objects. Changes need not be saved.
///
/// ```swift
/// let token = context.observe(ObjectsDidChange.self) { change in
///   for city in change.updated(City.self) { redraw(city) }
/// }
/// for await change in context.events(ObjectsDidChange.self) { … }
/// ```
public struct ObjectsDidChange: ObjectChangesEvent {
  /// Objects inserted in this context, including those just saved.
  public internal(set) var insertedObjects: Set<ManagedObject> = []
  /// Objects whose properties were set in this context.
  public internal(set) var updatedObjects: Set<ManagedObject> = []
  /// Objects deleted in this context or by another writer.
  public internal(set) var deletedObjects: Set<ManagedObject> = []
  /// Objects with new values from the store, a parent context, or a rollback.
  public internal(set) var refreshedObjects: Set<ManagedObject> = []

  /// True if the event lists no object.
  public var isEmpty: Bool {
    insertedObjects.isEmpty && updatedObjects.isEmpty && deletedObjects.isEmpty
      && refreshedObjects.isEmpty
  }

  /// Returns the refreshed objects of one class. O(objects).
  public func refreshed<Object: ManagedObject>(_ type: Object.Type) -> Set<Object> {
    refreshedObjects.only(type)
  }
}

/// A save is about to begin. Changes made by an observer are saved as well.
public struct WillSave: ContextEvent {
  /// The context that saves.
  public let context: ManagedObjectContext
}

/// A save completed. Lists the objects that this context inserted, updated and deleted.
public struct DidSave: ObjectChangesEvent {
  /// The context that saved.
  public let context: ManagedObjectContext
  /// The objects that the save inserted.
  public internal(set) var insertedObjects: Set<ManagedObject> = []
  /// The objects that the save updated.
  public internal(set) var updatedObjects: Set<ManagedObject> = []
  /// The objects that the save deleted.
  public internal(set) var deletedObjects: Set<ManagedObject> = []

  init(context: ManagedObjectContext) { self.context = context }
}

extension Set<ManagedObject> {
  fileprivate func only<Object: ManagedObject>(_ type: Object.Type) -> Set<Object> {
    Set<Object>(compactMap { $0 as? Object })
  }
}

extension ManagedObjectContext {
  /// Calls `handler` for each event of a kind, until the token is released or cancelled.
  ///
  /// - Parameters:
  ///   - event: the kind of event.
  ///   - isolation: the context's actor, on which unsaved changes are reported; outside an actor,
  ///     they are reported by the next fetch, merge, save or ``processPendingChanges()``.
  ///   - handler: called in the context's isolation domain.
  public func observe<Event: ContextEvent>(
    _ event: Event.Type, isolation: isolated (any Actor)? = #isolation,
    _ handler: @escaping (Event) -> Void
  ) -> ObservationToken {
    if event == ObjectsDidChange.self { enableScheduledSending(on: isolation) }
    let number = observers.add { received in if let event = received as? Event { handler(event) } }
    return ObservationToken { [weak observers] in observers?.remove(number) }
  }

  /// The events of a kind from now on, until the context is released. The newest 1,000 unread events
  /// are buffered.
  public func events<Event: ContextEvent>(
    _ event: Event.Type, isolation: isolated (any Actor)? = #isolation
  ) -> ContextEvents<Event> {
    let sender = EventSender<Event>()
    let token = observe(event) { event in sender.buffer.put { $0.append(event) } }
    return ContextEvents(buffer: sender.buffer, token: token)
  }

  /// From now on, changes are sent when `isolation` has finished its current code. Does nothing outside
  /// an actor.
  private func enableScheduledSending(on isolation: isolated (any Actor)?) {
    guard let isolation, schedulePendingChanges == nil else { return }
    let reference = IsolatedReference(self, on: isolation)
    schedulePendingChanges = {
      Task {
        await reference.run { context, _ in
          context.isSendingScheduled = false
          context.processPendingChanges()
        }
      }
    }
  }

  /// Schedules one call of ``processPendingChanges()`` for all changes until it runs.
  func pendingDidChange() {
    guard let schedulePendingChanges, !isSendingScheduled, !pending.isEmpty else { return }
    isSendingScheduled = true
    schedulePendingChanges()
  }

  /// Sends the changes since the last event. Fetches, merges and saves do this automatically.
  public func processPendingChanges() {
    guard !pending.isEmpty else { return }
    var event = pending
    pending = ObjectsDidChange()
    event.updatedObjects.subtract(event.insertedObjects)
    observers.notify(event)
  }
}

/// Keeps an observation alive until the token is released, on any thread, or cancelled.
public final class ObservationToken {
  private var end: (() -> Void)?

  init(_ end: @escaping () -> Void) { self.end = end }

  deinit { end?() }

  /// Ends the observation. Calling it again does nothing.
  public func cancel() {
    end?()
    end = nil
  }
}

/// The observers of a context, by number. Thread-safe, because tokens may be released on any thread.
final class ContextObservers: Sendable {
  /// Called in the context's isolation domain.
  private struct Handler: @unchecked Sendable { let call: (any ContextEvent) -> Void }

  private struct Handlers {
    var byNumber: [Int: Handler] = [:]
    var last = 0
  }

  // Protects the handlers; never held while one is called or released.
  private let handlers = Mutex(Handlers())

  func add(_ handler: @escaping (any ContextEvent) -> Void) -> Int {
    let handler = Handler(call: handler)
    return handlers.withLock { handlers in
      handlers.last += 1
      handlers.byNumber[handlers.last] = handler
      return handlers.last
    }
  }

  func remove(_ number: Int) {
    _ = handlers.withLock { $0.byNumber.removeValue(forKey: number) }
  }

  /// Calls the observers in the order in which they were added, except those that an earlier one
  /// removes.
  func notify(_ event: any ContextEvent) {
    for number in handlers.withLock({ $0.byNumber.keys.sorted() }) {
      handlers.withLock { $0.byNumber[number] }?.call(event)
    }
  }
}

// MARK: - Sequences

/// The events of a context as a sequence, for the context's isolation domain and one reader: while
/// one loop waits, a second one ends. A reader that is cancelled ends the sequence.
public struct ContextEvents<Event: ContextEvent>: AsyncSequence {
  let buffer: EventBuffer<UnreadEvents<Event>>
  let token: ObservationToken

  public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer, token: token) }

  /// Iterates over the events.
  public struct Iterator: AsyncIteratorProtocol {
    let buffer: EventBuffer<UnreadEvents<Event>>
    let token: ObservationToken

    public mutating func next() async -> Event? { await next(isolation: #isolation) }

    public mutating func next(
      isolation: isolated (any Actor)?
    ) async -> Event? {
      await buffer.next()?.event
    }
  }
}

/// Owned by the observer of a sequence: the sequence ends with it.
private final class EventSender<Event: ContextEvent> {
  let buffer = EventBuffer(UnreadEvents<Event>())

  deinit { buffer.finish() }
}

/// The newest events that a reader has not received.
struct UnreadEvents<Event>: EventBufferContent {
  /// An event on its way to a reader in the same isolation domain.
  struct Delivery: @unchecked Sendable { let event: Event }

  static var limit: Int { 1_000 }

  private var events: Deque<Delivery> = []
  var isFinished = false

  mutating func append(_ event: Event) {
    guard !isFinished else { return }
    if events.count >= Self.limit { events.removeFirst() }
    events.append(Delivery(event: event))
  }

  mutating func take() -> Delivery? { events.popFirst() }
}
