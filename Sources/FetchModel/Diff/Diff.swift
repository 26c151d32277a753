// The difference between two snapshots of one fetch, with the guarantees of the page Protocol. The
// live engine computes it, JSON transports it, a snapshot applies it.

/// A position in a snapshot: `[section, item]`.
public struct Position: Sendable, Hashable, Comparable {
  /// The index of the section.
  public var section: Int
  /// The index of the item within its section.
  public var item: Int

  /// Makes a position.
  public init(section: Int, item: Int) {
    self.section = section
    self.item = item
  }

  /// `[0,0]`.
  public static let first = Position(section: 0, item: 0)

  public static func < (left: Position, right: Position) -> Bool {
    (left.section, left.item) < (right.section, right.item)
  }
}

/// The members that snapshots and diffs share.
public struct ResultSummary: Sendable, Hashable {
  /// The number of items in the snapshot.
  public var count: Int
  /// The cursor after its last item; nil unless the window is full.
  public var next: String?
  /// The number of objects that match without the window, if the client requested it.
  public var total: Int?
  /// True if the server cut the result at its own limit.
  public var isTruncated: Bool
  /// The digest as eight hex digits, if the client requested it.
  public var digest: String?

  /// Makes a result summary.
  public init(
    count: Int, next: String? = nil, total: Int? = nil, isTruncated: Bool = false,
    digest: String? = nil
  ) {
    self.count = count
    self.next = next
    self.total = total
    self.isTruncated = isTruncated
    self.digest = digest
  }
}

/// The difference between a snapshot and a later one.
///
/// Positions `from` and indexes of deleted sections refer to the old snapshot, positions `to` and
/// indexes of inserted sections to the new one.
public struct Diff: Sendable, Hashable {
  /// A deleted section.
  public struct DeletedSection: Sendable, Hashable {
    /// The section's index: in the old snapshot if it was deleted, in the new one if inserted.
    public var index: Int
    /// The section's name and value.
    public var section: SectionInfo

    /// Makes the deletion of a section.
    public init(index: Int, section: SectionInfo) {
      self.index = index
      self.section = section
    }
  }

  /// An inserted section.
  public typealias InsertedSection = DeletedSection

  /// An object that left the window.
  public struct Deleted: Sendable, Hashable {
    /// The position in the old snapshot.
    public var from: Position
    /// The object's id.
    public var id: ObjectID

    /// Makes a deletion.
    public init(from: Position, id: ObjectID) {
      self.from = from
      self.id = id
    }
  }

  /// An object that entered the window.
  public struct Inserted: Sendable, Hashable {
    /// The position in the new snapshot.
    public var to: Position
    /// The object's id.
    public var id: ObjectID
    /// The item as JSON; nil with `as=ids`.
    public var item: [UInt8]?

    /// Makes an insertion.
    public init(to: Position, id: ObjectID, item: [UInt8]?) {
      self.to = to
      self.id = id
      self.item = item
    }
  }

  /// An object that stayed in the window and moved or changed.
  public struct Changed: Sendable, Hashable {
    /// The position in the old snapshot.
    public var from: Position
    /// The position in the new snapshot.
    public var to: Position
    /// The object's id.
    public var id: ObjectID
    /// The selected values that differ, as a JSON object; nil with `as=ids`.
    public var changed: [UInt8]?

    /// Makes a change.
    public init(from: Position, to: Position, id: ObjectID, changed: [UInt8]?) {
      self.from = from
      self.to = to
      self.id = id
      self.changed = changed
    }
  }

  /// The name of the fetch's entity.
  public var entity: String
  /// The tokens of the two snapshots.
  public var from: String
  /// The token of the new snapshot.
  public var to: String
  /// The summary of the new snapshot.
  public var summary: ResultSummary
  /// The deleted sections, in the old result's indexes.
  public var deletedSections: [DeletedSection] = []
  /// The inserted sections, in the new result's indexes.
  public var insertedSections: [InsertedSection] = []
  /// The deleted objects, at their old positions.
  public var deleted: [Deleted] = []
  /// The inserted objects, at their new positions.
  public var inserted: [Inserted] = []
  /// The objects that moved, with their other values if they have any.
  public var moved: [Changed] = []
  /// The objects with other values that did not move.
  public var updated: [Changed] = []
  /// Related objects that are new or changed; nil without `expand`.
  public var included: Included?

  /// Makes a diff.
  public init(entity: String, from: String, to: String, summary: ResultSummary) {
    self.entity = entity
    self.from = from
    self.to = to
    self.summary = summary
  }

  /// True if it lists no section, item or related object.
  public var isEmpty: Bool {
    deletedSections.isEmpty && insertedSections.isEmpty && deleted.isEmpty && inserted.isEmpty
      && moved.isEmpty && updated.isEmpty && included?.isEmpty ?? true
  }
}

/// Related objects by entity name and id, as JSON.
public typealias Included = [String: [ObjectID: [UInt8]]]
