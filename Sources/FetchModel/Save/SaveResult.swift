// What a save did.

/// The outcome of a save that was made.
public struct SaveResult: Sendable, Hashable {
  /// The id that an insert got.
  public struct NamedID: Sendable, Hashable {
    /// The temporary id, or the index of the change as text.
    public let name: String
    public let id: ObjectID

    public init(name: String, id: ObjectID) {
      self.name = name
      self.id = id
    }
  }

  /// An object that a change named.
  public struct Object: Sendable, Hashable {
    public enum Kind: Sendable, Hashable { case inserted, updated, deleted }

    /// The index of the change.
    public let change: Int
    public let entity: Int
    public let id: ObjectID
    public let kind: Kind

    public init(change: Int, entity: Int, id: ObjectID, kind: Kind) {
      self.change = change
      self.entity = entity
      self.id = id
      self.kind = kind
    }
  }

  /// A moment that contains the save.
  public var token: Token
  public var ids: [NamedID] = []
  public var inserted = 0
  public var updated = 0
  public var deleted = 0
  /// In the order of the changes; not those of a batch.
  public var objects: [Object] = []
  /// The one object of a save that shows it, as the save left it; nil where it was deleted, and
  /// where a store leaves reading it to others.
  public var shown: ObjectSnapshot?

  public init(token: Token) { self.token = token }
}
