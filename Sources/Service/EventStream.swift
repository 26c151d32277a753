// A fetch as server-sent events. What a stream holds is its last token and at most one event that
// is being sent: it asks the engine for the next diff only when the socket has taken the last one,
// so a slow reader costs no memory and gets one combined diff.

import FetchModel
import HTTPServer
import LiveQueries
import Synchronization

final class EventStream: ServedStream, LiveWaiter {
  private struct State {
    var output = EventOutput()
    /// The state that the client has when every event is sent; nil before the first.
    var position: Token?
  }

  let service: Service
  private let caller: CallerID
  private let plan: FetchPlan
  private let object: ObjectID?
  // Protects the state; never held while the service, the engine or the socket is called.
  private let state: Mutex<State>

  /// - Parameters:
  ///   - object: the only object that is followed; nil for the whole fetch.
  ///   - start: the token from which diffs are sent; nil sends a snapshot first.
  init(_ call: Call, _ plan: FetchPlan, object: ObjectID?, start: Token?) {
    service = call.service
    caller = call.callerID
    self.plan = plan
    self.object = object
    state = Mutex(State(position: start))
  }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func next(_ room: Int) -> StreamStep {
    let (step, position) = state.withLock { ($0.output.step(), $0.position) }
    if let step { return step }
    if let problem = service.endProblem {
      end(problem)
    } else if let position {
      // No deadline: heartbeats keep the stream alive while nothing changes.
      service.engine.follow(plan, object: object, since: .token(position), until: nil, self)
    } else {
      askForSnapshot()
    }
    return .wait
  }
}

// MARK: - What is sent

extension EventStream {
  /// Takes the engine's answer.
  func receive(_ answer: LiveAnswer) {
    if case .diff(let json, let token, false) = answer {
      return send(EventOutput.event("diff", json, token), position: token)
    }
    if let problem = service.endProblem { return end(problem) }
    switch answer {
    // The client does not know this state: the next diff begins where its last event ended.
    case .diff: send(nil, position: nil)
    case .expired: askForSnapshot()
    case .failed(let error): end(Problem(error))
    }
  }

  private func askForSnapshot() {
    service.lanes.run(for: caller) { [self] refusal in
      switch refusal {
      case .overloaded(let problem): end(problem)
      case .closed: end(service.endProblem ?? .shuttingDown)
      }
    } _: { [self] turn in
      if endIfMemoryIsExhausted() { return true }
      do throws(StoreError) {
        let isEnding = { @Sendable [self] in
          service.isStopping || withOutput { $0.isEnding }
        }
        try turn.read(service.store, unless: isEnding) { () throws(StoreError) in
          try sendSnapshot()
        }
      } catch .tooSlow {
        return false
      } catch {
        end(service.endProblem ?? Problem(error))
      }
      return true
    }
  }

  private func sendSnapshot() throws(StoreError) {
    let store = service.store
    if let object {
      let snapshot = try store.object(object, of: plan, effort: .full)
      guard let snapshot else { return end(Service.noSuchObject) }
      send(
        EventOutput.event("snapshot", snapshot.json, snapshot.token), position: snapshot.token)
    } else {
      let snapshot = try store.snapshot(of: plan, effort: .full)
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
