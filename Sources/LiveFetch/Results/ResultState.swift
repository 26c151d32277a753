// A result as a controller holds it: snapshots and diffs of the API enter, items in their sections
// leave. Whatever cannot be a diff from this state is refused and leaves it as it was.

/// Items in sections at one moment.
struct ResultState: Sendable, Hashable {
  struct Section: Sendable, Hashable {
    var info: SectionInfo
    var items: [Item]
  }

  var token: String
  var summary: ResultSummary
  var sections: [Section]

  /// Reads a snapshot; nil if the JSON has not the form of one.
  init?(json: JSON) {
    guard let token = json["token"]?.string, let summary = ResultSummary(json: json),
      case .array(let elements)? = json["sections"]
    else { return nil }
    self.token = token
    self.summary = summary
    sections = []
    for element in elements {
      guard let info = SectionInfo(json: element), case .array(let items)? = element["items"] else {
        return nil
      }
      let read = items.compactMap(Item.init(json:))
      guard read.count == items.count else { return nil }
      sections.append(Section(info: info, items: read))
    }
  }

  /// How many items there are.
  var count: Int { sections.reduce(0) { $0 + $1.items.count } }

  subscript(position: Position) -> Item? {
    guard sections.indices.contains(position.section),
      sections[position.section].items.indices.contains(position.item)
    else { return nil }
    return sections[position.section].items[position.item]
  }

  /// The digest of API.md section 4 over the items held.
  var digest: String {
    var digest = Digest()
    for section in sections {
      var previous: [UInt8] = []
      for item in section.items {
        let id = item.id.predicateArgument.bytes
        digest.add(section: section.info.value, previous: previous, id: id)
        previous = id
      }
    }
    return digest.text
  }

  /// Where each item stands.
  var positions: [ObjectID: Position] {
    var positions: [ObjectID: Position] = [:]
    positions.reserveCapacity(count)
    for (section, content) in sections.enumerated() {
      for (index, item) in content.items.enumerated() {
        positions[item.id] = Position(section: section, item: index)
      }
    }
    return positions
  }
}

// MARK: - Diffs

extension ResultState {
  /// Makes this the state that `diff` leads to.
  mutating func apply(_ diff: Diff) throws(DiffApplicationError) {
    guard diff.from == token else { throw .otherToken(expected: token, found: diff.from) }
    var result = self
    var taken = try result.takeOut(diff)
    try result.changeSections(diff)
    try result.putIn(diff, &taken)
    for update in diff.updated {
      guard result[update.to]?.id == update.id else { throw .otherObject(update.id) }
      let changes = update.changed.flatMap { try? JSON(parsing: $0) }
      result.sections[update.to.section].items[update.to.item].merge(changes)
    }
    result.summary = diff.summary
    result.token = diff.to
    self = result
  }

  private mutating func takeOut(_ diff: Diff) throws(DiffApplicationError) -> [ObjectID: Item] {
    var leaving = diff.deleted.map { (from: $0.from, id: $0.id) }
    leaving += diff.moved.map { ($0.from, $0.id) }
    var taken: [ObjectID: Item] = [:]
    for (from, id) in leaving.sorted(by: { $0.from > $1.from }) {
      guard self[from]?.id == id else { throw .otherObject(id) }
      taken[id] = sections[from.section].items.remove(at: from.item)
    }
    return taken
  }

  private mutating func changeSections(_ diff: Diff) throws(DiffApplicationError) {
    for section in diff.deletedSections.sorted(by: { $0.index > $1.index }) {
      guard sections.indices.contains(section.index), sections[section.index].items.isEmpty else {
        throw .outOfBounds
      }
      sections.remove(at: section.index)
    }
    for section in diff.insertedSections.sorted(by: { $0.index < $1.index }) {
      guard (0...sections.count).contains(section.index) else { throw .outOfBounds }
      sections.insert(Section(info: section.section, items: []), at: section.index)
    }
  }

  private mutating func putIn(
    _ diff: Diff, _ taken: inout [ObjectID: Item]
  ) throws(DiffApplicationError) {
    var arriving: [(to: Position, item: Item)] = []
    for inserted in diff.inserted {
      let json = inserted.item.flatMap { try? JSON(parsing: $0) } ?? inserted.id.predicateArgument
      guard let item = Item(json: json) else { throw .otherObject(inserted.id) }
      arriving.append((inserted.to, item))
    }
    for moved in diff.moved {
      guard var item = taken[moved.id] else { throw .otherObject(moved.id) }
      item.merge(moved.changed.flatMap { try? JSON(parsing: $0) })
      arriving.append((moved.to, item))
    }
    for (to, item) in arriving.sorted(by: { $0.to < $1.to }) {
      guard sections.indices.contains(to.section),
        (0...sections[to.section].items.count).contains(to.item)
      else { throw .outOfBounds }
      sections[to.section].items.insert(item, at: to.item)
    }
  }
}

/// Rearranges what stands beside a state's items as `diff` rearranged the items.
///
/// - Parameters:
///   - old: one element an item of the state before.
///   - make: the element for the item at a position of the state after; asked for what came and
///     for whose values changed.
func rearrange<Element, Failure>(
  _ old: [[Element]], by diff: Diff, make: (Position) throws(Failure) -> Element
) throws(Failure) -> [[Element]] {
  var sections = old
  var moved: [ObjectID: Element] = [:]
  var leaving = diff.deleted.map { (from: $0.from, movedID: ObjectID?.none) }
  leaving += diff.moved.map { ($0.from, $0.id) }
  for (from, movedID) in leaving.sorted(by: { $0.from > $1.from }) {
    let element = sections[from.section].remove(at: from.item)
    if let movedID { moved[movedID] = element }
  }
  for section in diff.deletedSections.sorted(by: { $0.index > $1.index }) {
    sections.remove(at: section.index)
  }
  for section in diff.insertedSections.sorted(by: { $0.index < $1.index }) {
    sections.insert([], at: section.index)
  }
  var arriving: [(to: Position, element: Element?)] = diff.inserted.map { ($0.to, nil) }
  arriving += diff.moved.map { ($0.to, $0.hasChangedValues ? nil : moved[$0.id]) }
  for (to, element) in arriving.sorted(by: { $0.to < $1.to }) {
    let arrived = if let element { element } else { try make(to) }
    sections[to.section].insert(arrived, at: to.item)
  }
  for update in diff.updated { sections[update.to.section][update.to.item] = try make(update.to) }
  return sections
}

extension Diff.Changed {
  /// Whether it names a value; a mere move has `{}`.
  fileprivate var hasChangedValues: Bool { (changed?.count ?? 0) > 2 }
}
