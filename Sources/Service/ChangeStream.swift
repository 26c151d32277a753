// The history of saves as server-sent events, pulled like every stream.

import FetchModel
import HTTPServer
import Synchronization

final class ChangeStream: StreamSource, ChangeObserver {
  private struct State {
    var socket: HTTPStream?
    var outbox: [UInt8] = Array("retry: 2000\n\n".utf8)
    var position: Token
    var isEnding = false
    var isLooking = false
    var heartbeat: Deadline?
  }

  private let service: Service
  private let limit: Int
  // Guards the state; never held while the store or the socket is called.
  private let state: Mutex<State>

  init(service: Service, limit: Int, start: Token) {
    self.service = service
    self.limit = limit
    state = Mutex(State(position: start))
  }

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
    _ = service.slowLane.run { [self] in
      state.withLock { $0.isLooking = false }
      _ = read()
    }
    return .wait
  }

  func closed() {
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
    let start = state.withLock { state in
      state.outbox.isEmpty && !state.isEnding ? state.position : nil
    }
    guard let start else { return state.withLock { $0.isEnding } }
    guard !service.isDraining else {
      let socket = state.withLock { state in
        state.isEnding = true
        return state.socket
      }
      socket?.wake()
      return true
    }
    do throws(StoreError) {
      guard let history = try service.store.changes(after: start, limit: limit) else {
        send("error", Problem.tokenExpired.json, nil)
        return true
      }
      guard !history.saves.isEmpty else { return false }
      send("diff", history.json(service.store.model), history.to)
      return false
    } catch {
      send("error", Problem(error).json, nil)
      return true
    }
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
