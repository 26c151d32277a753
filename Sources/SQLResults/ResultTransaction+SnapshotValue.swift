// A plan → its snapshot as a value. The values of the items come from the columns, without a text in between.

import FetchModel
import SQLComposer

extension ResultTransaction {
  /// Returns the value of the JSON that ``snapshot(of:)`` writes.
  package func snapshotValue(of plan: FetchPlan) throws(StoreError) -> JSON {
    var items: [JSON] = []
    let snapshot = try snapshotValue(of: plan) { id, values in
      items.append(.object([JSON.Member(name: "id", value: id.json)] + values.members))
    }
    return items.isEmpty ? snapshot : snapshot.filled(with: items)
  }

  /// Returns the value of a snapshot with a 0 in the place of each item, whose id and values `add` gets in
  /// their order. A plan of ids, of a count or of dictionaries has its items in the snapshot.
  package func snapshotValue(
    of plan: FetchPlan, _ add: (ItemValue, ItemValues) -> Void
  ) throws(StoreError) -> JSON {
    guard plan.shape == .objects, plan.groupedQuery == nil else {
      return try JSON(ownText: snapshot(of: plan).json)
    }
    let frame = try snapshot(of: plan) { writer throws(StoreError) in
      try readItems(of: plan, with: &writer, add)
    }
    return try JSON(ownText: frame.json)
  }

  /// Reads the items of the plan's window, and writes a 0 in the place of each.
  func readItems(
    of plan: FetchPlan, with writer: inout SnapshotWriter, _ add: (ItemValue, ItemValues) -> Void
  ) throws(StoreError) {
    let statement = composer.window(of: plan, extra: plan.isCapped ? 1 : 0)
    let columns = statement.layout.values
    var values = ItemValues(names: try statement.layout.names)
    var size = 0
    var scratch: [UInt8] = []
    try run(statement) { row throws(StoreError) in
      let isAdded = writer.add(row) { places in places.append(0x30) }
      if isAdded {
        try values.refill { list throws(StoreError) in
          for part in columns {
            list.append(try row.value(part.column, part.format, size: &size, scratch: &scratch))
          }
        }
        let id = try row.value(
          statement.layout.id, statement.layout.idFormat, size: &size, scratch: &scratch)
        add(id, values)
      }
      try checkResponse(size + writer.size)
      return isAdded
    }
  }
}

extension JSON {
  /// Reads a text that this process wrote.
  ///
  /// - Throws: ``StoreError/failed(_:)`` for a text that ``init(stored:)`` refuses, for example one whose
  ///   stored values are nested too deep.
  init(ownText text: [UInt8]) throws(StoreError) {
    do {
      self = try JSON(stored: text)
    } catch {
      throw .failed(
        "a result is no valid JSON: at byte \(error.offset): expected \(error.expected)")
    }
  }

  /// A snapshot whose places of items have these items, in their order.
  fileprivate func filled(with items: [JSON]) -> JSON {
    guard case .object(let members) = self else { return self }
    var rest = items[...]
    return .object(
      members.map { member in
        guard member.name == "sections", case .array(let sections) = member.value else {
          return member
        }
        return JSON.Member(
          name: member.name, value: .array(sections.map { $0.section(with: &rest) }))
      })
  }

  /// A section whose places of items have the next items.
  private func section(with rest: inout ArraySlice<JSON>) -> JSON {
    guard case .object(let members) = self else { return self }
    return .object(
      members.map { member in
        guard member.name == "items", case .array(let places) = member.value else { return member }
        defer { rest = rest.dropFirst(places.count) }
        return JSON.Member(name: member.name, value: .array(Array(rest.prefix(places.count))))
      })
  }
}

extension RowLayout {
  /// The names of the values, as they are written in ``keys``.
  var names: [String] {
    get throws(StoreError) {
      try values.map { part throws(StoreError) in
        // Without the comma and the colon.
        let name = try JSON(ownText: Array(keys[part.key].dropFirst().dropLast()))
        guard case .string(let name) = name else {
          throw .failed("the name of a value is no string")
        }
        return name
      }
    }
  }
}

extension ResultRow {
  /// Returns the value of the JSON that ``append(_:_:to:)`` writes. The common formats are converted
  /// directly.
  ///
  /// - Parameters:
  ///   - size: grows by the approximate memory of the value in bytes.
  ///   - scratch: memory for texts, used again for each value.
  /// - Throws: ``StoreError/failed(_:)`` if that JSON is invalid.
  func value(
    _ column: Int32, _ format: ValueFormat, size: inout Int, scratch: inout [UInt8]
  ) throws(StoreError) -> ItemValue {
    size += MemoryLayout<ItemValue>.size
    switch format {
    case .id, .number, .boolean, .text:
      switch storedValue(column) {
      case .null: return .null
      case .integer(0) where format == .boolean: return .boolean(false)
      case .integer(1) where format == .boolean: return .boolean(true)
      case .integer(let integer): return .integer(integer)
      case .text(let text):
        size += text.utf8.count
        return .text(text)
      case .double(let double) where format != .id: return ItemValue(double)
      case .double, .blob: break
      }
    case .largeIDAsString, .largeNumberAsString, .date, .binary, .uuid, .json, .transformable,
      .ids, .largeIDsAsStrings, .etag:
      break
    }
    scratch.removeAll(keepingCapacity: true)
    append(column, format, to: &scratch)
    size += scratch.count
    return ItemValue(try JSON(ownText: scratch))
  }
}
