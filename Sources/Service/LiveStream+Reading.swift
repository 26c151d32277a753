// The events of a stream of many fetches that the engine does not tell: a fetch's first snapshot,
// and what one missed that the engine had no time for. They are read on a thread where that may
// take long.

import FetchModel
import LiveQueries

extension LiveStream {
  /// Snapshots are gathered up to this many bytes before they are sent.
  private static let bytesAtOnce = 64 << 10
  /// Diffs are, since every search for them has its price.
  private static let diffBytesAtOnce = 1 << 20

  func readEvents() {
    service.lanes.gather(for: caller) { [self] refusal in
      switch refusal {
      case .overloaded(let problem): end(problem)
      case .closed: end(service.endProblem ?? .shuttingDown)
      }
    } _: { [self] in
      if endIfMemoryIsExhausted() { return }
      var isRoomLeft = readDiffs()
      while isRoomLeft,
        let index = state.withLock({ $0.output.isEnding ? nil : $0.unsent.popLast() })
      {
        isRoomLeft = readSnapshot(of: index)
      }
      wake { $0.isAsking = false }
    }
  }

  /// Puts diffs among the events as far as they are found in time; false where they are enough for
  /// now. A failure is heard by the snapshots.
  private func readDiffs() -> Bool {
    let resumed = state.withLock { state -> [GroupFetch] in
      guard !state.output.isEnding else { return [] }
      return state.unsent.compactMap { index in
        state.held[index].map {
          GroupFetch(index: index, plan: fetches[index].fetch.plan, since: $0)
        }
      }
    }
    guard !resumed.isEmpty else { return true }
    let store = service.store
    let found = try? whileOpen { () throws(StoreError) in
      try store.readAnswers { moment throws(StoreError) in
        let found = try TransactionDiffs(moment, model: store.model).diffs(
          of: resumed, columns: store.columns, within: BatchedSnapshot.diffTime,
          upTo: Self.diffBytesAtOnce)
        return (found, moment.token)
      }
    }
    return state.withLock { state in
      for fetch in resumed {
        let answer = found?.0.answers[fetch.index]
        if answer == nil, found?.0.isFull == true { continue }
        take(answer, of: fetch, at: found?.1, &state)
      }
      return state.output.outbox.count < Self.bytesAtOnce
    }
  }

  /// Takes in what was found of a fetch that is resumed; where that is nothing, it gets a snapshot.
  private func take(
    _ answer: TransactionDiffs.Answer?, of fetch: GroupFetch, at token: Token?, _ state: inout State
  ) {
    state.held[fetch.index] = nil
    guard let token, let answer, answer != .expired else { return }
    if case .diff(let json) = answer {
      state.output.outbox += Self.event("diff", json, fetches[fetch.index].name)
    }
    state.unsent.removeAll { $0 == fetch.index }
    Self.begin(GroupFetch(index: fetch.index, plan: fetch.plan, since: token), &state)
  }

  /// Has the engine told of a fetch whose event was put among the others.
  private static func begin(_ fetch: GroupFetch, _ state: inout State) {
    state.starts.append(fetch)
    guard state.unsent.isEmpty, state.starts.count == state.alive.count,
      state.starts.allSatisfy({ $0.since == fetch.since })
    else { return }
    mark(fetch.since, &state)
  }

  /// Puts a snapshot among the events; false where they are enough for now.
  private func readSnapshot(of index: Int) -> Bool {
    let named = fetches[index]
    do throws(StoreError) {
      let snapshot = try whileOpen { () throws(StoreError) in
        try service.store.snapshot(of: named.fetch.plan, effort: .full)
      }
      let event = Self.event("snapshot", snapshot.json, named.name)
      return state.withLock { state in
        state.output.outbox += event
        let token = snapshot.token
        Self.begin(GroupFetch(index: index, plan: named.fetch.plan, since: token), &state)
        return state.output.outbox.count < Self.bytesAtOnce
      }
    } catch {
      if let problem = service.endProblem {
        end(problem)
        return false
      }
      return state.withLock { state in
        end(index, Problem(error), &state)
        return true
      }
    }
  }
}
