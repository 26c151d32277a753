// The common part of all streams of server-sent events: the socket with the events that wait for it,
// heartbeats, and the event that ends the stream.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries

/// The output of a stream.
struct EventOutput {
  static let headers: [(name: String, value: String)] = [
    ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
  ]

  var socket: HTTPStream?
  /// Complete events to send.
  var unsent: [UInt8]
  /// True while the next events are being read.
  var isReading = false
  var isEnding = false
  var heartbeat: Deadline?

  /// - Parameter id: the token at which the stream begins, if its client does not have it: a client that
  ///   reconnects before the first event resumes there.
  init(id: Token? = nil) {
    unsent = Array("retry: 2000\n\(id.map { "id: \($0)\n" } ?? "")\n".utf8)
  }

  /// Returns the next step of the stream. Returns nil and sets `isReading` if the caller must read the next
  /// events.
  ///
  /// - Parameter isFinished: true if nothing more can come.
  mutating func step(isFinished: Bool = false) -> StreamStep? {
    if !unsent.isEmpty {
      defer { unsent = [] }
      return .bytes(unsent)
    }
    if isEnding || isFinished { return .end }
    if isReading { return .wait }
    isReading = true
    return nil
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
    // A stored JSON value may contain line breaks, which would end the line of the event. In JSON
    // they are white space.
    if json.contains(0x0A) || json.contains(0x0D) {
      event.append(contentsOf: json.lazy.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
    } else {
      event.append(contentsOf: json)
    }
    event.append(json: "\n\n")
    return event
  }
}

/// A stream of a fetch, of many, or of the history. The conforming type decides what is read and sent.
protocol ServedStream: StreamSource, CredentialHolder {
  var service: Service { get }
  /// Identifies the caller in fair queues.
  var callerID: CallerID { get }
  /// Identifies the request in the log.
  var identity: RequestIdentity { get }
  /// Runs under the lock of the stream's state, so `change` must not call the service, the engine or
  /// the socket.
  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result
  /// Subscribes to changes. Does nothing by default.
  func attach()
  /// Unsubscribes from the service.
  func detach()
}

extension ServedStream {
  /// Runs `body`. Cancels its queries when the stream ends or the server stops.
  func withCancellation<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try service.store.withCancellation(
      { [self] in service.isStopping || withOutput { $0.isEnding } }, until: nil, body)
  }

  /// Reads events in the pool of long reads. Ends the stream instead if the pool refuses it or there is no
  /// memory for another event.
  func readLong(_ read: @escaping @Sendable () -> Void) {
    service.pools.readLong(for: callerID, refused: end) { [self] in
      if !endIfMemoryIsExhausted() { read() }
    }
  }

  /// Ends the stream if there is no memory for another event, and returns true then.
  func endIfMemoryIsExhausted() -> Bool {
    guard withOutput({ $0.socket })?.isMemoryExhausted == true else { return false }
    end(.memoryExhausted)
    return true
  }

  func attach() {}

  func opened(_ stream: HTTPStream) {
    service.configuration.metrics.openStreams.add()
    withOutput { $0.socket = stream }
    attach()
    scheduleHeartbeat()
  }

  func closed() {
    service.configuration.metrics.openStreams.add(-1)
    let heartbeat = withOutput { output in
      output.isEnding = true
      output.socket = nil
      defer { output.heartbeat = nil }
      return output.heartbeat
    }
    _ = heartbeat?.cancel()
    detach()
  }

  /// Wakes the socket after a change, so that it requests the next step. Returns false if it is closed.
  @discardableResult
  func wake(_ change: (inout EventOutput) -> Void = { _ in }) -> Bool {
    let socket = withOutput { output in
      change(&output)
      return output.socket
    }
    socket?.wake()
    return socket != nil
  }

  /// Logs the problem if the server is to blame. Returns it as it is sent.
  func logged(_ problem: Problem) -> Problem {
    service.checkReadiness(ifStoreFailed: problem)
    return problem.logged(for: identity, service.configuration.errorLogger)
  }

  /// Sends the problem and ends the stream.
  func end(_ problem: Problem) {
    let problem = logged(problem)
    wake { output in
      guard !output.isEnding else { return }
      output.unsent += EventOutput.event("error", problem.json, nil)
      output.isEnding = true
    }
  }

  /// Ends the stream because the pool has refused a query.
  func end(_ refusal: RequestPools.Refusal) {
    switch refusal {
    case .overloaded(let problem): end(problem)
    case .closed: end(service.endProblem ?? .shuttingDown)
    }
  }

  private func scheduleHeartbeat() {
    let deadline = service.deadlines.schedule(after: service.configuration.heartbeat) {
      [weak self] in self?.sendHeartbeat()
    }
    withOutput { $0.heartbeat = deadline }
  }

  private func sendHeartbeat() {
    let isOpen = wake { output in
      if !output.isEnding, output.unsent.isEmpty { output.unsent = Array(":\n\n".utf8) }
    }
    if isOpen { scheduleHeartbeat() }
  }
}

extension ServedStream where Self: LiveWaiter {
  func detach() { service.engine.cancel(self) }
}
