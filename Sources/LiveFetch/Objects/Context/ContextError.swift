// The errors of a context's fetches, saves and faults.

/// An error of a context.
public enum ContextError: Error, Sendable {
  /// The store did not answer, or refused for a reason other than a save's values.
  case store(ObjectStoreError)
  /// The stored values do not fit the requested type.
  case materialization(MaterializationError)
  /// The save was refused by the class's rules or by the store; nothing was stored.
  case refused(SaveRefusal)
  /// The object does not exist.
  case notFound(entity: String, id: ManagedObjectID)
  /// Several objects match a request for one.
  case notUnique(entity: String)
  /// The object belongs to no context.
  case detached
  /// A value cannot be encoded.
  case unwritable(UnreadableValue)
}

extension ContextError {
  /// True if the store understood the request and refused it, so that the same request is refused again.
  var isDefinitive: Bool {
    switch self {
    case .refused, .store(.notUnderstood): true
    case .store(.refused(let problem)): problem.status != 401 && ServiceUnavailable(problem) == nil
    case .store, .materialization, .notFound, .notUnique, .detached, .unwritable: false
    }
  }
}

extension ContextError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .store(let error): error.description
    case .materialization(let error): error.description
    case .refused(let refusal): refusal.description
    case .notFound(let entity, let id): "there is no \(entity) \(id)"
    case .notUnique(let entity): "several objects of \(entity) match"
    case .detached: "the object belongs to no context"
    case .unwritable(let error): "the value \(error.reason)"
    }
  }
}

/// The reasons why a save was refused.
///
/// ```swift
/// do throws(ContextError) {
///   try await context.save()
/// } catch {
///   guard case .refused(let refusal) = error else { throw error }
///   for failure in refusal.failures(of: city) { mark(failure.key(City.Key.self), failure.reason) }
///   for conflict in refusal.conflicts { offer(conflict.stored, conflict.given) }
/// }
/// ```
public struct SaveRefusal: Sendable, Hashable, CustomStringConvertible {
  /// Violations of the class's rules, the model's rules, or the store's constraints.
  public var failures: [ValidationFailure] = []
  /// Conflicts with saves made since the objects were read.
  public var conflicts: [MergeConflict] = []

  var isEmpty: Bool { failures.isEmpty && conflicts.isEmpty }

  /// Returns the validation failures of one object. O(failures).
  public func failures(of object: ManagedObject) -> [ValidationFailure] {
    failures.filter { $0.objectID == object.objectID && $0.entity == object.entityName }
  }

  /// Returns the conflicts of one object. O(conflicts).
  public func conflicts(of object: ManagedObject) -> [MergeConflict] {
    conflicts.filter { $0.objectID == object.objectID && $0.entity == object.entityName }
  }

  public var description: String {
    (failures.map(\.description) + conflicts.map(\.description)).joined(separator: "; ")
  }
}

/// A rule that a save violates.
public struct ValidationFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The entity's name. The context sets it for failures that a class throws.
  public internal(set) var entity = ""
  /// The object's id. The context sets it for failures that a class throws; nil if it is not known.
  public internal(set) var objectID: ManagedObjectID?
  /// The property's name; nil for the whole object.
  public let property: String?
  /// A stable code such as `too-large`, `not-unique` or `missing`, or the code that a class chose.
  public let code: String
  /// A sentence for users.
  public let reason: String
  /// The nearest existing name for a misspelt one.
  public let hint: String?

  /// Creates a failure of one property.
  public init(_ key: some KeyCodable, code: String = "invalid-value", _ reason: String) {
    self.init(property: key.rawValue, code: code, reason: reason)
  }

  /// Creates a failure of a whole object.
  public init(code: String = "invalid-object", _ reason: String) {
    self.init(property: nil, code: code, reason: reason)
  }

  init(property: String?, code: String, reason: String, hint: String? = nil) {
    self.property = property
    self.code = code
    self.reason = reason
    self.hint = hint
  }

  /// The property as a key of its entity; nil if it is none, or for the whole object.
  public func key<Key: KeyCodable>(_ keys: Key.Type = Key.self) -> Key? {
    property.flatMap(Key.init(rawValue:))
  }

  public var description: String {
    let place = [entity, objectID?.description ?? "", property ?? ""].filter { !$0.isEmpty }
    return place.isEmpty ? reason : "\(place.joined(separator: " ")): \(reason)"
  }
}

/// Several failures, thrown by the validation of a whole object.
public struct ValidationFailures: Error, Sendable, Hashable {
  /// The failures, in the order in which the validation found them.
  public let failures: [ValidationFailure]

  /// - Parameter failures: at least one.
  public init(_ failures: [ValidationFailure]) { self.failures = failures }
}

/// A conflict between a refused save and another save made since the object was read.
public struct MergeConflict: Sendable, Hashable, CustomStringConvertible {
  /// The entity's name.
  public let entity: String
  /// The object's id.
  public let objectID: ManagedObjectID
  /// The property that both changed; nil for the object itself.
  public let property: String?
  /// The stored value; nil if the object was deleted.
  public let stored: JSON?
  /// The value of the refused save.
  public let given: JSON?
  /// The value that the object had been read with.
  public let base: JSON?
  /// True if another save deleted the object.
  public let isDeletion: Bool

  /// The property as a key of the object's class; nil if the class does not declare it.
  public func key<Key: KeyCodable>(_ keys: Key.Type = Key.self) -> Key? {
    property.flatMap(Key.init(rawValue:))
  }

  public var description: String {
    let name = "\(entity) \(objectID)"
    if isDeletion { return "\(name) was deleted" }
    return "\(name): another save changed \(property.map { "`\($0)`" } ?? "it")"
  }
}
