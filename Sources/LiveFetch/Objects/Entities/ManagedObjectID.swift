// The identity of a managed object, before and after it is saved.

/// An object's id: permanent, as assigned by the store, or temporary until the object is saved.
///
/// Results of a store contain permanent ids only; a controller that includes unsaved changes shows a
/// new object's temporary id as text. A temporary id is valid in this process; when a save makes it
/// permanent, every context that contains the object is updated.
public enum ManagedObjectID: Sendable, Hashable, CustomStringConvertible {
  /// The object's id in the store.
  case permanent(ObjectID)
  /// The name of an unsaved object, unique in this process.
  case temporary(String)

  /// The object's id in the store; nil for a temporary id.
  public var permanentID: ObjectID? { if case .permanent(let id) = self { id } else { nil } }
  /// True until a save makes the id permanent.
  public var isTemporary: Bool { permanentID == nil }

  public var description: String {
    switch self {
    case .permanent(let id): id.description
    case .temporary(let name): name
    }
  }

  /// The id as a relationship's value in a save.
  var json: JSON {
    switch self {
    case .permanent(let id): id.predicateArgument
    case .temporary(let name): .object([.init(name: "temporaryID", value: .string(name))])
    }
  }

  /// Reads a temporary id; nil for every other value.
  init?(temporaryJSON json: JSON) {
    guard case .object = json, let name = json["temporaryID"]?.string else { return nil }
    self = .temporary(name)
  }

  /// Reads a temporary or a permanent id; nil for every other value.
  init?(json: JSON) {
    if let id = ManagedObjectID(temporaryJSON: json) {
      self = id
    } else if let id = ObjectID(json: json) {
      self = .permanent(id)
    } else {
      return nil
    }
  }
}
