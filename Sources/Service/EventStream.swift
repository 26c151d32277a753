// A fetch as server-sent events. What a stream holds is its last token and at most one event that
// is being sent: it asks the engine for the next diff only when the socket has taken the last one,
// so a slow reader costs no memory and gets one combined diff.

import FetchModel
import HTTPServer
import LiveQueries
import Synchronization

final class EventStream: ServedStream, LiveWaiter {
  /// What is followed, in a service that knows it.
  struct Seat {
    let service: Service
    let plan: FetchPlan
    let object: ObjectID?
  }

  private struct State {
    var seat: Seat
    var output = EventOutput()
    /// The moment that the client will have when everything is sent; nil before the first.
    var position: Token?
  }

  private let request: HTTPRequest
  // Guards the state; never held while the service, the engine or the socket is called.
  private let state: Mutex<State>

  /// - Parameter start: from when diffs are sent; nil has a snapshot sent first.
  init(_ request: HTTPRequest, _ seat: Seat, start: Token?) {
    self.request = request
    var state = State(seat: seat)
    state.position = start
    self.state = Mutex(state)
  }

  private var seat: Seat { state.withLock { $0.seat } }
  var service: Service { seat.service }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func next(_ room: Int) -> StreamStep {
    let (step, seat, position) = state.withLock { ($0.output.step(), $0.seat, $0.position) }
    if let step { return step }
    switch position {
    case _ where seat.service.isDraining: leave(seat)
    case nil: askForSnapshot(seat)
    case let start?:
      // No deadline: heartbeats keep the stream alive while nothing changes.
      seat.service.engine
        .follow(seat.plan, object: seat.object, since: .token(start), until: nil, self)
    }
    return .wait
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
      send(EventOutput.event("diff", json, token), position: token)
    case .diff(_, _, true):
      // The client was not told of this moment: the next diff begins where its last event ended.
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
        try whileOpen(seat.service) { () throws(StoreError) in try sendSnapshot(seat) }
      } catch {
        let isOver = seat.service.isDraining || seat.service.isOver(after: error)
        isOver ? leave(seat) : end(Problem(error))
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
      send(
        EventOutput.event("snapshot", snapshot.json, snapshot.token), position: snapshot.token)
    } else {
      let snapshot = try store.snapshot(of: seat.plan, effort: .full)
      send(
        EventOutput.event("snapshot", snapshot.json, snapshot.token), position: snapshot.token)
    }
  }

  private func send(_ event: [UInt8]?, position: Token?) {
    let socket = state.withLock { state in
      if let event { state.output.outbox += event }
      state.position = position ?? state.position
      state.output.isAsking = false
      return state.output.socket
    }
    socket?.wake()
  }
}

// MARK: - Another service

extension EventStream {
  private func leave(_ old: Seat) {
    leave(old.service) { [self] service in goOn(in: service, after: old) }
  }

  private func goOn(in service: Service, after old: Seat) {
    do throws(Problem) {
      let requested = try service.requested(request)
      try service.checkObservable(requested.fetch.plan)
      let seat = Seat(service: service, plan: requested.fetch.plan, object: requested.object)
      guard (seat.object == nil) == (old.object == nil) else { throw Service.noSuchObject }
      let isOpen = state.withLock { state in
        state.seat = seat
        return !state.output.isEnding
      }
      if isOpen { scheduleHeartbeat() }
      send(nil, position: nil)
    } catch {
      end(old.service.refusalReason(of: old.plan))
    }
  }
}
