// A group of fetches → one stream of server-sent events: `data: {"name":"a", …}`.
//
// Promises: snapshots are sent one after the other as the socket takes them, then the diffs of each
// position together. While events are being sent the engine keeps nothing for the stream, so a slow
// reader costs the snapshots of its fetches once and gets one combined diff per fetch. An event has an
// `id` only if the client then has every fetch at that position: the token holds for all of them.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries
import Synchronization

final class FetchGroupStream: ServedStream, GroupWaiter {
  struct State {
    var output = EventOutput()
    /// Fetches that the engine does not answer, the next one last: those that ``held`` has a token
    /// for may get a diff, the others get a snapshot.
    var unsent: [Int] = []
    /// Fetches that the engine does not know yet, with the tokens that the client has.
    var starts: [GroupFetch] = []
    /// Fetches that were passed to the engine and are not confirmed yet.
    var passed: [GroupFetch] = []
    /// For every other fetch, the token of its last event.
    var held: [Int: Token] = [:]
    /// Fetches that have not ended.
    var alive: Set<Int>
    /// The last `id` that was sent.
    var lastToken: Token?
    /// For each fetch, those of the tokens in its next diff.
    var tags: [TokenTags]
  }

  let service: Service
  let fetches: [FetchGroup.Named]
  // Protects the state; never held while the service, the engine or the socket is called.
  let state: Mutex<State>
  let callerID: CallerID
  let identity: RequestIdentity
  /// The tag of the tokens that the caller receives.
  let tag: UInt32?

  init(_ context: RequestContext, _ fetches: [FetchGroup.Named]) {
    service = context.service
    callerID = context.callerID
    identity = RequestIdentity(context)
    self.fetches = fetches
    tag = context.tokenTag
    var state = State(alive: Set(fetches.indices), tags: fetches.map(\.tags))
    for (index, named) in fetches.enumerated().reversed() {
      if let start = named.start {
        state.starts.append(GroupFetch(index: index, plan: named.plan, since: start))
      } else {
        state.unsent.append(index)
      }
    }
    self.state = Mutex(state)
  }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func next() -> StreamStep {
    // The fetches to pass to the engine; nil while snapshots have to be sent.
    let (step, starts) = state.withLock { state -> (StreamStep?, [GroupFetch]?) in
      let step = state.output.step(isFinished: state.alive.isEmpty)
      guard step == nil, state.unsent.isEmpty else { return (step, nil) }
      state.passed = state.starts
      state.starts = []
      return (nil, state.passed)
    }
    if let step { return step }
    if let problem = service.endProblem {
      end(problem)
    } else if let starts {
      // New fetches are answered at once, so that the client gets a token for all.
      service.engine.follow(starts, mustAnswer: !starts.isEmpty, for: callerID.name, self)
    } else {
      queryEvents()
    }
    return .wait
  }
}

// MARK: - Diffs

extension FetchGroupStream {
  /// Receives the engine's answer.
  func receive(_ results: [GroupResult], at token: Token?) {
    let problem = service.endProblem
    let socket = state.withLock { state -> HTTPStream? in
      // The last event of a stream is the error that ends it.
      guard !state.output.isEnding else { return nil }
      if token != nil { Self.confirm(&state) }
      for result in results { append(result, to: &state, isEnding: problem != nil) }
      if let token, state.unsent.isEmpty, state.starts.isEmpty { mark(token, &state) }
      state.passed = []
      state.output.isReading = false
      return state.output.socket
    }
    if let problem { end(problem) } else { socket?.wake() }
  }

  /// The engine follows the fetches that were passed to it, from their tokens.
  private static func confirm(_ state: inout State) {
    for fetch in state.passed { state.held[fetch.index] = fetch.since }
    state.passed = []
  }

  /// Sends the token that the client is up to date with once it has every event so far: as the last
  /// event's `id`, or without an event if there is none.
  func mark(_ token: Token, _ state: inout State) {
    guard token != state.lastToken else { return }
    state.lastToken = token
    for index in state.tags.indices { state.tags[index].from = tag }
    if state.output.unsent.last == 0x0A { state.output.unsent.removeLast() }
    state.output.unsent.append(contentsOf: "id: \(token.tagged(tag))\n\n".utf8)
  }

  /// Appends the event with a fetch's diff.
  func append(_ diff: EncodedDiff, of index: Int, to state: inout State) {
    let json = diff.json(tags: state.tags[index])
    state.output.unsent += Self.event("diff", json, fetches[index].name)
    state.tags[index].from = tag
  }

  private func append(_ result: GroupResult, to state: inout State, isEnding: Bool) {
    switch result.answer {
    case .diff(let diff):
      append(diff, of: result.index, to: &state)
      state.held[result.index] = diff.to
    case .failed(let error) where !isEnding: end(result.index, Problem(error), &state)
    // At the end of the stream, its client is not up to date with the token.
    case .expired, .failed: state.unsent.append(result.index)
    }
  }

  /// Ends one fetch with the event `error`. The others continue.
  func end(_ index: Int, _ problem: Problem, _ state: inout State) {
    state.output.unsent += Self.event("error", logged(problem).json, fetches[index].name)
    state.alive.remove(index)
  }

  /// - Parameter json: an object; `name` is inserted before its members.
  static func event(_ kind: StaticString, _ json: [UInt8], _ name: String) -> [UInt8] {
    var named: [UInt8] = []
    named.reserveCapacity(json.count + name.utf8.count + 16)
    named.append(json: "{\"name\":")
    named.append(jsonString: name)
    if json.count > 2 { named.append(0x2C) }
    named.append(contentsOf: json.dropFirst())
    return EventOutput.event(kind, named, nil)
  }
}
