// A controller's copy of a result. Snapshots and diffs of the API enter, sections with items leave.
// A diff that does not apply is refused and changes nothing.

import FetchModel

/// Sections with items at one token.
struct ResultState: Sendable, Hashable {
  struct Section: Sendable, Hashable {
    var info: SectionInfo
    var items: [Item]
  }

  var token: String
  var summary: ResultSummary
  var sections: [Section]
  /// True for a state from the storage of an offline store, until the server has answered.
  var isStored: Bool

  /// Reads a snapshot; nil if the JSON is not one.
  ///
  /// - Parameter rows: the items, if the JSON has other values in their places; otherwise empty.
  init?(json: JSON, rows: [Item] = []) {
    guard let token = json["token"]?.string, let summary = ResultSummary(json: json),
      case .array(let elements)? = json["sections"]
    else { return nil }
    self.token = token
    self.summary = summary
    isStored = json["stored"] == .boolean(true)
    sections = []
    var rest = rows[...]
    for element in elements {
      guard let info = SectionInfo(json: element), case .array(let items)? = element["items"] else {
        return nil
      }
      let read = rows.isEmpty ? items.compactMap(Item.init(json:)) : Array(rest.prefix(items.count))
      guard read.count == items.count else { return nil }
      rest = rest.dropFirst(items.count)
      sections.append(Section(info: info, items: read))
    }
  }

  /// The items of all sections.
  var items: [Item] { sections.count == 1 ? sections[0].items : sections.flatMap(\.items) }

  /// The number of items.
  var count: Int { sections.reduce(0) { $0 + $1.items.count } }

  subscript(position: Position) -> Item? {
    guard sections.indices.contains(position.section),
      sections[position.section].items.indices.contains(position.item)
    else { return nil }
    return sections[position.section].items[position.item]
  }

  /// The digest of the items, as the manual's page Protocol defines it.
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

  /// The position of each item.
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
  /// Applies `diff` to this state.
  mutating func apply(_ diff: Diff) throws(DiffApplicationError) {
    guard diff.from == token else { throw .otherToken(expected: token, found: diff.from) }
    let infos = try diff.rearranged(sections.map(\.info))
    let items = try diff.rearranged(
      sections.map(\.items), isObject: { $0.id == $1 }, element: Self.item)
    sections = zip(infos, items).map { Section(info: $0, items: $1) }
    summary = diff.summary
    token = diff.to
    isStored = false
  }

  /// The item of an inserted object, or the previous one with its changed values.
  static func item(_ arrival: Diff.Arrival<Item>) -> Item {
    switch arrival {
    case .inserted(let inserted):
      let json = inserted.item.flatMap { try? JSON(result: $0) }
      return json.flatMap(Item.init(json:)) ?? Item(id: inserted.id)
    case .moved(let change, var item), .updated(let change, var item):
      item.merge(change.changed.flatMap { try? JSON(result: $0) })
      return item
    }
  }
}

extension Diff.Changed {
  /// True if no value differs: `changed` is `{}`. A diff of ids has no `changed`, so that values may differ.
  var isMereMove: Bool { changed?.count == 2 }
}
