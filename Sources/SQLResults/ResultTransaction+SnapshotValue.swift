// A plan → its snapshot as a JSON value. The values of the items come from the columns, without a text in
// between.

import FetchModel
import SQLComposer

extension ResultTransaction {
  /// Returns the value of the JSON that ``snapshot(of:)`` writes.
  package func snapshotValue(of plan: FetchPlan) throws(StoreError) -> JSON {
    guard plan.shape == .objects, plan.groupedQuery == nil else {
      return JSON(ownText: try snapshot(of: plan).json)
    }
    var items: [JSON] = []
    let frame = try snapshot(of: plan) { writer throws(StoreError) in
      items = try readItems(of: plan, with: &writer)
    }
    return JSON(ownText: frame.json).filled(with: items)
  }

  /// Reads the items of the plan's window, and writes a 0 in the place of each.
  private func readItems(
    of plan: FetchPlan, with writer: inout SnapshotWriter
  ) throws(StoreError) -> [JSON] {
    let statement = composer.window(of: plan, extra: plan.isCapped ? 1 : 0)
    let names = statement.layout.names
    var items: [JSON] = []
    var size = 0
    var scratch: [UInt8] = []
    try run(statement) { row throws(StoreError) in
      let goesOn = writer.add(row) { places in
        places.append(0x30)
        items.append(row.item(names, &scratch))
      }
      size += row.byteCount
      try checkResponse(size + writer.size)
      return goesOn
    }
    return items
  }
}

extension JSON {
  /// The value that `append(json: Double)` writes: a number, a string for an infinity, null for NaN.
  package init(_ double: Double) {
    if let integer = Int64(exactly: double), integer.magnitude < 1 << 53 {
      self = .number(String(integer))
    } else if double.isFinite {
      self = .number(double.description)
    } else {
      self = double.isNaN ? .null : .string(double > 0 ? "Infinity" : "-Infinity")
    }
  }

  /// Reads a text that this process wrote.
  fileprivate init(ownText text: [UInt8]) { self = (try? JSON(parsing: text)) ?? .null }

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
  fileprivate var names: [String] {
    values.map { part in
      // Without the comma and the colon.
      JSON(ownText: Array(keys[part.key].dropFirst().dropLast())).string ?? ""
    }
  }
}

extension ResultRow {
  /// Returns the value of the JSON that ``appendItem(to:)`` writes.
  ///
  /// - Parameters:
  ///   - names: those of the values.
  ///   - scratch: memory for texts, used again for each row.
  fileprivate func item(_ names: [String], _ scratch: inout [UInt8]) -> JSON {
    var members: [JSON.Member] = []
    members.reserveCapacity(names.count + 1)
    members.append(
      JSON.Member(name: "id", value: json(layout.id, layout.idFormat, &scratch)))
    for (name, part) in zip(names, layout.values) {
      members.append(JSON.Member(name: name, value: json(part.column, part.format, &scratch)))
    }
    return .object(members)
  }

  /// Returns the value of the JSON that ``append(_:_:to:)`` writes. The common formats are converted
  /// directly.
  private func json(_ column: Int32, _ format: ValueFormat, _ scratch: inout [UInt8]) -> JSON {
    switch format {
    case .id, .number, .boolean, .text:
      switch storedValue(column) {
      case .null: return .null
      case .integer(0) where format == .boolean: return .boolean(false)
      case .integer(1) where format == .boolean: return .boolean(true)
      case .integer(let integer): return .number(String(integer))
      case .text(let text): return .string(text)
      case .double(let double) where format != .id: return JSON(double)
      case .double, .blob: break
      }
    case .largeNumberAsString, .date, .binary, .uuid, .json, .transformable, .ids,
      .largeIDsAsStrings, .etag:
      break
    }
    scratch.removeAll(keepingCapacity: true)
    append(column, format, to: &scratch)
    return JSON(ownText: scratch)
  }
}
