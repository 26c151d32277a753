// The result of a save.

/// The result of a completed save.
public struct SaveResult: Sendable, Hashable {
  /// The id of an inserted object.
  public struct NamedID: Sendable, Hashable {
    /// The temporary id, or the index of the change as text.
    public let name: String
    /// The permanent id that the store assigned.
    public let id: ObjectID

    /// Makes a named ID.
    public init(name: String, id: ObjectID) {
      self.name = name
      self.id = id
    }
  }

  /// An object that a change named.
  public struct Object: Sendable, Hashable {
    /// The effect on an object.
    public enum Kind: Sendable, Hashable { case inserted, updated, deleted }

    /// The index of the change.
    public let change: Int
    /// The index of the entity.
    public let entity: Int
    /// The id of the changed object.
    public let id: ObjectID
    /// The effect of the change on the object.
    public let kind: Kind

    /// Makes an object.
    public init(change: Int, entity: Int, id: ObjectID, kind: Kind) {
      self.change = change
      self.entity = entity
      self.id = id
      self.kind = kind
    }
  }

  /// A token of a state that contains the save.
  public var token: Token
  /// The ids of inserted objects.
  public var ids: [NamedID] = []
  /// The number of inserted objects.
  public var inserted = 0
  /// The number of updated objects, including those of batches.
  public var updated = 0
  /// The number of deleted objects, including those of batches.
  public var deleted = 0
  /// In the order of the changes; without the objects of batches.
  public var objects: [Object] = []
  /// The object of a single-object save, as the save left it; nil if it was deleted, or if the
  /// store leaves reading it to the caller.
  public var shown: ObjectSnapshot?

  /// Makes a save result.
  public init(token: Token) { self.token = token }
}
