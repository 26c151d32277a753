// Why a context could not do what it was asked: fetches, saves, faults.

/// What went wrong in a context.
public enum ContextError: Error, Sendable {
  /// The store did not answer, or refused for another reason than the values of a save.
  case store(ObjectStoreError)
  /// What the store holds makes no object of the type that was asked for.
  case materialization(MaterializationError)
  /// The save was refused, by rules of one's own or the store's; nothing of it was stored.
  case refused(SaveRefusal)
  /// There is no such object, or none any more.
  case notFound(entity: String, id: ManagedObjectID)
  /// Several objects match where one was asked for.
  case notUnique(entity: String)
  /// The object belongs to no context.
  case detached
  /// A value that cannot be written.
  case unwritable(UnreadableValue)
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

/// Why a save was refused: every failure, by object and key.
///
/// ```swift
/// do {
///   try await context.save()
/// } catch {
///   guard case .refused(let refusal) = error else { throw error }
///   for failure in refusal.failures(of: city) { mark(failure.key(City.Key.self), failure.reason) }
///   for conflict in refusal.conflicts { offer(conflict.stored, conflict.given) }
/// }
/// ```
public struct SaveRefusal: Sendable, Hashable, CustomStringConvertible {
  /// What breaks a rule: one's own, the model's, or a constraint of the store.
  public var failures: [ValidationFailure] = []
  /// What somebody else saved in between.
  public var conflicts: [MergeConflict] = []

  public init(failures: [ValidationFailure] = [], conflicts: [MergeConflict] = []) {
    self.failures = failures
    self.conflicts = conflicts
  }

  public var isEmpty: Bool { failures.isEmpty && conflicts.isEmpty }

  public func failures(of object: ManagedObject) -> [ValidationFailure] {
    failures.filter { $0.objectID == object.objectID && $0.entity == object.entityName }
  }

  public func conflicts(of object: ManagedObject) -> [MergeConflict] {
    conflicts.filter { $0.objectID == object.objectID && $0.entity == object.entityName }
  }

  public var description: String {
    (failures.map(\.description) + conflicts.map(\.description)).joined(separator: "; ")
  }
}

/// One rule that a save breaks.
public struct ValidationFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The entity's name; empty in one's own rules, where the context fills it in.
  public internal(set) var entity = ""
  public internal(set) var objectID: ManagedObjectID?
  /// The property's name; nil where the whole object is meant.
  public let property: String?
  /// Stable: `too-large`, `not-unique`, `missing`; of one's own rules what they say.
  public let code: String
  /// A sentence for people.
  public let reason: String
  /// The nearest name for a misspelt one.
  public let hint: String?

  /// A rule about one property.
  public init(_ key: some KeyCodable, code: String = "invalid-value", _ reason: String) {
    self.init(property: key.rawValue, code: code, reason: reason)
  }

  /// A rule about a whole object.
  public init(code: String = "invalid-object", _ reason: String) {
    self.init(property: nil, code: code, reason: reason)
  }

  init(property: String?, code: String, reason: String, hint: String? = nil) {
    self.property = property
    self.code = code
    self.reason = reason
    self.hint = hint
  }

  /// The property as one of its entity's keys; nil where it is none, or the whole object is meant.
  public func key<Key: KeyCodable>(_ keys: Key.Type = Key.self) -> Key? {
    property.flatMap(Key.init(rawValue:))
  }

  public var description: String {
    let place = [entity, objectID?.description ?? "", property ?? ""].filter { !$0.isEmpty }
    return place.isEmpty ? reason : "\(place.joined(separator: " ")): \(reason)"
  }
}

/// Several rules at once, for what validates a whole object.
public struct ValidationFailures: Error, Sendable, Hashable {
  public let failures: [ValidationFailure]

  public init(_ failures: [ValidationFailure]) { self.failures = failures }
}

/// What somebody else saved since an object was read, and what the refused save wanted.
public struct MergeConflict: Sendable, Hashable, CustomStringConvertible {
  public let entity: String
  public let objectID: ManagedObjectID?
  /// The property that both changed; nil where the object itself is meant.
  public let property: String?
  /// What the store holds; nil where the object was deleted.
  public let stored: JSON?
  /// What the save wanted.
  public let given: JSON?
  /// What the object had been read with.
  public let base: JSON?
  /// Whether somebody deleted the object.
  public let isDeletion: Bool

  public func key<Key: KeyCodable>(_ keys: Key.Type = Key.self) -> Key? {
    property.flatMap(Key.init(rawValue:))
  }

  public var description: String {
    let name = "\(entity) \(objectID?.description ?? "")"
    if isDeletion { return "\(name) was deleted" }
    return "\(name): another save changed \(property.map { "`\($0)`" } ?? "it")"
  }
}
