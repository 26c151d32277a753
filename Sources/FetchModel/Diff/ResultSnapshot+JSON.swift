// Reads snapshots and diffs from JSON for clients. Anything malformed reads as nil.

extension ResultSnapshot {
  /// Reads a snapshot; nil if the JSON is not one.
  public init?(json: JSON) {
    guard let entity = json["entity"]?.string, let token = json["token"]?.string,
      let summary = ResultSummary(json: json), case .array(let sections)? = json["sections"]
    else { return nil }
    let read = sections.compactMap(Section.init(json:))
    guard read.count == sections.count else { return nil }
    self.init(
      entity: entity, token: token, summary: summary, sections: read,
      included: Included(json: json["included"]))
  }
}

extension ResultSnapshot.Section {
  fileprivate init?(json: JSON) {
    guard let info = SectionInfo(json: json), case .array(let items)? = json["items"] else {
      return nil
    }
    self.init(info: info, items: items.map(\.bytes))
  }
}

extension SectionInfo {
  package init?(json: JSON) {
    guard let name = json["name"]?.string, let value = json["value"] else { return nil }
    self.init(name: name, value: value.bytes)
  }
}

extension ResultSummary {
  package init?(json: JSON) {
    guard let count = json["count"]?.integer else { return nil }
    self.init(
      count: Int(clamping: count), next: json["next"]?.string,
      total: json["total"]?.integer.map { Int(clamping: $0) },
      isTruncated: json["truncated"] == .boolean(true), digest: json["digest"]?.string)
  }
}

extension Included {
  fileprivate init?(json: JSON?) {
    guard case .object(let entities)? = json else { return nil }
    self = [:]
    for entity in entities {
      guard case .object(let objects) = entity.value else { return nil }
      var byID: [ObjectID: [UInt8]] = [:]
      for object in objects {
        guard let id = object.value["id"].flatMap(ObjectID.init(json:)) else { return nil }
        byID[id] = object.value.bytes
      }
      self[entity.name] = byID
    }
  }
}

extension ObjectID {
  /// Reads an id, a number or a text; nil for anything else.
  public init?(json: JSON) {
    if let integer = json.integer {
      self = .integer(integer)
    } else if let text = json.string {
      self = .text(text)
    } else {
      return nil
    }
  }
}

extension Diff {
  /// Reads a diff; nil if the JSON is not one.
  public init?(json: JSON) {
    guard let entity = json["entity"]?.string, let from = json["from"]?.string,
      let to = json["to"]?.string, let summary = ResultSummary(json: json),
      let sections = json["sections"], let items = json["items"]
    else { return nil }
    self.init(entity: entity, from: from, to: to, summary: summary)
    guard let deletedSections = Self.read(sections["deleted"], Self.section),
      let insertedSections = Self.read(sections["inserted"], Self.section),
      let deleted = Self.read(items["deleted"], Self.deleted),
      let inserted = Self.read(items["inserted"], Self.inserted),
      let moved = Self.read(items["moved"], Self.changed),
      let updated = Self.read(items["updated"], Self.changed)
    else { return nil }
    (self.deletedSections, self.insertedSections) = (deletedSections, insertedSections)
    (self.deleted, self.inserted) = (deleted, inserted)
    (self.moved, self.updated) = (moved, updated)
    included = Included(json: json["included"])
  }

  private static func read<Element>(
    _ json: JSON?, _ element: (JSON) -> Element?
  ) -> [Element]? {
    guard case .array(let elements)? = json else { return nil }
    let read = elements.compactMap(element)
    return read.count == elements.count ? read : nil
  }

  private static func section(_ json: JSON) -> DeletedSection? {
    guard let index = json["index"]?.integer, let info = SectionInfo(json: json) else {
      return nil
    }
    return DeletedSection(index: Int(clamping: index), section: info)
  }

  private static func position(_ json: JSON?) -> Position? {
    guard case .array(let numbers)? = json, numbers.count == 2, let section = numbers[0].integer,
      let item = numbers[1].integer
    else { return nil }
    return Position(section: Int(clamping: section), item: Int(clamping: item))
  }

  private static func id(_ json: JSON) -> ObjectID? { json["id"].flatMap(ObjectID.init(json:)) }

  private static func deleted(_ json: JSON) -> Deleted? {
    guard let from = position(json["from"]), let id = id(json) else { return nil }
    return Deleted(from: from, id: id)
  }

  private static func inserted(_ json: JSON) -> Inserted? {
    guard let to = position(json["to"]), let id = id(json["item"] ?? json) else { return nil }
    return Inserted(to: to, id: id, item: json["item"]?.bytes)
  }

  private static func changed(_ json: JSON) -> Changed? {
    guard let from = position(json["from"]), let to = position(json["to"]), let id = id(json)
    else { return nil }
    return Changed(from: from, to: to, id: id, changed: json["changed"]?.bytes)
  }
}
