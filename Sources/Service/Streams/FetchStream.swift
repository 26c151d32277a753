// A followed fetch or object → server-sent events.
//
// Promises: the stream holds its last token and at most one event that is being sent. It requests
// the next diff from the engine only when the socket has taken the last one, so a slow reader costs no
// memory and gets one combined diff.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries
import Synchronization

final class FetchStream: ServedStream, DiffWaiter {
  private struct State {
    var output = EventOutput()
    /// The state that the client has when every event is sent; nil before the first.
    var position: Token?
    /// Those of the tokens in the next diff.
    var tags: TokenTags
  }

  let service: Service
  let callerID: CallerID
  let identity: RequestIdentity
  private let fetch: FollowedFetch
  // Protects the state; never held while the service, the engine or the socket is called.
  private let state: Mutex<State>

  /// - Parameter start: the token from which diffs are sent; nil sends a snapshot first.
  init(_ context: RequestContext, _ fetch: FollowedFetch, start: Token?) {
    let isFromNow = if case .now? = fetch.since { true } else { false }
    let output = EventOutput(id: isFromNow ? start?.tagged(fetch.tags.to) : nil)
    service = context.service
    callerID = context.callerID
    identity = RequestIdentity(context)
    self.fetch = fetch
    state = Mutex(State(output: output, position: start, tags: fetch.tags))
  }

  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result {
    state.withLock { change(&$0.output) }
  }

  func next() -> StreamStep {
    let (step, position) = state.withLock { ($0.output.step(), $0.position) }
    if let step { return step }
    if let problem = service.endProblem {
      end(problem)
    } else if let position {
      // No deadline: heartbeats keep the stream alive while nothing changes.
      service.engine.follow(
        fetch.plan, object: fetch.object, since: .token(position), until: nil, for: callerID.name,
        self)
    } else {
      querySnapshot()
    }
    return .wait
  }

  func receive(_ answer: LiveAnswer, _ responses: SharedResponses) {
    if case .diff(let diff) = answer, !diff.isEmpty {
      let json = diff.json(tags: state.withLock { $0.tags })
      return send("diff", json, position: diff.to)
    }
    if let problem = service.endProblem { return end(problem) }
    switch answer {
    // This state was not sent: the next diff begins at the client's last event.
    case .diff: wake { $0.isReading = false }
    case .expired: querySnapshot()
    case .failed(let error): end(Problem(error))
    }
  }

  private func querySnapshot() {
    let deadline = ContinuousClock.now + service.pools.timeLimit
    service.pools.query(for: callerID, until: deadline, refused: end) { [self] attempt in
      if endIfMemoryIsExhausted() { return true }
      do throws(StoreError) {
        let isCancelled = { @Sendable [self] in service.isStopping || withOutput { $0.isEnding } }
        try attempt.run(service.store, cancellation: isCancelled) { () throws(StoreError) in
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
    let (json, token): ([UInt8], Token)
    if let object = fetch.object {
      let snapshot = try service.store.object(object, of: fetch.plan, queryClass: .full)
      guard let snapshot else { return end(Service.noSuchObject) }
      (json, token) = (snapshot.json, snapshot.token)
    } else {
      let snapshot = try service.store.snapshot(of: fetch.plan, queryClass: .full)
      (json, token) = (snapshot.json(tag: fetch.tags.to), snapshot.token)
    }
    send("snapshot", json, position: token)
  }

  private func send(_ name: StaticString, _ json: [UInt8], position: Token) {
    let event = EventOutput.event(name, json, position.tagged(fetch.tags.to))
    let socket = state.withLock { state -> HTTPStream? in
      // The last event of a stream is the error that ends it.
      guard !state.output.isEnding else { return nil }
      state.output.unsent += event
      state.position = position
      state.tags.from = state.tags.to
      state.output.isReading = false
      return state.output.socket
    }
    socket?.wake()
  }
}
