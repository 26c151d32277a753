// Writes a diff as JSON, with members in the order of the page Protocol.

extension Diff {
  /// The diff as JSON.
  public var json: [UInt8] {
    var json: [UInt8] = []
    appendHead(to: &json)
    json.append(jsonString: from)
    json.append(json: ",\"to\":")
    json.append(jsonString: to)
    appendTail(to: &json)
    return json
  }

  /// Appends everything before the tokens: `{"entity":"City","from":`.
  public func appendHead(to json: inout [UInt8]) {
    json.append(json: "{\"entity\":")
    json.append(jsonString: entity)
    json.append(json: ",\"from\":")
  }

  /// Appends everything after the tokens.
  public func appendTail(to json: inout [UInt8]) {
    json.append(json: ",")
    summary.appendMembers(to: &json)
    appendSections(to: &json)
    appendItems(to: &json)
    if let included {
      json.append(json: ",")
      json.append(included: included)
    }
    json.append(json: "}")
  }

  private func appendSections(to json: inout [UInt8]) {
    json.append(json: ",\"sections\":{\"deleted\":")
    json.append(jsonArray: deletedSections) { section, json in
      json.append(json: "{\"index\":")
      json.append(json: Int64(section.index))
      json.append(json: ",")
      section.section.appendIdentity(to: &json)
      json.append(json: "}")
    }
    json.append(json: ",\"inserted\":")
    json.append(jsonArray: insertedSections) { section, json in
      json.append(json: "{\"index\":")
      json.append(json: Int64(section.index))
      json.append(json: ",")
      section.section.appendMembers(to: &json)
      json.append(json: "}")
    }
    json.append(json: "}")
  }

  private func appendItems(to json: inout [UInt8]) {
    json.append(json: ",\"items\":{\"deleted\":")
    json.append(jsonArray: deleted) { item, json in
      json.append(json: "{\"from\":")
      json.append(json: item.from)
      json.append(json: ",\"id\":")
      json.append(json: item.id)
      json.append(json: "}")
    }
    json.append(json: ",\"inserted\":")
    json.append(jsonArray: inserted) { item, json in
      json.append(json: "{\"to\":")
      json.append(json: item.to)
      if let object = item.item {
        json.append(json: ",\"item\":")
        json.append(contentsOf: object)
      } else {
        json.append(json: ",\"id\":")
        json.append(json: item.id)
      }
      json.append(json: "}")
    }
    json.append(json: ",\"moved\":")
    json.append(jsonArray: moved, Self.append)
    json.append(json: ",\"updated\":")
    json.append(jsonArray: updated, Self.append)
    json.append(json: "}")
  }

  private static func append(_ item: Changed, to json: inout [UInt8]) {
    json.append(json: "{\"from\":")
    json.append(json: item.from)
    json.append(json: ",\"to\":")
    json.append(json: item.to)
    json.append(json: ",\"id\":")
    json.append(json: item.id)
    if let changed = item.changed {
      json.append(json: ",\"changed\":")
      json.append(contentsOf: changed)
    }
    json.append(json: "}")
  }
}

extension ResultSummary {
  /// Appends `count`, and `next`, `total`, `truncated` and `digest` if present.
  public func appendMembers(to json: inout [UInt8]) {
    json.append(json: "\"count\":")
    json.append(json: Int64(count))
    if let next {
      json.append(json: ",\"next\":")
      json.append(jsonString: next)
    }
    if let total {
      json.append(json: ",\"total\":")
      json.append(json: Int64(total))
    }
    if isTruncated { json.append(json: ",\"truncated\":true") }
    if let digest {
      json.append(json: ",\"digest\":")
      json.append(jsonString: digest)
    }
  }
}

extension [UInt8] {
  /// Appends an id: a number, or a string if the id is text.
  public mutating func append(json id: ObjectID) {
    switch id {
    case .integer(let id): append(json: id)
    case .text(let id): append(jsonString: id)
    }
  }

  /// Appends `[section,item]`.
  public mutating func append(json position: Position) {
    append(json: "[")
    append(json: Int64(position.section))
    append(json: ",")
    append(json: Int64(position.item))
    append(json: "]")
  }

  /// Appends `"included":{"Country":{"1814991":{…}}}`: entities by name, objects by id.
  public mutating func append(included: Included) {
    append(json: "\"included\":{")
    append(separated: included.sorted { $0.key < $1.key }) { entity, json in
      json.append(jsonString: entity.key)
      json.append(json: ":{")
      json.append(separated: entity.value.sorted { $0.key < $1.key }) { object, json in
        json.append(jsonString: object.key.description)
        json.append(json: ":")
        json.append(contentsOf: object.value)
      }
      json.append(json: "}")
    }
    append(json: "}")
  }

  mutating func append<Item>(
    jsonArray elements: [Item], _ write: (Item, inout [UInt8]) -> Void
  ) {
    append(json: "[")
    append(separated: elements, write)
    append(json: "]")
  }

  /// Appends elements with commas between them.
  mutating func append<Item>(
    separated elements: some Sequence<Item>, _ write: (Item, inout [UInt8]) -> Void
  ) {
    for (index, element) in elements.enumerated() {
      if index > 0 { append(json: ",") }
      write(element, &self)
    }
  }
}

extension ObjectID {
  /// The id as clients see it: text if an integer is beyond ±2^53 and the client requested strings.
  public func shown(integersAsStrings: Bool) -> ObjectID {
    if integersAsStrings, case .integer(let id) = self, id.magnitude > 1 << 53 {
      return .text(String(id))
    }
    return self
  }
}
