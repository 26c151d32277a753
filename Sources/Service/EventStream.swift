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

  private struct State {
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

  private let service: Service
  private let plan: FetchPlan
  private let object: ObjectID?
  // Guards the state; never held while the service, the engine or the socket is called.
  private let state: Mutex<State>

  /// - Parameter start: from when diffs are sent; nil has a snapshot sent first.
  init(service: Service, plan: FetchPlan, object: ObjectID?, start: LiveStart?) {
    self.service = service
    self.plan = plan
    self.object = object
    var state = State()
    state.position = start
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
      case snapshot
      case follow(LiveStart)
    }
    let step: Step = state.withLock { state in
      if !state.outbox.isEmpty {
        defer { state.outbox = [] }
        return .step(.bytes(state.outbox))
      }
      if state.isEnding { return .step(.end) }
      if state.isAsking { return .step(.wait) }
      state.isAsking = true
      return state.position.map { .follow($0) } ?? .snapshot
    }
    switch step {
    case .step(let step): return step
    case _ where service.isDraining:
      let reason = service.endReason(of: plan)
      send(reason.map { Self.event("error", $0.json, nil) }, position: nil, isEnding: true)
    case .snapshot: askForSnapshot()
    case .follow(let start):
      // No deadline: heartbeats keep the stream alive while nothing changes.
      service.engine.follow(plan, object: object, since: start, until: nil, self)
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

// MARK: - What is sent

extension EventStream {
  /// Takes the engine's answer.
  func receive(_ answer: LiveAnswer) {
    switch answer {
    case .diff(let json, let token, let isEmpty):
      // An empty diff ends a wait when the server drains.
      send(isEmpty ? nil : Self.event("diff", json, token), position: .token(token))
    case .expired where service.isDraining: send(nil, position: nil)
    case .expired: askForSnapshot()
    case .failed(let error):
      send(Self.event("error", Problem(error).json, nil), position: nil, isEnding: true)
    }
  }

  private func askForSnapshot() {
    let isTaken = service.slowLane.run { [self] in
      do throws(StoreError) {
        try sendSnapshot()
      } catch {
        send(Self.event("error", Problem(error).json, nil), position: nil, isEnding: true)
      }
    }
    if !isTaken {
      send(Self.event("error", Problem.overloaded.json, nil), position: nil, isEnding: true)
    }
  }

  private func sendSnapshot() throws(StoreError) {
    if let object {
      let snapshot = try service.store.object(object, of: plan, effort: .full)
      guard let snapshot else {
        send(
          Self.event("error", Service.noSuchObject.json, nil), position: nil, isEnding: true)
        return
      }
      send(Self.event("snapshot", snapshot.json, snapshot.token), position: .token(snapshot.token))
    } else {
      let snapshot = try service.store.snapshot(of: plan, effort: .full)
      send(Self.event("snapshot", snapshot.json, snapshot.token), position: .token(snapshot.token))
    }
  }

  private func send(_ event: [UInt8]?, position: LiveStart?, isEnding: Bool = false) {
    let socket = state.withLock { state in
      if let event { state.outbox += event }
      state.position = position ?? state.position
      state.isAsking = false
      state.isEnding = state.isEnding || isEnding || service.isDraining
      return state.socket
    }
    socket?.wake()
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
