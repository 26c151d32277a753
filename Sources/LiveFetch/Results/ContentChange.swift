// What leads from one content of a results controller to the next, in the order and the index
// spaces in which its delegate is told.

/// What happened to an object.
public enum ObjectChangeType: Sendable, Hashable {
  /// It came into the result, or into its window. Only the new position is given.
  case insert
  /// It left. Only the old position is given.
  case delete
  /// It changed its place among the others; its values may have changed as well.
  case move
  /// Its values changed, its place among the others did not. The positions differ where others
  /// came or went.
  case update
}

/// What happened to a section.
public enum SectionChangeType: Sendable, Hashable { case insert, delete }

/// One object's part in a change.
public struct ObjectChange: Sendable, Hashable {
  public let type: ObjectChangeType
  public let id: ObjectID
  /// Where it stood, in the old content.
  public let oldPosition: Position?
  /// Where it stands, in the new content.
  public let newPosition: Position?

  public init(
    _ type: ObjectChangeType, _ id: ObjectID, from old: Position?, to new: Position?
  ) {
    self.type = type
    self.id = id
    oldPosition = old
    newPosition = new
  }
}

/// One section's part in a change.
public struct SectionChange: Sendable, Hashable {
  public let type: SectionChangeType
  public let name: String
  /// In the old content where it was deleted, in the new one where it was inserted.
  public let index: Int

  public init(type: SectionChangeType, name: String, index: Int) {
    self.type = type
    self.name = name
    self.index = index
  }
}

/// Everything between two contents of a controller.
///
/// The promises: applying it to the old content gives the new one. A section that is named came or
/// went, and its objects are named one by one as well, so that the two never contradict each other.
/// An object whose section and order values are what they were never moves, and of the others the
/// fewest possible do. A changed object that kept its place among those that stayed is an update,
/// whatever numbers its place has.
///
/// To apply it to a list of lists: take out deleted and moved objects by their old positions, from
/// the last to the first; delete sections from the last to the first; insert sections from the
/// first to the last; put in moved and inserted objects by their new positions, from the first to
/// the last.
///
/// Sections come first, deleted ones from the last to the first, then inserted ones from the first
/// to the last. Then the objects: deletes from the last to the first, inserts, moves and updates
/// each from the first to the last. An object stands at most once; what merely shifted does not
/// stand at all.
public struct ContentChange: Sendable, Hashable {
  public let sections: [SectionChange]
  public let objects: [ObjectChange]

  public var isEmpty: Bool { sections.isEmpty && objects.isEmpty }

  /// New values alone: objects that kept their places.
  init(updates: [ObjectChange]) {
    sections = []
    objects = updates.sorted { ($0.newPosition ?? .first) < ($1.newPosition ?? .first) }
  }

  init(_ diff: Diff) {
    sections =
      diff.deletedSections.sorted { $0.index > $1.index }.map {
        SectionChange(type: .delete, name: $0.section.name, index: $0.index)
      }
      + diff.insertedSections.sorted { $0.index < $1.index }.map {
        SectionChange(type: .insert, name: $0.section.name, index: $0.index)
      }
    let deletes = diff.deleted.sorted { $0.from > $1.from }
    let inserts = diff.inserted.sorted { $0.to < $1.to }
    let moves = diff.moved.sorted { $0.to < $1.to }
    let updates = diff.updated.sorted { $0.to < $1.to }
    objects =
      deletes.map { ObjectChange(.delete, $0.id, from: $0.from, to: nil) }
      + inserts.map { ObjectChange(.insert, $0.id, from: nil, to: $0.to) }
      + moves.map { ObjectChange(.move, $0.id, from: $0.from, to: $0.to) }
      + updates.map { ObjectChange(.update, $0.id, from: $0.from, to: $0.to) }
  }
}
