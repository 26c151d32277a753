// Many fetches as one stream of server-sent events: `data: {"name":"a", …}`.
//
// Snapshots are sent one after the other as the socket takes them, then the diffs of each moment
// together. While events are being sent the engine keeps nothing for the stream, so a slow reader
// costs what its fetches show once and gets one combined diff a fetch. An event has an `id` only
// where the client then has every fetch at that moment: a token that holds for all of them.

import FetchModel
import HTTPServer
import LiveQueries
import Synchronization

final class LiveStream: ServedStream, GroupWaiter {
  struct State {
    var output = EventOutput()
    /// Fetches that the engine does not tell of, the next one last: those that ``held`` names a
    /// moment of may get a diff, the others get a snapshot.
    var unsent: [Int] = []
    /// Fetches that the engine does not know yet, with the moments that the client has.
    var starts: [GroupFetch] = []
    /// Those of which the engine was told and has not answered yet.
    var asked: [GroupFetch] = []
    /// The moments of every other fetch at which its last event left the client.
    var held: [Int: Token] = [:]
    /// Those that have not ended.
    var alive: Set<Int>
    /// The last `id` that was sent.
    var lastToken: Token?
  }

  let service: Service
  let fetches: [LiveFetches.Named]
  // Protects the state; never held while the service, the engine or the socket is called.
  let state: Mutex<State>
  let caller: Caller

  init(_ call: Call, _ fetches: [LiveFetches.Named]) throws(Problem) {
    service = call.service
    caller = call.caller
    self.fetches = fetches
    var state = State(alive: Set(fetches.indices))
    var resumed: Token?
    if let last = call.request.header("Last-Event-ID") {
      guard let token = Token(last) else { throw .badToken }
      resumed = token
    }
    for (index, named) in fetches.enumerated().reversed() {
      if let start = resumed ?? named.start {
        state.starts.append(GroupFetch(index: index, plan: named.fetch.plan, since: start))
      } else {
        state.unsent.append(index)
      }
    }
    self.state = Mutex(state)
  }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func next(_ room: Int) -> StreamStep {
    // What the engine is to be told of; nil while snapshots are to be sent.
    let (step, starts) = state.withLock { state -> (StreamStep?, [GroupFetch]?) in
      let step = state.output.step(isOver: state.alive.isEmpty)
      guard step == nil, state.unsent.isEmpty else { return (step, nil) }
      state.asked = state.starts
      state.starts = []
      return (nil, state.asked)
    }
    if let step { return step }
    if let problem = service.endProblem {
      end(problem)
    } else if let starts {
      // Those that begin are answered at once, so that the client gets a token for all.
      service.engine.follow(starts, isFinal: !starts.isEmpty, self)
    } else {
      readEvents()
    }
    return .wait
  }
}

// MARK: - Diffs

extension LiveStream {
  /// Takes the engine's answer.
  func receive(_ results: [GroupResult], at token: Token?) {
    let problem = service.endProblem
    let socket = state.withLock { state in
      if token != nil { Self.settle(&state) }
      for result in results { append(result, to: &state, isEnding: problem != nil) }
      if let token, state.unsent.isEmpty, state.starts.isEmpty { Self.mark(token, &state) }
      state.asked = []
      state.output.isAsking = false
      return state.output.socket
    }
    if let problem { end(problem) } else { socket?.wake() }
  }

  /// Fetches that the engine has begun with are held at the moments from which that was.
  private static func settle(_ state: inout State) {
    for fetch in state.asked { state.held[fetch.index] = fetch.since }
    state.asked = []
  }

  /// Names the moment that the client has once it has every event so far: as the last event's `id`,
  /// or without an event where there is none.
  static func mark(_ token: Token, _ state: inout State) {
    guard token != state.lastToken else { return }
    state.lastToken = token
    if state.output.outbox.last == 0x0A { state.output.outbox.removeLast() }
    state.output.outbox.append(contentsOf: "id: \(token)\n\n".utf8)
  }

  private func append(_ result: GroupResult, to state: inout State, isEnding: Bool) {
    let name = fetches[result.index].name
    switch result.answer {
    case .diff(let json, let token, _):
      state.output.outbox += Self.event("diff", json, name)
      state.held[result.index] = token
    case .expired where isEnding, .failed where isEnding: break
    case .expired: state.unsent.append(result.index)
    case .failed(let error): end(result.index, Problem(error), &state)
    }
  }

  /// One fetch ends; the others go on.
  func end(_ index: Int, _ problem: Problem, _ state: inout State) {
    state.output.outbox += Self.event("error", problem.json, fetches[index].name)
    state.alive.remove(index)
  }

  /// - Parameter json: an object; `name` is put in front of its members.
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
