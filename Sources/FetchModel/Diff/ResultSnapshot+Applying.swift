// Applies a diff to a snapshot, in the steps of the page Protocol.

/// The reason why a diff does not apply to a snapshot.
public enum DiffApplicationError: Error, Sendable, Hashable {
  /// The diff starts from another token than the snapshot's.
  case otherToken(expected: String, found: String)
  /// A position or an index does not exist.
  case outOfBounds
  /// There is another object at a position of the diff.
  case otherObject(ObjectID)
}

extension ResultSnapshot {
  /// Applies `diff` to this snapshot.
  ///
  /// - Throws: ``DiffApplicationError``; the snapshot is then unchanged.
  public mutating func apply(_ diff: Diff) throws(DiffApplicationError) {
    guard diff.from == token else {
      throw .otherToken(expected: token, found: diff.from)
    }
    let infos = try diff.rearranged(sections.map(\.info))
    let items = try diff.rearranged(
      sections.map(\.items),
      isObject: { item, id in Self.id(of: item) == Self.json(id) },
      element: { arrival in
        switch arrival {
        case .inserted(let inserted): inserted.item ?? Self.json(inserted.id)
        case .moved(let change, let item), .updated(let change, let item):
          Self.merge(item, change.changed)
        }
      })
    sections = zip(infos, items).map { Section(info: $0, items: $1) }
    summary = diff.summary
    token = diff.to
    for (entity, objects) in diff.included ?? [:] {
      included?[entity, default: [:]].merge(objects) { $1 }
    }
  }

  private static func json(_ id: ObjectID) -> [UInt8] {
    var json: [UInt8] = []
    json.append(json: id)
    return json
  }

  /// `item` with the members of `changed` replaced or appended.
  private static func merge(_ item: [UInt8], _ changed: [UInt8]?) -> [UInt8] {
    guard let changed, case .object(let changes)? = try? JSON(result: changed), !changes.isEmpty,
      case .object(let members)? = try? JSON(result: item)
    else { return item }
    let values = Dictionary(changes.map { ($0.name, $0.value) }) { $1 }
    let merged = members.map { JSON.Member(name: $0.name, value: values[$0.name] ?? $0.value) }
    let known = Set(members.map(\.name))
    let new = changes.filter { !known.contains($0.name) }
    return JSON.object(merged + new).bytes
  }
}
