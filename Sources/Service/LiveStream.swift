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

final class LiveStream: ServedStream, LiveWaiter {
  struct State {
    var service: Service
    var fetches: [LiveFetches.Named]
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
    /// Whether the service has ended under it.
    var isLeaving = false
  }

  // Guards the state; never held while the service, the engine or the socket is called.
  let state: Mutex<State>
  let caller: Caller

  init(_ call: Call, _ fetches: [LiveFetches.Named]) throws(Problem) {
    caller = call.caller
    var state = State(
      service: call.service, fetches: fetches, alive: Set(fetches.indices))
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

  var service: Service { state.withLock { $0.service } }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func next(_ room: Int) -> StreamStep {
    // What the engine is to be told of; nil while snapshots are to be sent.
    let (step, service, starts) = state.withLock {
      state -> (StreamStep?, Service, [GroupFetch]?) in
      let step = state.output.step(isOver: state.alive.isEmpty)
      guard step == nil, state.unsent.isEmpty else { return (step, state.service, nil) }
      state.asked = state.starts
      state.starts = []
      return (nil, state.service, state.asked)
    }
    if let step { return step }
    switch starts {
    case _ where service.isDraining: leave(service)
    case nil: readEvents(service)
    // Those that begin are answered at once, so that the client gets a token for all.
    case let starts?: service.engine.follow(starts, isFinal: !starts.isEmpty, self)
    }
    return .wait
  }
}

// MARK: - Diffs

extension LiveStream {
  /// Takes the engine's answer.
  func receive(_ results: [GroupResult], at token: Token?) {
    let service = service
    let isDraining =
      service.isDraining || results.contains { service.isOver(after: $0.answer) }
    let socket = state.withLock { state in
      if token != nil { Self.settle(&state) }
      for result in results { append(result, to: &state, isDraining: isDraining) }
      if let token, state.unsent.isEmpty, state.starts.isEmpty { Self.mark(token, &state) }
      if isDraining { state.starts += state.asked }
      state.asked = []
      state.output.isAsking = isDraining
      return state.output.socket
    }
    isDraining ? leave(service) : socket?.wake()
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

  private func append(_ result: GroupResult, to state: inout State, isDraining: Bool) {
    let name = state.fetches[result.index].name
    switch result.answer {
    case .diff(let json, let token, _):
      state.output.outbox += Self.event("diff", json, name)
      state.held[result.index] = token
    case .expired where isDraining, .failed where isDraining: putBack(result.index, &state)
    case .expired: state.unsent.append(result.index)
    case .failed(let error): Self.end(result.index, Problem(error), &state)
    }
  }

  /// What a service cannot answer that has ended is the next one's to answer.
  private func putBack(_ index: Int, _ state: inout State) {
    let known = state.asked.first { $0.index == index }?.since
    guard let since = known ?? state.held[index] else {
      state.unsent.append(index)
      return
    }
    let plan = state.fetches[index].fetch.plan
    state.starts.append(GroupFetch(index: index, plan: plan, since: since))
    state.held[index] = nil
  }

  /// One fetch ends; the others go on.
  static func end(_ index: Int, _ problem: Problem, _ state: inout State) {
    state.output.outbox += event("error", problem.json, state.fetches[index].name)
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

// MARK: - Another service

extension LiveStream {
  func leave(_ old: Service) {
    leave(old) { [self] service in goOn(in: service, after: old) }
  }

  private func goOn(in service: Service, after old: Service) {
    let (fetches, alive) = state.withLock { ($0.fetches, $0.alive) }
    var moved = fetches
    var ended: [(index: Int, reason: Problem)] = []
    for index in alive.sorted() {
      do throws(Problem) {
        moved[index] = try fetches[index].moved(to: service, isFollowed: true)
      } catch {
        ended.append((index, old.refusalReason(of: fetches[index].fetch.plan)))
      }
    }
    let isOpen = state.withLock { state in
      state.service = service
      state.fetches = moved
      for (index, reason) in ended { Self.end(index, reason, &state) }
      Self.startAgain(&state)
      state.output.isAsking = false
      state.isLeaving = false
      return !state.output.isEnding
    }
    guard isOpen else { return }
    scheduleHeartbeat()
    wake()
  }

  /// Has the engine told of every fetch anew, from the moment that the client has of it.
  private static func startAgain(_ state: inout State) {
    let known = Dictionary(
      (state.starts + state.asked).map { ($0.index, $0.since) }, uniquingKeysWith: { $1 })
    state.asked = []
    defer { state.held = [:] }
    state.unsent = state.unsent.filter(state.alive.contains)
    state.starts = state.alive.subtracting(state.unsent).sorted().compactMap { index in
      (state.held[index] ?? known[index]).map {
        GroupFetch(index: index, plan: state.fetches[index].fetch.plan, since: $0)
      }
    }
  }
}
