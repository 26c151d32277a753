// The history of saves → server-sent events, each read when the socket has taken the one before.

import FetchModel
import LiveFetchHTTPServer
import Synchronization

final class ChangeStream: ServedStream, HistoryObserver {
  private struct State {
    var output = EventOutput()
    var position: Token
  }

  let service: Service
  let callerID: CallerID
  let identity: RequestIdentity
  private let query: ChangesQuery
  // Protects the state; never held while the store or the socket is called.
  private let state: Mutex<State>

  init(_ context: RequestContext, _ query: ChangesQuery) {
    service = context.service
    callerID = context.callerID
    identity = RequestIdentity(context)
    self.query = query
    let start = query.start ?? context.service.store.newestToken.tagged(query.tokenTag)
    state = Mutex(State(output: EventOutput(id: query.isFromNow ? start : nil), position: start))
  }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func attach() { service.history.add(self) }
  func detach() { service.history.remove(self) }

  func next() -> StreamStep {
    if let step = withOutput({ $0.step() }) { return step }
    readLong { [self] in
      // Read what was saved while the last event was sent.
      withOutput { $0.isReading = false }
      _ = historyDidChange()
    }
    return .wait
  }

  /// Reads the next saves unless an event waits to be sent; true when the stream is over.
  func historyDidChange() -> Bool {
    let start = state.withLock { state in
      let isFree = state.output.unsent.isEmpty && !state.output.isEnding
      return isFree ? state.position : nil
    }
    guard let start else { return withOutput { $0.isEnding } }
    do throws(Problem) {
      if let problem = service.endProblem { throw problem }
      guard let (json, token) = try read(after: start) else { return false }
      send(json, from: start, to: token)
      return false
    } catch {
      end(error)
      return true
    }
  }

  /// Returns nil if there are no more saves.
  private func read(after start: Token) throws(Problem) -> ([UInt8], Token)? {
    let history: ChangeHistory?
    do throws(StoreError) {
      history = try service.store.changes(after: start.tagged(nil), limit: query.limit)?
        .tagged(query.tokenTag, from: start)
    } catch {
      throw service.endProblem ?? Problem(error)
    }
    guard let history else { throw .tokenExpired }
    guard !history.saves.isEmpty else {
      // Saves that changed nothing are read once.
      state.withLock { if $0.position == start { $0.position = history.to } }
      return nil
    }
    return (try service.json(of: history, query), history.to)
  }

  /// Sends the saves after `start`, unless another thread has sent them meanwhile.
  private func send(_ diff: [UInt8], from start: Token, to token: Token) {
    let event = EventOutput.event("diff", diff, token)
    let socket = state.withLock { state -> HTTPStream? in
      guard state.output.unsent.isEmpty, state.position == start else { return nil }
      state.output.unsent = event
      state.position = token
      return state.output.socket
    }
    socket?.wake()
  }
}
