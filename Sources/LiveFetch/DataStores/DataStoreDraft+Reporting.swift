// Reports a draft's results to its queries: single changes if the places of all other results are
// known to stay, otherwise all results.

extension DataStoreDraft.Overlay {
  typealias ID = Result.InstanceID
  typealias Changes = DraftChanges<Result>
  typealias Report = ResultChange<Result>
  typealias Previous = StoredResults<Result>.Previous

  /// Reports results that changed in the source or by changes of the draft.
  ///
  /// - Parameters:
  ///   - previous: the source's earlier entries of those that it changed.
  ///   - order: the ids of the source's changes, in order.
  mutating func report(
    _ ids: Set<ID>, under changes: Changes, _ previous: Previous = [:], _ order: [ID] = []
  ) {
    guard let reports = reports(of: ids, under: changes, previous, order) else {
      return reportAll(ids, under: changes)
    }
    for report in reports { record(report.id, isShown: report.result != nil) }
    query.enqueue(reports) { visible(under: changes) }
    query.processPendingChanges()
  }

  /// Reports changes of the source as they are, if the draft changes neither these results nor their
  /// neighbours. O(reports).
  ///
  /// - Returns: false if the draft does.
  func report(_ reports: [Report], asUnder changes: Changes) -> Bool {
    let isOwn = { (id: ID?) in id.flatMap(changes.change) != nil }
    // The draft's new results follow the source's last one.
    let isFree = reports.allSatisfy { report in
      !isOwn(report.id) && !isOwn(report.place?.previous) && !isOwn(report.place?.next)
        && (added.isEmpty || report.result == nil || report.place?.next != nil)
    }
    guard isFree, !isWidened else { return false }
    query.enqueue(reports) { visible(under: changes) }
    query.processPendingChanges()
    return true
  }

  private func visible(under changes: Changes) -> [Result] {
    base.ordered(under: changes, query.request, in: isWidened ? query.request.window : nil)
  }

  /// Reports all results, in order. O(n log n).
  ///
  /// - Parameter ids: the results that may differ from earlier ones.
  mutating func reportAll(_ ids: Set<ID>, under changes: Changes) {
    let request = query.request
    let visible = visible(under: changes)
    (hidden, added) = ([], [])
    for change in changes {
      let isStored = base.entries[change.id] != nil
      record(change.id, isShown: change.shown(isStored: isStored, request) != nil)
    }
    query.enqueue(all: visible, changed: ids)
    query.processPendingChanges()
  }

  private mutating func record(_ id: ID, isShown: Bool) {
    let isStored = base.entries[id] != nil
    if isStored && !isShown { hidden.insert(id) } else { hidden.remove(id) }
    if !isStored && isShown { added.insert(id) } else { added.remove(id) }
  }

  /// The changes of `ids`; nil if only all results show where they belong. O(ids), if new results were
  /// changed last.
  private func reports(
    of ids: Set<ID>, under changes: Changes, _ previous: Previous, _ order: [ID]
  ) -> [Report]? {
    // A result that was deleted and inserted again has another place.
    guard query.request.window == nil, Set(order).count == order.count else { return nil }
    var (reports, isNew) = ([Report](), Set<ID>())
    for id in order.filter(ids.contains) + Array(ids.subtracting(order)) {
      let transition = transition(of: id, under: changes.change(of: id), previous)
      switch transition.place(addsNothing: added.isEmpty) {
      case .known: break
      case .last: isNew.insert(id)
      case .unknown: return nil
      }
      if transition.isReported { reports.append(Report(id: id, result: transition.result)) }
    }
    guard !isNew.isEmpty else { return reports }
    guard let new = last(isNew, in: changes) else { return nil }
    return reports.filter { !isNew.contains($0.id) }
      + new.map { Report(id: $0.id, result: $0.result) }
  }

  private func transition(
    of id: ID, under change: DataStoreChange<Result>?, _ previous: Previous
  ) -> Transition {
    let entry = base.entries[id]
    let isStored = entry != nil
    let wasStored = previous[id].map { $0 != nil } ?? isStored
    return Transition(
      wasStored: wasStored, isStored: isStored,
      wasShown: wasStored ? !hidden.contains(id) : added.contains(id),
      result: change == nil ? entry?.result : change?.shown(isStored: isStored, query.request))
  }

  /// A result before and after changes of the source and of the draft.
  private struct Transition {
    let wasStored: Bool
    let isStored: Bool
    let wasShown: Bool
    /// nil if it is not shown any more.
    let result: Result?

    enum Place {
      /// It is not shown, stays, or arrives where the source has it.
      case known
      /// After the source's results.
      case last
      case unknown
    }

    /// True if the source has it now and did not have it before.
    private var isArrival: Bool { isStored && !wasStored }

    var isReported: Bool { result != nil || wasShown || isArrival }

    /// - Parameter addsNothing: true if the draft adds no results.
    func place(addsNothing: Bool) -> Place {
      guard result != nil else { return .known }
      // It moves between the source's results and the draft's.
      if wasShown { return wasStored == isStored ? .known : .unknown }
      if !isStored { return .last }
      return isArrival && addsNothing ? .known : .unknown
    }
  }

  /// The changes of `new`, in their order; nil unless they come after all other results that only the
  /// changes contain.
  private func last(_ new: Set<ID>, in changes: Changes) -> [Changes.Change]? {
    var found: [Changes.Change] = []
    for change in changes.reversed() {
      guard found.count < new.count else { break }
      if new.contains(change.id) {
        found.append(change)
      } else if added.contains(change.id) {
        return nil
      }
    }
    return found.reversed()
  }
}

extension DataStoreChange {
  /// The result with the change; nil if it is not shown.
  ///
  /// - Parameter isStored: true if the source has the result.
  func shown<Request: DataStoreRequest>(
    isStored: Bool, _ request: Request
  ) -> Result? where Request.Result == Result {
    let isIncluded = request.includes(result)
    return switch type {
    case .delete: nil
    case .insert: isIncluded ?? true ? result : nil
    // Only the store can decide whether the request includes a result that it did not return.
    case .update: isIncluded ?? isStored ? result : nil
    }
  }
}

extension StoredResults where Result: Sendable {
  /// The results with `changes` applied, in the store's order, new ones last.
  ///
  /// - Parameter window: the part of the store's results, if it is limited here.
  func ordered<Request: DataStoreRequest>(
    under changes: some Collection<DataStoreChange<Result>>, _ request: Request,
    in window: Range<Int>? = nil
  ) -> [Result] where Request.Result == Result {
    let byID = Dictionary(changes.map { ($0.id, $0) }) { $1 }
    let kept = ordered.compactMap { result -> Result? in
      guard let change = byID[result.instanceID] else { return result }
      return change.shown(isStored: true, request)
    }
    let new = changes.compactMap { change in
      entries[change.id] == nil ? change.shown(isStored: false, request) : nil
    }
    guard let window else { return kept + new }
    return kept.dropFirst(window.lowerBound).prefix(window.count) + new
  }

  /// Applies saved changes before the parent reports them.
  mutating func commit<Request: DataStoreRequest>(
    _ changes: [DataStoreChange<Result>], _ request: Request
  ) where Request.Result == Result {
    var batch = DataStoreBatch<Result>()
    batch.replace(with: ordered(under: changes, request), changed: nil)
    _ = apply(batch)
  }
}
