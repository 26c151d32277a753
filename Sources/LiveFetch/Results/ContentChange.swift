// The difference between two contents of a results controller, in the order and with the indexes
// that its delegate receives.

import FetchModel

/// The kind of an object's change.
public enum ObjectChangeType: Sendable, Hashable {
  /// The object entered the result or its window. Only the new position is set.
  case insert
  /// The object left the result or its window. Only the old position is set.
  case delete
  /// The object's position among the others changed; its values may have changed as well.
  case move
  /// The object's values changed, its position among the others did not. The positions differ if
  /// others were inserted or deleted.
  case update
}

/// The kind of a section's change.
public enum SectionChangeType: Sendable, Hashable {
  /// The section exists in the new content only.
  case insert
  /// The section exists in the old content only.
  case delete
}

/// The change of one object: an id in a ``FetchedResultsController``, a result in a
/// ``DataStoreResultsController``.
public struct ObjectChange<Object> {
  /// The kind of change.
  public let type: ObjectChangeType
  /// The changed object. In a data store's results: the new value, or the old one if it was deleted.
  public let object: Object
  /// The position in the old content.
  public let oldPosition: Position?
  /// The position in the new content.
  public let newPosition: Position?

  /// - Parameters:
  ///   - old: the position in the old content; nil for an insertion.
  ///   - new: the position in the new content; nil for a deletion.
  package init(
    _ type: ObjectChangeType, _ object: Object, from old: Position?, to new: Position?
  ) {
    self.type = type
    self.object = object
    oldPosition = old
    newPosition = new
  }
}

extension ObjectChange: Sendable where Object: Sendable {}
extension ObjectChange: Equatable where Object: Equatable {}
extension ObjectChange: Hashable where Object: Hashable {}

extension ObjectChange<ObjectID> {
  /// The id of the changed object.
  public var id: ObjectID { object }
}

/// The change of one section.
public struct SectionChange: Sendable, Hashable {
  /// The kind of change.
  public let type: SectionChangeType
  /// The section's name.
  public let name: String
  /// The index in the old content of a deleted section, in the new content of an inserted one.
  public let index: Int

  package init(type: SectionChangeType, name: String, index: Int) {
    (self.type, self.name, self.index) = (type, name, index)
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
public struct ContentChange<Object> {
  /// The changes of sections, in the order described above.
  public let sections: [SectionChange]
  /// The changes of objects, in the order described above.
  public let objects: [ObjectChange<Object>]

  /// True if the contents are equal.
  public var isEmpty: Bool { sections.isEmpty && objects.isEmpty }

  /// Puts changes into the order described above.
  init(
    deletedSections: [(index: Int, name: String)] = [],
    insertedSections: [(index: Int, name: String)] = [], objects: [ObjectChange<Object>]
  ) {
    sections =
      deletedSections.sorted { $0.index > $1.index }.map {
        SectionChange(type: .delete, name: $0.name, index: $0.index)
      }
      + insertedSections.sorted { $0.index < $1.index }.map {
        SectionChange(type: .insert, name: $0.name, index: $0.index)
      }
    let deletes = objects.filter { $0.type == .delete }
      .sorted { ($0.oldPosition ?? .first) > ($1.oldPosition ?? .first) }
    let others = [ObjectChangeType.insert, .move, .update].flatMap { type in
      objects.filter { $0.type == type }
        .sorted { ($0.newPosition ?? .first) < ($1.newPosition ?? .first) }
    }
    self.objects = deletes + others
  }
}

extension ContentChange: Sendable where Object: Sendable {}
extension ContentChange: Equatable where Object: Equatable {}
extension ContentChange: Hashable where Object: Hashable {}

extension ContentChange<ObjectID> {
  init(_ diff: Diff) {
    self.init(
      deletedSections: diff.deletedSections.map { ($0.index, $0.section.name) },
      insertedSections: diff.insertedSections.map { ($0.index, $0.section.name) },
      objects: diff.deleted.map { ObjectChange(.delete, $0.id, from: $0.from, to: nil) }
        + diff.inserted.map { ObjectChange(.insert, $0.id, from: nil, to: $0.to) }
        + diff.moved.map { ObjectChange(.move, $0.id, from: $0.from, to: $0.to) }
        + diff.updated.map { ObjectChange(.update, $0.id, from: $0.from, to: $0.to) })
  }
}
