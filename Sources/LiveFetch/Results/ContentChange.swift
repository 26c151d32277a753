// The difference between two contents of a results controller, in the order and with the indexes
// that its delegate receives.

import FetchModel

/// The kind of an object's change.
public enum ObjectChangeType: Sendable, Hashable {
  /// The object entered the result or its window. Only the new position is set.
  case insert
  /// The object left. Only the old position is set.
  case delete
  /// The object's position among the others changed; its values may have changed as well.
  case move
  /// The object's values changed, its position among the others did not. The positions differ if
  /// others were inserted or deleted.
  case update
}

/// The kind of a section's change.
public enum SectionChangeType: Sendable, Hashable { case insert, delete }

/// The change of one object.
public struct ObjectChange: Sendable, Hashable {
  /// The kind of change.
  public let type: ObjectChangeType
  /// The id of the changed object.
  public let id: ObjectID
  /// The position in the old content.
  public let oldPosition: Position?
  /// The position in the new content.
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

/// The change of one section.
public struct SectionChange: Sendable, Hashable {
  /// The kind of change.
  public let type: SectionChangeType
  /// The section's name.
  public let name: String
  /// The index in the old content of a deleted section, in the new content of an inserted one.
  public let index: Int

  public init(type: SectionChangeType, name: String, index: Int) {
    self.type = type
    self.name = name
    self.index = index
  }
}

/// All differences between two contents of a controller.
///
/// Applying a change to the old content gives the new content. The objects of an inserted or
/// deleted section are listed one by one as well, so sections and objects never contradict each
/// other. An object whose section and order values are unchanged never moves; of the others, the
/// fewest possible move. A changed object that kept its position among those that stayed is an
/// update, even if its index differs.
///
/// To apply a change to a list of lists: remove deleted and moved objects by their old positions,
/// from the last to the first; delete sections from the last to the first; insert sections from the
/// first to the last; insert moved and inserted objects by their new positions, from the first to
/// the last.
///
/// Sections come first: deletions from the last to the first, then insertions from the first to the
/// last. Objects follow: deletions from the last to the first, then insertions, moves and updates,
/// each from the first to the last. An object is listed at most once. An object whose index merely
/// shifted is not listed.
public struct ContentChange: Sendable, Hashable {
  /// The changes of sections, in the order described above.
  public let sections: [SectionChange]
  /// The changes of objects, in the order described above.
  public let objects: [ObjectChange]

  /// True if the contents are equal.
  public var isEmpty: Bool { sections.isEmpty && objects.isEmpty }

  /// A change that contains updates only.
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
