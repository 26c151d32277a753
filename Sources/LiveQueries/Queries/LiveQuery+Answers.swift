// Row changes enter; the bytes of a view's diff leave, or nil if the view's snapshot is the same.

import FetchModel

extension LiveQuery {
  /// Returns the diff of `view` for `changes`; nil if the view's snapshot is the same.
  ///
  /// - Parameters:
  ///   - changes: the change of each object from `base` to the query's position.
  ///   - isStep: true if `changes` are exactly the last step, so that the digest can be updated.
  /// - Throws: ``StoreError/answerTooLarge(limit:)`` if the diff exceeds the store's limit.
  func body(
    for view: LiveView, _ changes: [RowChange], from base: HistoryPosition, isStep: Bool,
    _ context: CatchUpContext
  ) throws(StoreError) -> AnswerBody? {
    guard !changes.isEmpty else { return nil }
    let body = try anyBody(for: view, changes, from: base, isStep: isStep, context)
    let limit = context.transaction.maxResponseBytes
    if let body, body.size > limit { throw .answerTooLarge(limit: limit) }
    return body
  }

  private func anyBody(
    for view: LiveView, _ changes: [RowChange], from base: HistoryPosition, isStep: Bool,
    _ context: CatchUpContext
  ) throws(StoreError) -> AnswerBody? {
    switch view.key.shape {
    case .count:
      let isSame = changes.reduce(0) { $0 + $1.countChange } == 0
      return isSame ? nil : countBody(context.token)
    case .object:
      // Later changes may have reversed earlier ones.
      return changes.first { $0.old == nil || !$0.isSameRow }
        .map { objectBody($0, context.token) }
    case .dictionaries(let plan):
      return try dictionariesBody(of: plan, for: view, from: base, context)
    case .objects, .ids:
      return try itemsBody(for: view, changes, from: base, isStep: isStep, context)
    }
  }

  /// Returns a diff without entries at `token`, the query's position.
  func emptyBody(for view: LiveView, _ token: Token) -> AnswerBody {
    switch view.key.shape {
    case .count: return countBody(token)
    case .object:
      let id = key.only ?? .integer(0)
      return objectBody(RowChange(id: id, old: nil, new: nil), token, isEmpty: true)
    case .dictionaries: return unchangedDictionariesBody(token)
    case .objects, .ids:
      let comparison = WindowComparison(
        keys: keys(of: view), keyChanges: [], window: view.key.window)
      let summary = summary(of: view, comparison)
      var diff = makeDiff(to: token, summary)
      if view.key.shape == .objects, !key.expansion.isEmpty { diff.included = [:] }
      return AnswerBody(diff, to: token)
    }
  }

  private func makeDiff(to token: Token, _ summary: ResultSummary) -> Diff {
    Diff(
      entity: model.entities[key.definition.entity].name, from: "", to: token.description,
      summary: summary)
  }

  private func keys(of view: LiveView) -> RankedKeys {
    ranges[view.key.after]?.keys
      ?? RankedKeys(sorted: [], isSectioned: key.definition.section != nil)
  }

  /// `{"entity":"City","from":`
  var entityHead: [UInt8] {
    var head: [UInt8] = []
    head.append(json: "{\"entity\":")
    head.append(jsonString: model.entities[key.definition.entity].name)
    head.append(json: ",\"from\":")
    return head
  }

  private func countBody(_ token: Token) -> AnswerBody {
    var tail: [UInt8] = []
    tail.append(json: ",\"total\":")
    tail.append(json: Int64(total ?? 0))
    tail.append(json: "}")
    return AnswerBody(head: entityHead, tail: tail, to: token)
  }

  private func objectBody(
    _ change: RowChange, _ token: Token, isEmpty: Bool = false
  ) -> AnswerBody {
    var head: [UInt8] = []
    head.append(json: "{\"id\":")
    head.append(json: change.id.shown(integersAsStrings: key.integersAsStrings))
    head.append(json: ",\"from\":")
    var tail: [UInt8] = []
    if !isEmpty && change.new == nil {
      tail.append(json: ",\"deleted\":true}")
    } else {
      tail.append(json: ",\"changed\":")
      tail.append(contentsOf: change.changedJSON(key.selection))
      tail.append(json: "}")
    }
    return AnswerBody(head: head, tail: tail, to: token, itemCount: isEmpty ? 0 : 1)
  }

  private func itemsBody(
    for view: LiveView, _ changes: [RowChange], from base: HistoryPosition, isStep: Bool,
    _ context: CatchUpContext
  ) throws(StoreError) -> AnswerBody? {
    let keyChanges = changes.map(\.keyChange)
    try ranges[view.key.after]?.cover(
      view.key.window.upperBound, keyChanges, of: key.definition, context.transaction)
    let shift = RankShift(keys: keys(of: view), keyChanges: keyChanges)
    guard !shift.isContradicted else { throw contradiction }
    var comparison = WindowComparison(shift, window: view.key.window)
    let difference = WindowDiff(&comparison, keyChanges: keyChanges)
    if isStep { advanceDigest(of: view, comparison, keyChanges) }
    let included = try included(for: view, changes, comparison, from: base, context)
    guard
      !difference.isEmpty || included?.isEmpty == false
        || hasVisibleChange(view, difference, changes)
    else { return nil }
    var diff = makeDiff(to: context.token, summary(of: view, comparison))
    diff.included = included
    let rows = try insertedRows(difference, view, changes, context)
    fill(&diff, with: difference, of: view, rows: rows, changes: changes)
    return AnswerBody(diff, to: context.token)
  }

  /// The error if a store's history contradicts its rows: another program has changed the schema, or has
  /// changed rows without the triggers. Clients fetch again.
  private var contradiction: StoreError {
    .schemaChanged(entity: model.entities[key.definition.entity].name)
  }

  private func advanceDigest(
    of view: LiveView, _ comparison: WindowComparison, _ keyChanges: [KeyChange]
  ) {
    guard view.key.withDigest, view.digest != nil else { return }
    var encoder = digestEncoder
    view.digest?.advance(over: comparison, keyChanges: keyChanges, encoder: &encoder)
  }

  private var digestEncoder: DigestEncoder {
    DigestEncoder(
      sectionTerm: key.definition.section, model: model, integersAsStrings: key.integersAsStrings)
  }

  /// The cursor for the next page; nil if the window is not full.
  private func next(_ view: LiveView, _ extent: WindowExtent) -> OrderKey? {
    extent.count == view.key.limit ? extent.last : nil
  }

  private func nextCursor(_ view: LiveView, _ extent: WindowExtent) -> String? {
    guard view.key.limit != 0 else {
      return cursor.encodeEmptyWindow(after: view.key.after, offset: view.key.window.lowerBound)
    }
    return next(view, extent).map(cursor.encode)
  }

  /// True if the snapshot's summary differs although its items are the same.
  private func hasVisibleChange(
    _ view: LiveView, _ difference: WindowDiff, _ changes: [RowChange]
  ) -> Bool {
    let (old, new) = (difference.old, difference.new)
    if next(view, old) != next(view, new) { return true }
    if view.key.isCapped, old.hasMore != new.hasMore { return true }
    return view.key.withTotal && changes.reduce(0) { $0 + $1.countChange } != 0
  }

  private func summary(of view: LiveView, _ comparison: WindowComparison) -> ResultSummary {
    let extent = comparison.newExtent
    var summary = ResultSummary(
      count: extent.count, next: nextCursor(view, extent),
      total: view.key.withTotal ? total : nil,
      isTruncated: view.key.isCapped && extent.hasMore)
    if view.key.withDigest {
      if view.digest == nil {
        var encoder = digestEncoder
        view.digest = Digest(
          of: comparison.shift.keys, at: comparison.newVisible, encoder: &encoder)
      }
      summary.digest = view.digest?.text
    }
    return summary
  }

  /// Returns the rows of inserted objects. Those of changed objects are known; those of objects
  /// that moved into the window are read.
  private func insertedRows(
    _ difference: WindowDiff, _ view: LiveView, _ changes: [RowChange], _ context: CatchUpContext
  ) throws(StoreError) -> [ObjectID: Row] {
    guard view.key.shape == .objects, !difference.inserted.isEmpty else { return [:] }
    var rows: [ObjectID: Row] = [:]
    for change in changes { rows[change.id] = change.new }
    let missing = Set(difference.inserted.map(\.id).filter { rows[$0] == nil })
    guard !missing.isEmpty else { return rows }
    let read = try context.transaction.rows(of: plan, ids: missing, at: .now)
    guard missing.allSatisfy({ read[$0] != nil }) else { throw contradiction }
    return rows.merging(read) { $1 }
  }

  private func fill(
    _ diff: inout Diff, with difference: WindowDiff, of view: LiveView,
    rows: [ObjectID: Row], changes: [RowChange]
  ) {
    let isIDs = view.key.shape == .ids
    let byID = Dictionary(changes.map { ($0.id, $0) }) { $1 }
    let shown = { (id: ObjectID) in id.shown(integersAsStrings: self.key.integersAsStrings) }
    let changed = { (item: WindowDiff.Item) in
      Diff.Changed(
        from: item.from ?? .first, to: item.to ?? .first, id: shown(item.id),
        changed: isIDs ? nil : byID[item.id]?.changedJSON(self.key.selection) ?? [0x7B, 0x7D])
    }
    diff.deletedSections = difference.deletedSections.map(section)
    diff.insertedSections = difference.insertedSections.map(section)
    diff.deleted = difference.deleted.map { .init(from: $0.from ?? .first, id: shown($0.id)) }
    diff.inserted = difference.inserted.map {
      .init(to: $0.to ?? .first, id: shown($0.id), item: isIDs ? nil : rows[$0.id]?.json ?? [])
    }
    diff.moved = difference.moved.map(changed)
    diff.updated = difference.updated.map(changed)
  }

  private func section(_ change: WindowDiff.SectionChange) -> Diff.DeletedSection {
    Diff.DeletedSection(
      index: change.index,
      section: SectionInfo(
        section: change.section[...], term: key.definition.section, model: model,
        integersAsStrings: key.integersAsStrings))
  }
}

extension AnswerBody {
  fileprivate init(_ diff: Diff, to: Token) {
    var (head, tail): ([UInt8], [UInt8]) = ([], [])
    diff.appendHead(to: &head)
    diff.appendTail(to: &tail)
    let itemCount =
      diff.deleted.count + diff.inserted.count + diff.moved.count + diff.updated.count
    self.init(head: head, tail: tail, to: to, itemCount: itemCount)
  }
}
