// A fetch as server-sent events. What a stream holds is its last token and at most one event that
// is being sent: it asks the engine for the next diff only when the socket has taken the last one,
// so a slow reader costs no memory and gets one combined diff.

import FetchModel
import HTTPServer
import LiveQueries
import Synchronization

final class EventStream: StreamSource, LiveWaiter {
  static let headers: [(name: String, value: String)] = [
    ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
  ]

  /// What is followed, in a service that knows it.
  struct Seat {
    let service: Service
    let plan: FetchPlan
    let object: ObjectID?
  }

  private struct State {
    var seat: Seat
    var socket: HTTPStream?
    /// Events to send, complete.
    var outbox: [UInt8] = Array("retry: 2000\n\n".utf8)
    /// The moment that the client will have when everything is sent; nil before the first.
    var position: LiveStart?
    /// Whether an answer of the engine or a snapshot is on its way.
    var isAsking = false
    var isEnding = false
    var heartbeat: Deadline?
  }

  private let request: HTTPRequest
  // Guards the state; never held while the service, the engine or the socket is called.
  private let state: Mutex<State>

  /// - Parameter start: from when diffs are sent; nil has a snapshot sent first.
  init(_ request: HTTPRequest, _ seat: Seat, start: LiveStart?) {
    self.request = request
    var state = State(seat: seat)
    state.position = start
    self.state = Mutex(state)
  }

  private var seat: Seat { state.withLock { $0.seat } }

  func opened(_ stream: HTTPStream) {
    seat.service.configuration.metrics.openStreams.add()
    state.withLock { $0.socket = stream }
    scheduleHeartbeat()
  }

  func next(_ room: Int) -> StreamStep {
    enum Step {
      case step(StreamStep)
      case snapshot
      case follow(LiveStart)
    }
    let (step, seat): (Step, Seat) = state.withLock { state in
      if !state.outbox.isEmpty {
        defer { state.outbox = [] }
        return (.step(.bytes(state.outbox)), state.seat)
      }
      if state.isEnding { return (.step(.end), state.seat) }
      if state.isAsking { return (.step(.wait), state.seat) }
      state.isAsking = true
      return (state.position.map { .follow($0) } ?? .snapshot, state.seat)
    }
    switch step {
    case .step(let step): return step
    case _ where seat.service.isDraining: leave(seat)
    case .snapshot: askForSnapshot(seat)
    case .follow(let start):
      // No deadline: heartbeats keep the stream alive while nothing changes.
      seat.service.engine.follow(
        seat.plan, object: seat.object, since: start, until: nil, self)
    }
    return .wait
  }

  func closed() {
    let service = seat.service
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

// MARK: - What is sent

extension EventStream {
  /// Takes the engine's answer.
  func receive(_ answer: LiveAnswer) {
    let seat = seat
    let isDraining = seat.service.isDraining
    switch answer {
    case .diff(let json, let token, false):
      send(Self.event("diff", json, token), position: .token(token))
    case .diff(_, let token, true):
      // The client was not told of this moment: the next diff begins where its last event ended.
      state.withLock { if $0.position == .now { $0.position = .token(token) } }
      isDraining ? leave(seat) : send(nil, position: nil)
    case .expired where isDraining, .failed where isDraining: leave(seat)
    case .failed where seat.service.isOver(after: answer): leave(seat)
    case .expired: askForSnapshot(seat)
    case .failed(let error): end(Problem(error))
    }
  }

  private func askForSnapshot(_ seat: Seat) {
    let isTaken = seat.service.slowLane.run { [self] in
      do throws(StoreError) {
        try sendSnapshot(seat)
      } catch {
        seat.service.isOver(after: error) ? leave(seat) : end(Problem(error))
      }
    }
    guard !isTaken else { return }
    seat.service.isDraining ? leave(seat) : end(.overloaded)
  }

  private func sendSnapshot(_ seat: Seat) throws(StoreError) {
    let store = seat.service.store
    if let object = seat.object {
      let snapshot = try store.object(object, of: seat.plan, effort: .full)
      guard let snapshot else { return end(Service.noSuchObject) }
      send(Self.event("snapshot", snapshot.json, snapshot.token), position: .token(snapshot.token))
    } else {
      let snapshot = try store.snapshot(of: seat.plan, effort: .full)
      send(Self.event("snapshot", snapshot.json, snapshot.token), position: .token(snapshot.token))
    }
  }

  private func send(_ event: [UInt8]?, position: LiveStart?, isEnding: Bool = false) {
    let socket = state.withLock { state in
      if let event { state.outbox += event }
      state.position = position ?? state.position
      state.isAsking = false
      state.isEnding = state.isEnding || isEnding
      return state.socket
    }
    socket?.wake()
  }

  /// Says why, and ends.
  private func end(_ problem: Problem) {
    send(Self.event("error", problem.json, nil), position: nil, isEnding: true)
  }

  static func event(_ name: StaticString, _ json: [UInt8], _ token: Token?) -> [UInt8] {
    var event: [UInt8] = []
    event.reserveCapacity(json.count + 64)
    event.append(json: "event: ")
    event.append(json: name)
    if let token {
      event.append(json: "\nid: ")
      event.append(contentsOf: token.description.utf8)
    }
    event.append(json: "\ndata: ")
    event.append(contentsOf: json)
    event.append(json: "\n\n")
    return event
  }

  private func scheduleHeartbeat() {
    let service = seat.service
    let deadline = service.deadlines.schedule(after: service.configuration.heartbeat) {
      [weak self] in self?.beat()
    }
    state.withLock { $0.heartbeat = deadline }
  }

  private func beat() {
    let socket = state.withLock { state -> HTTPStream? in
      guard !state.isEnding, state.outbox.isEmpty else { return state.socket }
      state.outbox = Array(":\n\n".utf8)
      return state.socket
    }
    guard let socket else { return }
    socket.wake()
    scheduleHeartbeat()
  }
}

// MARK: - Another service

extension EventStream {
  /// Goes on in the service that follows the one that has ended, or ends with it.
  private func leave(_ old: Seat) {
    if old.service.isDraining, !old.service.isRetired { return end(.shuttingDown) }
    state.withLock { state in
      if state.position == .now { state.position = .token(old.service.store.newestToken) }
    }
    old.service.whenSucceeded { [self] outcome in
      switch outcome {
      case .success(let service): goOn(in: service, after: old)
      case .failure(let problem): end(problem)
      }
    }
  }

  private func goOn(in service: Service, after old: Seat) {
    do throws(Problem) {
      let requested = try service.requested(request)
      try service.checkObservable(requested.fetch.plan)
      let seat = Seat(service: service, plan: requested.fetch.plan, object: requested.object)
      guard (seat.object == nil) == (old.object == nil) else { throw Service.noSuchObject }
      let isOpen = state.withLock { state in
        state.seat = seat
        return !state.isEnding
      }
      if isOpen { scheduleHeartbeat() }
      send(nil, position: nil)
    } catch {
      end(old.service.refusalReason(of: old.plan))
    }
  }
}
