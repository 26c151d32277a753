// Old snapshot + diff → new snapshot, in the steps that API.md tells every client.

/// Why a diff cannot be applied to a snapshot.
public enum DiffApplicationError: Error, Sendable, Hashable {
  /// The diff starts from another moment than the snapshot's.
  case otherToken(expected: String, found: String)
  /// A position or an index does not exist.
  case outOfBounds
  /// Another object stands at a position than the diff says.
  case otherObject(ObjectID)
}

extension ResultSnapshot {
  /// Makes this the snapshot that `diff` leads to.
  ///
  /// - Throws: ``DiffApplicationError``; the snapshot is then unchanged.
  public mutating func apply(_ diff: Diff) throws(DiffApplicationError) {
    guard diff.from == token else {
      throw .otherToken(expected: token, found: diff.from)
    }
    var result = self
    var taken = try result.takeOut(diff)
    try result.changeSections(diff)
    try result.putIn(diff, &taken)
    try result.merge(diff.updated)
    result.summary = diff.summary
    result.token = diff.to
    for (entity, objects) in diff.included ?? [:] {
      result.included?[entity, default: [:]].merge(objects) { $1 }
    }
    self = result
  }

  private func checkItem(at position: Position, _ id: ObjectID) throws(DiffApplicationError) {
    guard sections.indices.contains(position.section),
      sections[position.section].items.indices.contains(position.item)
    else { throw .outOfBounds }
    var json: [UInt8] = []
    json.append(json: id)
    guard Self.id(of: sections[position.section].items[position.item]) == json else {
      throw .otherObject(id)
    }
  }

  /// Takes out deleted and moved items by `from`, from the last to the first.
  private mutating func takeOut(
    _ diff: Diff
  ) throws(DiffApplicationError) -> [ObjectID: [UInt8]] {
    var places = diff.deleted.map { (from: $0.from, id: $0.id) }
    places += diff.moved.map { ($0.from, $0.id) }
    places.sort { $0.from > $1.from }
    var taken: [ObjectID: [UInt8]] = [:]
    for (from, id) in places {
      try checkItem(at: from, id)
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
      sections.insert(Section(info: section.section), at: section.index)
    }
  }

  /// Puts in moved and inserted items by `to`, from the first to the last.
  private mutating func putIn(
    _ diff: Diff, _ taken: inout [ObjectID: [UInt8]]
  ) throws(DiffApplicationError) {
    var places: [(to: Position, item: [UInt8])] = diff.inserted.map { inserted in
      var id: [UInt8] = []
      id.append(json: inserted.id)
      return (inserted.to, inserted.item ?? id)
    }
    for moved in diff.moved {
      places.append((moved.to, Self.merge(taken[moved.id] ?? [], moved.changed)))
    }
    places.sort { $0.to < $1.to }
    for (to, item) in places {
      guard sections.indices.contains(to.section),
        (0...sections[to.section].items.count).contains(to.item)
      else { throw .outOfBounds }
      sections[to.section].items.insert(item, at: to.item)
    }
  }

  private mutating func merge(_ updates: [Diff.Changed]) throws(DiffApplicationError) {
    for update in updates {
      try checkItem(at: update.to, update.id)
      let item = sections[update.to.section].items[update.to.item]
      sections[update.to.section].items[update.to.item] = Self.merge(item, update.changed)
    }
  }

  /// `item` with the members of `changed` in place of its own.
  private static func merge(_ item: [UInt8], _ changed: [UInt8]?) -> [UInt8] {
    guard let changed, case .object(let changes)? = try? JSON(parsing: changed), !changes.isEmpty,
      case .object(let members)? = try? JSON(parsing: item)
    else { return item }
    let values = Dictionary(changes.map { ($0.name, $0.value) }) { $1 }
    let merged = members.map { JSON.Member(name: $0.name, value: values[$0.name] ?? $0.value) }
    var json: [UInt8] = []
    json.append(json: .object(merged))
    return json
  }
}
