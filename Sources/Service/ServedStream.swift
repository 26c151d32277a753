// What all streams of server-sent events have in common: the socket with the events that wait for
// it, heartbeats, and the event that ends the stream.

import FetchModel
import HTTPServer
import LiveQueries

/// Where a stream's events leave it.
struct EventOutput {
  static let headers: [(name: String, value: String)] = [
    ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
  ]

  var socket: HTTPStream?
  /// Events to send, complete.
  var outbox: [UInt8] = Array("retry: 2000\n\n".utf8)
  /// Whether what is to be sent next is on its way.
  var isAsking = false
  var isEnding = false
  var heartbeat: Deadline?

  /// What the socket gets now; nil where the next events have to be asked for: from now on they
  /// are on their way.
  ///
  /// - Parameter isOver: whether nothing more can come.
  mutating func step(isOver: Bool = false) -> StreamStep? {
    if !outbox.isEmpty {
      defer { outbox = [] }
      return .bytes(outbox)
    }
    if isEnding || isOver { return .end }
    if isAsking { return .wait }
    isAsking = true
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
    event.append(contentsOf: json)
    event.append(json: "\n\n")
    return event
  }
}

/// A stream of a fetch, of many, or of the history. It decides what is asked for and sent.
protocol ServedStream: StreamSource, CredentialHolder {
  var service: Service { get }
  /// Under the lock of the stream's state, so `change` may not call the service, the engine or the
  /// socket.
  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result
  /// Subscribes to changes, where they are not asked for each time.
  func attach()
  /// Unsubscribes from the service.
  func detach()
}

extension ServedStream {
  /// Asks the store what may take long, which ends soon after the stream or once the server stops.
  func whileOpen<Answer>(
    _ ask: () throws(StoreError) -> Answer
  ) throws(StoreError) -> Answer {
    try service.store.unless(
      { [self] in service.isStopping || withOutput { $0.isEnding } }, until: nil, ask)
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

  /// Has the socket ask again after a change.
  func wake(_ change: (inout EventOutput) -> Void = { _ in }) {
    let socket = withOutput { output in
      change(&output)
      return output.socket
    }
    socket?.wake()
  }

  /// Says why, and ends.
  func end(_ problem: Problem) {
    wake { output in
      guard !output.isEnding else { return }
      output.outbox += EventOutput.event("error", problem.json, nil)
      output.isEnding = true
    }
  }

  func scheduleHeartbeat() {
    let deadline = service.deadlines.schedule(after: service.configuration.heartbeat) {
      [weak self] in self?.beat()
    }
    withOutput { $0.heartbeat = deadline }
  }

  private func beat() {
    let socket = withOutput { output in
      if !output.isEnding, output.outbox.isEmpty { output.outbox = Array(":\n\n".utf8) }
      return output.socket
    }
    guard let socket else { return }
    socket.wake()
    scheduleHeartbeat()
  }
}

extension ServedStream where Self: LiveWaiter {
  func detach() { service.engine.cancel(self) }
}
