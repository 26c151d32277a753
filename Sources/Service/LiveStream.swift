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

final class LiveStream: StreamSource, LiveWaiter {
  private struct State {
    var socket: HTTPStream?
    /// Events to send, complete.
    var outbox: [UInt8] = Array("retry: 2000\n\n".utf8)
    /// Fetches that a snapshot has to be sent of, the next one last.
    var unsent: [Int] = []
    /// Fetches that the engine does not know yet, with the moments that the client has.
    var starts: [GroupFetch] = []
    /// Those that have not ended.
    var alive: Set<Int>
    /// The last `id` that was sent.
    var lastToken: Token?
    /// Whether snapshots or an answer of the engine are on their way.
    var isAsking = false
    var isEnding = false
    var heartbeat: Deadline?
  }

  /// Snapshots are gathered up to this many bytes before they are sent.
  private static let bytesAtOnce = 64 << 10

  private let service: Service
  private let fetches: [LiveFetches.Named]
  // Guards the state; never held while the service, the engine or the socket is called.
  private let state: Mutex<State>

  init(_ call: Call, _ fetches: [LiveFetches.Named]) throws(Problem) {
    service = call.service
    self.fetches = fetches
    var state = State(alive: Set(fetches.indices))
    var resumed: LiveStart?
    if let last = call.request.header("Last-Event-ID") {
      guard let token = Token(last) else { throw .badToken }
      resumed = .token(token)
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

  func opened(_ stream: HTTPStream) {
    service.configuration.metrics.openStreams.add()
    state.withLock { $0.socket = stream }
    scheduleHeartbeat()
  }

  func next(_ room: Int) -> StreamStep {
    enum Step {
      case step(StreamStep)
      case snapshots
      case follow([GroupFetch])
    }
    let step: Step = state.withLock { state in
      if !state.outbox.isEmpty {
        defer { state.outbox = [] }
        return .step(.bytes(state.outbox))
      }
      if state.isEnding || state.alive.isEmpty { return .step(.end) }
      if state.isAsking { return .step(.wait) }
      state.isAsking = true
      guard state.unsent.isEmpty else { return .snapshots }
      defer { state.starts = [] }
      return .follow(state.starts)
    }
    switch step {
    case .step(let step): return step
    case _ where service.isDraining: end()
    case .snapshots: askForSnapshots()
    // Those that begin are answered at once, so that the client gets a token for all.
    case .follow(let starts): service.engine.follow(starts, isFinal: !starts.isEmpty, self)
    }
    return .wait
  }

  func closed() {
    service.configuration.metrics.openStreams.add(-1)
    let heartbeat = state.withLock { state in
      state.isEnding = true
      state.socket = nil
      defer { state.heartbeat = nil }
      return state.heartbeat
    }
    _ = heartbeat?.cancel()
    service.engine.cancel(self)
  }
}

// MARK: - Diffs

extension LiveStream {
  /// Takes the engine's answer.
  func receive(_ results: [GroupResult], at token: Token?) {
    let isDraining = service.isDraining
    let socket = state.withLock { state in
      for result in results { append(result, to: &state) }
      if let token, state.unsent.isEmpty { Self.mark(token, &state) }
      state.isAsking = false
      state.isEnding = state.isEnding || isDraining
      return state.socket
    }
    socket?.wake()
  }

  /// Names the moment that the client has once it has every event so far: as the last event's `id`,
  /// or without an event where there is none.
  private static func mark(_ token: Token, _ state: inout State) {
    guard token != state.lastToken else { return }
    state.lastToken = token
    if state.outbox.last == 0x0A { state.outbox.removeLast() }
    state.outbox.append(contentsOf: "id: \(token)\n\n".utf8)
  }

  private func append(_ result: GroupResult, to state: inout State) {
    let name = fetches[result.index].name
    switch result.answer {
    case .diff(let json, _, _): state.outbox += Self.event("diff", json, name)
    case .expired: state.unsent.append(result.index)
    case .failed(let error): end(result.index, Problem(error), &state)
    }
  }

  /// One fetch ends; the others go on.
  private func end(_ index: Int, _ problem: Problem, _ state: inout State) {
    state.outbox += Self.event("error", problem.json, fetches[index].name)
    state.alive.remove(index)
  }

  /// The service has ended.
  private func end() {
    wake { state in
      for index in state.alive.sorted() {
        guard let reason = service.endReason(of: fetches[index].fetch.plan) else { continue }
        end(index, reason, &state)
      }
      state.isEnding = true
    }
  }

  /// - Parameter json: an object; `name` is put in front of its members.
  private static func event(_ kind: StaticString, _ json: [UInt8], _ name: String) -> [UInt8] {
    var named: [UInt8] = []
    named.reserveCapacity(json.count + name.utf8.count + 16)
    named.append(json: "{\"name\":")
    named.append(jsonString: name)
    if json.count > 2 { named.append(0x2C) }
    named.append(contentsOf: json.dropFirst())
    return EventStream.event(kind, named, nil)
  }
}

// MARK: - Snapshots

extension LiveStream {
  private func askForSnapshots() {
    let isTaken = service.slowLane.run { [self] in
      var isRoomLeft = true
      while isRoomLeft, let index = state.withLock({ $0.isEnding ? nil : $0.unsent.popLast() }) {
        isRoomLeft = readSnapshot(of: index)
      }
      wake { $0.isAsking = false }
    }
    guard !isTaken else { return }
    wake { state in
      state.outbox += EventStream.event("error", Problem.overloaded.json, nil)
      state.isEnding = true
    }
  }

  /// Puts a snapshot among the events; false where they are enough for now.
  private func readSnapshot(of index: Int) -> Bool {
    let named = fetches[index]
    do throws(StoreError) {
      let snapshot = try service.store.snapshot(of: named.fetch.plan, effort: .full)
      let event = Self.event("snapshot", snapshot.json, named.name)
      return state.withLock { state in
        state.outbox += event
        let since = LiveStart.token(snapshot.token)
        state.starts.append(GroupFetch(index: index, plan: named.fetch.plan, since: since))
        if state.unsent.isEmpty, state.starts.count == state.alive.count,
          state.starts.allSatisfy({ $0.since == since })
        {
          Self.mark(snapshot.token, &state)
        }
        return state.outbox.count < Self.bytesAtOnce
      }
    } catch {
      return state.withLock { state in
        end(index, Problem(error), &state)
        return true
      }
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let socket = state.withLock { state in
      change(&state)
      return state.socket
    }
    socket?.wake()
  }

  private func scheduleHeartbeat() {
    let deadline = service.deadlines.schedule(after: service.configuration.heartbeat) {
      [weak self] in self?.beat()
    }
    state.withLock { $0.heartbeat = deadline }
  }

  private func beat() {
    let socket = state.withLock { state -> HTTPStream? in
      if !state.isEnding, state.outbox.isEmpty { state.outbox = Array(":\n\n".utf8) }
      return state.socket
    }
    guard let socket else { return }
    socket.wake()
    scheduleHeartbeat()
  }
}
