// The events of a group's stream that do not come from the engine: first snapshots, and what a fetch
// missed that the engine had no time for. They are read in the pool of long reads.

import FetchModel
import LiveQueries

extension FetchGroupStream {
  /// Snapshots are collected up to this many bytes before they are sent.
  private static let bytesAtOnce = 64 << 10
  /// The same for diffs: each search for them has a fixed cost.
  private static let diffBytesAtOnce = 1 << 20

  func queryEvents() {
    readLong { [self] in
      var isRoomLeft = readDiffs()
      while isRoomLeft,
        let index = state.withLock({ $0.output.isEnding ? nil : $0.unsent.popLast() })
      {
        isRoomLeft = readSnapshot(of: index)
      }
      wake { $0.isReading = false }
    }
  }

  /// Appends the diffs that are found in time to the events; false if there is no room for more. If
  /// the search fails, the fetches get snapshots.
  private func readDiffs() -> Bool {
    let resumed = state.withLock { state -> [GroupFetch] in
      guard !state.output.isEnding else { return [] }
      return state.unsent.compactMap { index in
        state.held[index].map {
          GroupFetch(index: index, plan: fetches[index].plan, since: $0)
        }
      }
    }
    guard !resumed.isEmpty else { return true }
    let store = service.store
    let found = try? withCancellation { () throws(StoreError) in
      try store.readResponses { transaction throws(StoreError) in
        let found = try TransactionDiffs(transaction, model: store.model).diffs(
          of: resumed, columns: store.columns, within: BatchedSnapshot.diffTime,
          upTo: Self.diffBytesAtOnce)
        return (found, transaction.token)
      }
    }
    return state.withLock { state in
      guard !state.output.isEnding else { return false }
      for fetch in resumed {
        let answer = found?.0.answers[fetch.index]
        if answer == nil, found?.0.isFull == true { continue }
        applyDiff(answer, of: fetch, at: found?.1, &state)
      }
      return state.output.unsent.count < Self.bytesAtOnce
    }
  }

  /// Appends the diff of a resumed fetch. Without one, the fetch gets a snapshot.
  private func applyDiff(
    _ answer: TransactionDiffs.Answer?, of fetch: GroupFetch, at token: Token?, _ state: inout State
  ) {
    state.held[fetch.index] = nil
    guard let token, let answer, answer != .expired else { return }
    if case .diff(let diff) = answer { append(diff, of: fetch.index, to: &state) }
    state.unsent.removeAll { $0 == fetch.index }
    begin(GroupFetch(index: fetch.index, plan: fetch.plan, since: token), &state)
  }

  /// Passes a fetch whose event was appended to the engine with the next request.
  private func begin(_ fetch: GroupFetch, _ state: inout State) {
    state.starts.append(fetch)
    guard state.unsent.isEmpty, state.starts.count == state.alive.count,
      state.starts.allSatisfy({ $0.since == fetch.since })
    else { return }
    mark(fetch.since, &state)
  }

  /// Appends a snapshot to the events; false if there is no room for more.
  private func readSnapshot(of index: Int) -> Bool {
    let named = fetches[index]
    do throws(StoreError) {
      let snapshot = try withCancellation { () throws(StoreError) in
        try service.store.snapshot(of: named.plan, queryClass: .full)
      }
      let event = Self.event("snapshot", snapshot.json(tag: tag), named.name)
      return state.withLock { state in
        guard !state.output.isEnding else { return false }
        state.output.unsent += event
        state.tags[index].from = tag
        begin(GroupFetch(index: index, plan: named.plan, since: snapshot.token), &state)
        return state.output.unsent.count < Self.bytesAtOnce
      }
    } catch {
      if let problem = service.endProblem {
        end(problem)
        return false
      }
      return state.withLock { state in
        guard !state.output.isEnding else { return false }
        end(index, Problem(error), &state)
        return true
      }
    }
  }
}
