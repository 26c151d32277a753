// The history of saves as server-sent events, pulled like every stream.

import FetchModel
import HTTPServer
import Synchronization

final class ChangeStream: StreamSource, ChangeObserver {
  private struct State {
    var service: Service
    /// Why its token cannot be continued from; nil: as for any other.
    var reason: Problem?
    var socket: HTTPStream?
    var outbox: [UInt8] = Array("retry: 2000\n\n".utf8)
    var position: Token
    var isEnding = false
    var isLooking = false
    var isLeaving = false
    var heartbeat: Deadline?
  }

  private let limit: Int
  // Guards the state; never held while the store or the socket is called.
  private let state: Mutex<State>

  init(service: Service, limit: Int, start: Token) {
    self.limit = limit
    state = Mutex(State(service: service, position: start))
  }

  private var service: Service { state.withLock { $0.service } }

  func opened(_ stream: HTTPStream) {
    service.configuration.metrics.openStreams.add()
    state.withLock { $0.socket = stream }
    service.feed.add(self)
    beat()
  }

  func next(_ room: Int) -> StreamStep {
    let step: StreamStep? = state.withLock { state in
      if !state.outbox.isEmpty {
        defer { state.outbox = [] }
        return .bytes(state.outbox)
      }
      if state.isEnding { return .end }
      guard !state.isLooking else { return .wait }
      state.isLooking = true
      return nil
    }
    if let step { return step }
    // What came while the last event was sent.
    let look = { @Sendable [self] in
      state.withLock { $0.isLooking = false }
      _ = read()
    }
    if !service.slowLane.run(look) { look() }
    return .wait
  }

  func closed() {
    let service = service
    service.configuration.metrics.openStreams.add(-1)
    service.feed.remove(self)
    let heartbeat = state.withLock { state in
      state.isEnding = true
      state.socket = nil
      return state.heartbeat
    }
    _ = heartbeat?.cancel()
  }

  func look() -> Bool { read() }

  /// Reads on where nothing waits to be sent; true when the stream is over.
  private func read() -> Bool {
    let (start, service, reason) = state.withLock { state in
      (state.outbox.isEmpty && !state.isEnding ? state.position : nil, state.service, state.reason)
    }
    guard let start else { return state.withLock { $0.isEnding } }
    guard !service.isDraining else {
      leave(service)
      return true
    }
    do throws(StoreError) {
      guard let history = try service.store.changes(after: start, limit: limit) else {
        send("error", (reason ?? .tokenExpired).json, nil)
        return true
      }
      guard !history.saves.isEmpty else { return false }
      send("diff", history.json(service.store.model), history.to)
      return false
    } catch {
      service.isOver(after: error) ? leave(service) : send("error", Problem(error).json, nil)
      return true
    }
  }

  /// Goes on in the service that follows the one that has ended, or ends with it.
  private func leave(_ old: Service) {
    if old.isDraining, !old.isRetired {
      return send("error", Problem.shuttingDown.json, nil)
    }
    let isFirst = state.withLock { state in
      defer { state.isLeaving = true }
      return !state.isLeaving
    }
    guard isFirst else { return }
    old.whenSucceeded { [self] outcome in
      switch outcome {
      case .success(let service): goOn(in: service, after: old)
      case .failure(let problem): send("error", problem.json, nil)
      }
    }
  }

  private func goOn(in service: Service, after old: Service) {
    let reason = old.changed.withLock { $0.first }.map(old.schemaChanged)
    let socket = state.withLock { state in
      state.service = service
      state.reason = reason
      state.isLeaving = false
      return state.isEnding ? nil : state.socket
    }
    guard let socket else { return }
    service.feed.add(self)
    beat()
    socket.wake()
  }

  private func send(_ name: StaticString, _ json: [UInt8], _ token: Token?) {
    let event = EventStream.event(name, json, token)
    let socket = state.withLock { state -> HTTPStream? in
      guard state.outbox.isEmpty, token.map({ $0 != state.position }) ?? true else { return nil }
      state.outbox = event
      if let token { state.position = token } else { state.isEnding = true }
      return state.socket
    }
    socket?.wake()
  }

  private func beat() {
    let deadline = service.deadlines.schedule(after: service.configuration.heartbeat) {
      [weak self] in
      guard let self else { return }
      let socket = state.withLock { state -> HTTPStream? in
        if state.outbox.isEmpty, !state.isEnding { state.outbox = Array(":\n\n".utf8) }
        return state.isEnding ? nil : state.socket
      }
      socket?.wake()
      if socket != nil { beat() }
    }
    state.withLock { $0.heartbeat = deadline }
  }
}
