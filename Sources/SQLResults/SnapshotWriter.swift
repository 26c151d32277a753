// Rows in order → the JSON of a snapshot, written directly as bytes.
//
//     {"entity":"City","token":"…","count":2,"sections":[{"name":"","value":null,…}],"next":"…"}
//
// `count`, `next` and `digest` are known only after the last row, so the sections are written first
// and the members that precede them afterwards.

import FetchModel

/// Writes the snapshot of one plan.
public struct SnapshotWriter {
  private let plan: FetchPlan
  private let model: Model
  // Properties of the plan that every row needs, computed once.
  @usableFromInline let limit: Int
  @usableFromInline let isCapped: Bool
  @usableFromInline let hasSections: Bool
  @usableFromInline let isPlain: Bool
  @usableFromInline var sections: [UInt8] = []
  @usableFromInline package internal(set) var count = 0
  @usableFromInline var section: [UInt8]?
  private var digest = SnapshotDigest()
  @usableFromInline var next: String?
  @usableFromInline var isTruncated = false
  /// The ids of the items, if further data is read for them.
  package private(set) var ids: Set<ObjectID> = []

  /// The number of bytes written so far.
  @inlinable
  public var size: Int { sections.count + (next?.utf8.count ?? 0) }

  package init(plan: FetchPlan, model: Model) {
    self.plan = plan
    self.model = model
    limit = plan.window.limit ?? .max
    isCapped = plan.isCapped
    hasSections = plan.definition.section != nil
    isPlain = plan.shape != .ids && !plan.withDigest && plan.expansion.isEmpty
    sections.reserveCapacity(16 << 10)
  }

  /// Adds the current row of `reader`; returns false if it exceeds the maximum of a capped plan.
  ///
  /// - Parameter appendItem: Writes the row's item.
  @inlinable
  public mutating func add(
    _ row: some ResultRow, _ appendItem: (inout [UInt8]) -> Void
  ) -> Bool {
    if count == limit {
      isTruncated = isCapped
      return false
    }
    if hasSections {
      let bytes = row.sectionBytes()
      if bytes != section { beginSection(bytes) }
    } else if count == 0 {
      beginSection([])
    }
    if sections.last != 0x5B { sections.append(0x2C) }
    if isPlain { appendItem(&sections) } else { addUnusual(row, appendItem) }
    count += 1
    if count == limit { end(at: row.key()) }
    return true
  }

  /// Writes a row with its whole item; returns false if no more rows are needed.
  ///
  /// - Parameter check: Throws if a response of so many bytes is too large.
  @inlinable
  public mutating func write(
    _ row: some ResultRow, checking check: (Int) throws(StoreError) -> Void
  ) throws(StoreError) -> Bool {
    let needsMore = add(row) { row.appendItem(to: &$0) }
    try check(size)
    return needsMore
  }

  /// Adds an item of a plan without sections, digest and expansion.
  @inlinable
  public mutating func add(_ appendItem: (inout [UInt8]) -> Void) {
    if count == 0 { beginSection([]) } else { sections.append(0x2C) }
    appendItem(&sections)
    count += 1
  }

  /// Replaces the placeholders of items, in their order.
  ///
  /// - Parameter appendItem: Writes the item of the n-th placeholder, from 0.
  /// - Complexity: O(bytes written).
  package mutating func replacePlaceholders(_ appendItem: (Int, inout [UInt8]) -> Void) {
    let parts = sections.split(separator: Self.itemPlaceholder, omittingEmptySubsequences: false)
    var filled: [UInt8] = []
    filled.reserveCapacity(sections.count * 2)
    for (index, part) in parts.enumerated() {
      if index > 0 { appendItem(index - 1, &filled) }
      filled.append(contentsOf: part)
    }
    sections = filled
  }

  /// Stands for an item that is written later. JSON contains no NUL byte.
  package static let itemPlaceholder: UInt8 = 0

  /// Records the last position of a full window.
  public mutating func end(at last: OrderKey) {
    next = CursorCoder(of: plan.definition, in: model).encode(last)
  }

  @usableFromInline
  mutating func addUnusual(
    _ row: some ResultRow, _ appendItem: (inout [UInt8]) -> Void
  ) {
    if plan.shape == .ids { row.appendID(to: &sections) } else { appendItem(&sections) }
    if plan.withDigest {
      var id: [UInt8] = []
      row.appendID(to: &id)
      digest.add(id)
    }
    if !plan.expansion.isEmpty { ids.insert(row.id()) }
  }

  @usableFromInline
  mutating func beginSection(_ bytes: [UInt8]) {
    if section != nil { sections.append(json: "]},") }
    section = bytes
    let info =
      plan.definition.section == nil
      ? SectionInfo.unsectioned
      : SectionInfo(
        section: bytes[...], term: plan.definition.section, model: model,
        integersAsStrings: plan.integersAsStrings)
    sections.append(0x7B)
    info.appendMembers(to: &sections)
    sections.append(json: ",\"items\":[")
    if plan.withDigest { digest.beginSection(info.value) }
  }

  /// Returns the complete snapshot.
  ///
  /// - Parameters:
  ///   - total: The result of `count=exact`.
  ///   - included: The JSON of `included`, if the plan expands relationships.
  package mutating func finish(
    token: Token, total: Int?, included: [UInt8]?
  ) -> EncodedSnapshot {
    if count == 0, plan.definition.section == nil { beginSection([]) }
    if section != nil { sections.append(json: "]}") }
    if limit == 0 {
      next = CursorCoder(of: plan.definition, in: model)
        .encodeEmptyWindow(after: plan.window.after, offset: plan.window.offset)
    }
    var json: [UInt8] = []
    json.reserveCapacity(sections.count + (included?.count ?? 0) + 256)
    let tokenEnd = appendHead(token: token, total: total, to: &json)
    json.append(json: ",\"sections\":[")
    json.append(contentsOf: sections)
    json.append(0x5D)
    if let included {
      json.append(json: ",\"included\":")
      json.append(contentsOf: included)
    }
    if let next {
      json.append(json: ",\"next\":")
      json.append(jsonString: next)
    }
    json.append(0x7D)
    return EncodedSnapshot(json: json, token: token, tokenEnd: tokenEnd, count: count)
  }

  /// Returns the place of the end of the token's text.
  private func appendHead(token: Token, total: Int?, to json: inout [UInt8]) -> Int {
    let tokenEnd = json.appendSnapshotHead(
      entity: model.entities[plan.definition.entity].name, token)
    json.append(json: ",")
    ResultSummary(
      count: count, total: total, isTruncated: isTruncated,
      digest: plan.withDigest ? digest.text : nil
    ).appendMembers(to: &json)
    return tokenEnd
  }
}

extension [UInt8] {
  /// Appends `{"entity":"City","token":"k3-1042-00009f3c"`. Returns the place of the end of the token's
  /// text.
  mutating func appendSnapshotHead(entity: String, _ token: Token) -> Int {
    append(json: "{\"entity\":")
    append(jsonString: entity)
    append(json: ",\"token\":")
    append(jsonString: token.description)
    return count - 1
  }
}
