// The history of saves as server-sent events, pulled like every stream.

import FetchModel
import HTTPServer
import Synchronization

final class ChangeStream: ServedStream, ChangeObserver {
  private struct State {
    var service: Service
    /// Why its token cannot be continued from; nil: as for any other.
    var reason: Problem?
    var output = EventOutput()
    var position: Token
    var isLeaving = false
  }

  private let limit: Int
  // Guards the state; never held while the store or the socket is called.
  private let state: Mutex<State>

  init(service: Service, limit: Int, start: Token) {
    self.limit = limit
    state = Mutex(State(service: service, position: start))
  }

  var service: Service { state.withLock { $0.service } }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func attach(to service: Service) { service.feed.add(self) }
  func detach(from service: Service) { service.feed.remove(self) }

  func next(_ room: Int) -> StreamStep {
    if let step = withOutput({ $0.step() }) { return step }
    // What came while the last event was sent.
    let look = { @Sendable [self] in
      withOutput { $0.isAsking = false }
      _ = read()
    }
    if !service.slowLane.run(look) { look() }
    return .wait
  }

  func look() -> Bool { read() }

  /// Reads on where nothing waits to be sent; true when the stream is over.
  private func read() -> Bool {
    let (start, service, reason) = state.withLock { state in
      let isFree = state.output.outbox.isEmpty && !state.output.isEnding
      return (isFree ? state.position : nil, state.service, state.reason)
    }
    guard let start else { return withOutput { $0.isEnding } }
    guard !service.isDraining else {
      leave(service)
      return true
    }
    do throws(StoreError) {
      guard let history = try service.store.changes(after: start, limit: limit) else {
        end(reason ?? .tokenExpired)
        return true
      }
      guard !history.saves.isEmpty else { return false }
      let json = history.json(service.store.model)
      let limit = service.configuration.maxAnswerBytes
      guard json.count <= limit else {
        end(.tooManyChanges(limit))
        return true
      }
      send(json, history.to)
      return false
    } catch {
      service.isOver(after: error) ? leave(service) : end(Problem(error))
      return true
    }
  }

  private func leave(_ old: Service) {
    let isFirst = state.withLock { state in
      defer { state.isLeaving = true }
      return !state.isLeaving
    }
    guard isFirst else { return }
    leave(old) { [self] service in goOn(in: service, after: old) }
  }

  private func goOn(in service: Service, after old: Service) {
    let reason = old.changed.withLock { $0.first }.map(old.schemaChanged)
    let isOpen = state.withLock { state in
      state.service = service
      state.reason = reason
      state.isLeaving = false
      return !state.output.isEnding
    }
    guard isOpen else { return }
    attach(to: service)
    scheduleHeartbeat()
    wake()
  }

  private func send(_ diff: [UInt8], _ token: Token) {
    let event = EventOutput.event("diff", diff, token)
    let socket = state.withLock { state -> HTTPStream? in
      guard state.output.outbox.isEmpty, token != state.position else { return nil }
      state.output.outbox = event
      state.position = token
      return state.output.socket
    }
    socket?.wake()
  }
}
