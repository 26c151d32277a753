// The history of saves as server-sent events, pulled like every stream.

import FetchModel
import HTTPServer
import Synchronization

final class ChangeStream: ServedStream, ChangeObserver {
  private struct State {
    var output = EventOutput()
    var position: Token
  }

  let service: Service
  private let limit: Int
  private let caller: CallerID
  // Guards the state; never held while the store or the socket is called.
  private let state: Mutex<State>

  init(service: Service, caller: CallerID, limit: Int, start: Token) {
    self.service = service
    self.limit = limit
    self.caller = caller
    state = Mutex(State(position: start))
  }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func attach() { service.feed.add(self) }
  func detach() { service.feed.remove(self) }

  func next(_ room: Int) -> StreamStep {
    if let step = withOutput({ $0.step() }) { return step }
    // What came while the last event was sent.
    let look = { @Sendable [self] in
      withOutput { $0.isAsking = false }
      _ = read()
    }
    service.lanes.gather(for: caller) { [self] refusal in
      switch refusal {
      case .overloaded(let problem): end(problem)
      case .closed: look()
      }
    } _: { [self] in
      if !endIfMemoryIsExhausted() { look() }
    }
    return .wait
  }

  func look() -> Bool { read() }

  /// Reads on where nothing waits to be sent; true when the stream is over.
  private func read() -> Bool {
    let start = state.withLock { state in
      let isFree = state.output.outbox.isEmpty && !state.output.isEnding
      return isFree ? state.position : nil
    }
    guard let start else { return withOutput { $0.isEnding } }
    if let problem = service.endProblem {
      end(problem)
      return true
    }
    do throws(StoreError) {
      guard let history = try service.store.changes(after: start, limit: limit) else {
        end(.tokenExpired)
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
      end(service.endProblem ?? Problem(error))
      return true
    }
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
