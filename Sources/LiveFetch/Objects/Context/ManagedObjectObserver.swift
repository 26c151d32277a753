// One object → what becomes of it, told by the store's diffs.

/// Follows one object: what this program saves, and what others do.
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
/// The object shows its new values when the handler is called. An observer of an object that is not
/// saved yet begins when it is, and one that is made while nobody answers when somebody does: what
/// happened to the object meanwhile is then told. It ends after `delete`, after ``didFail``, when it
/// is cancelled, and with itself.
public final class ManagedObjectObserver<Object: ManagedEntity> {
  public enum Change: Sendable, Hashable {
    /// The object has other values.
    case update
    /// The object was deleted, or its entity's default predicate matches it no more.
    case delete
  }

  public let object: Object
  /// Is told why the observer ended although the object did not: the store refuses it for good, or
  /// what the store holds makes no object any more. A server that is away is waited for.
  public var didFail: ((FetchError) -> Void)?
  private let handler: (Change) -> Void
  private var controller: FetchedResultsController<Object>?
  private var listener: Listener?
  private var start: Task<Void, Never>?
  private var saveToken: ObservationToken?

  /// - Parameters:
  ///   - object: whose changes are told.
  ///   - isolation: the object's context's own.
  ///   - handler: is called in the isolation domain that makes the observer.
  public init(
    _ object: Object, isolation: isolated any Actor = #isolation,
    handler: @escaping (Change) -> Void
  ) {
    self.object = object
    self.handler = handler
    guard let context = object.managedObjectContext else { return }
    if let id = context.storedID(of: object) {
      begin(id, in: context, isolation: isolation)
    } else {
      // The context at the top is the one that saves it.
      saveToken = context.root.observe(DidSave.self) { [weak self] _ in
        guard let self, let id = context.storedID(of: object) else { return }
        saveToken = nil
        begin(id, in: context, isolation: isolation)
      }
    }
  }

  deinit { start?.cancel() }

  /// Whether the observer has been told of everything that there will be.
  public private(set) var isEnded = false

  /// Calls the handler no more.
  public func cancel() {
    isEnded = true
    start?.cancel()
    controller?.stop()
    controller = nil
    saveToken = nil
  }

  private func begin(
    _ id: ObjectID, in context: ManagedObjectContext, isolation: isolated any Actor
  ) {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Object>(where: .ids([id])), context: context)
    let listener = Listener { [weak self] change in
      self?.tell(change)
    } fail: { [weak self] error in
      self?.fail(error)
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
        // Where nobody answers, the controller goes on trying.
        if !error.mayPass { self?.fail(error) }
      }
    }
  }

  /// The first look: whether the object is still as it was when the observer was made.
  private func look(since before: [String: JSON]) {
    guard !isEnded, let controller else { return }
    controller.stateDidChange = nil
    if controller.fetchedObjects?.isEmpty == true {
      tell(.delete)
    } else if object.row != before {
      tell(.update)
    }
  }

  private func tell(_ change: Change) {
    guard !isEnded else { return }
    if change == .delete { cancel() }
    handler(change)
  }

  private func fail(_ error: FetchError) {
    guard !isEnded else { return }
    cancel()
    didFail?(error)
  }

  /// Makes of the controller's changes those of the one object.
  private final class Listener: FetchedResultsControllerDelegate {
    typealias Element = Object
    private let tell: (Change) -> Void
    private let fail: (FetchError) -> Void

    init(_ tell: @escaping (Change) -> Void, fail: @escaping (FetchError) -> Void) {
      self.tell = tell
      self.fail = fail
    }

    func controller(
      _ controller: Controller, didChange object: Object, at indexPath: Position?,
      for type: ObjectChangeType, newIndexPath: Position?
    ) {
      switch type {
      case .update, .move: tell(.update)
      case .delete: tell(.delete)
      case .insert: break
      }
    }

    func controller(_ controller: Controller, didFailWith error: FetchError) {
      if case .failed = controller.state { fail(error) }
    }
  }
}
