// Observes one object.

import FetchModel

/// Observes one object: changes by this program and by other writers.
///
/// ```swift
/// observer = ManagedObjectObserver(city) { change in
///   switch change {
///   case .update: label.text = city.name
///   case .delete: close()
///   }
/// }
/// ```
///
/// The object has its new values when the handler is called. The observer of an unsaved object
/// starts with its save; it reports `delete` if the object is deleted or rolled back before. If the
/// store cannot be reached, it starts when the store returns and then reports what changed since. It
/// ends after `delete`, after ``didFail``, when it is cancelled, and when it is released.
public final class ManagedObjectObserver<Object: ManagedEntity> {
  /// The kind of change of the observed object.
  public enum Change: Sendable, Hashable {
    /// The object has new values.
    case update
    /// The object was deleted, or no longer matches its entity's default predicate.
    case delete
  }

  /// The observed object.
  public let object: Object
  /// Called with the reason if the store refuses the observation permanently; the observer then
  /// ends. Also called if the object becomes unreadable, which does not end the observer: `update`
  /// follows when it is readable again. An unreachable store is retried.
  public var didFail: ((FetchError) -> Void)?
  private let handler: (Change) -> Void
  private var controller: FetchedResultsController<Object>?
  private var listener: Listener?
  private var start: Task<Void, Never>?
  private var startTokens: [ObservationToken] = []
  private var pendingTokens: [ObservationToken] = []
  /// The unsaved values that the handler knows, by property.
  private var pendingValues: [String: JSON] = [:]

  /// - Parameters:
  ///   - object: the object to observe.
  ///   - includesPendingChanges: true to report unsaved values of the object's context as well, and
  ///     their rollback. A deletion is reported when it is saved.
  ///   - isolation: the isolation domain of the object's context.
  ///   - handler: called in the isolation domain that creates the observer.
  public init(
    _ object: Object, includesPendingChanges: Bool = false,
    isolation: isolated any Actor = #isolation, handler: @escaping (Change) -> Void
  ) {
    self.object = object
    self.handler = handler
    guard let context = object.managedObjectContext else { return }
    if includesPendingChanges {
      pendingValues = object.changedValuesByName
      pendingTokens = [
        context.observe(ObjectsDidChange.self) { [weak self] _ in self?.lookAtPending() },
        context.observe(DidSave.self) { [weak self] _ in self?.forgetSaved() },
      ]
    }
    if let id = context.storedID(of: object) {
      begin(id, in: context, isolation: isolation)
    } else {
      // The root context saves the object.
      startTokens = [
        context.root.observe(DidSave.self) { [weak self] _ in
          guard let self, object.managedObjectContext != nil,
            let id = context.storedID(of: object)
          else { return }
          startTokens = []
          begin(id, in: context, isolation: isolation)
        },
        context.observe(ObjectsDidChange.self) { [weak self] change in
          guard change.deletedObjects.contains(object), object.managedObjectContext == nil else {
            return
          }
          self?.notify(.delete)
        },
      ]
    }
  }

  deinit { start?.cancel() }

  /// True if the handler will not be called any more.
  public private(set) var isEnded = false

  /// Ends the observation.
  public func cancel() {
    isEnded = true
    start?.cancel()
    controller?.stop()
    controller = nil
    (startTokens, pendingTokens) = ([], [])
  }

  /// Reports unsaved values that changed since the last call. A save reports its values itself.
  private func lookAtPending() {
    let (before, now) = (pendingValues, object.changedValuesByName)
    guard before != now else { return }
    pendingValues = now
    let isSaved = now.isEmpty && before.allSatisfy { object.row[$0.key] == $0.value }
    if !isSaved { notify(.update) }
  }

  /// Saved values are no unsaved ones that a later change of another program could end.
  private func forgetSaved() {
    let unsaved = object.changedValuesByName
    pendingValues = pendingValues.filter { unsaved[$0.key] != nil }
  }

  private func begin(
    _ id: ObjectID, in context: ManagedObjectContext, isolation: isolated any Actor
  ) {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Object>(where: .ids([id])), context: context)
    let listener = Listener { [weak self] change in
      self?.notify(change)
    } fail: { [weak self] error, isEnd in
      if isEnd { self?.fail(error) } else { self?.didFail?(error) }
    }
    controller.delegate = listener
    self.controller = controller
    self.listener = listener
    let before = object.row
    controller.stateDidChange = { [weak self] state in
      if case .following = state { self?.look(since: before) }
    }
    start = Task { [weak self] in
      _ = isolation
      do throws(FetchError) {
        try await controller.performFetch(isolation: isolation)
      } catch {
        // The controller retries if the store cannot be reached or the object is unreadable.
        if case .materialization = error { return }
        if !error.isTransient { self?.fail(error) }
      }
    }
  }

  /// Compares the first fetch with the values that the object had when the observer was created.
  private func look(since before: ItemValues) {
    guard !isEnded, let controller else { return }
    controller.stateDidChange = nil
    if controller.isUnreadable {
      return
    } else if controller.fetchedObjects?.isEmpty == true {
      notify(.delete)
    } else if object.row != before {
      notify(.update)
    }
  }

  private func notify(_ change: Change) {
    guard !isEnded else { return }
    if change == .delete { cancel() }
    handler(change)
  }

  private func fail(_ error: FetchError) {
    guard !isEnded else { return }
    cancel()
    didFail?(error)
  }

  /// Converts the controller's changes into changes of the one object.
  private final class Listener: FetchedResultsControllerDelegate {
    typealias Element = Object
    private let notify: (Change) -> Void
    private let fail: (FetchError, _ isEnd: Bool) -> Void

    init(
      _ notify: @escaping (Change) -> Void, fail: @escaping (FetchError, _ isEnd: Bool) -> Void
    ) {
      self.notify = notify
      self.fail = fail
    }

    func controller(
      _ controller: Controller, didChange object: Object, at indexPath: Position?,
      for type: ObjectChangeType, newIndexPath: Position?
    ) {
      switch type {
      case .update, .move, .insert: notify(.update)
      case .delete: if !controller.isUnreadable { notify(.delete) }
      }
    }

    func controller(_ controller: Controller, didFailWith error: FetchError) {
      if case .materialization = error {
        fail(error, false)
      } else if case .failed = controller.state {
        fail(error, true)
      }
    }
  }
}

extension FetchedResultsController {
  /// True if the result contains an unreadable object.
  fileprivate var isUnreadable: Bool { storedContent?.problems.isEmpty == false }
}
