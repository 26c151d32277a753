// What every stream of server-sent events is: the socket with what waits for it, heartbeats, and
// the way from a service that has ended into the one that follows.

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
protocol ServedStream: StreamSource {
  /// The one that it is served by now.
  var service: Service { get }
  /// Under the lock of the stream's state, so `change` may not call the service, the engine or the
  /// socket.
  func withOutput<Result: Sendable>(_ change: (inout EventOutput) -> Result) -> Result
  /// Has `service` tell of what comes, where that is not asked for each time.
  func attach(to service: Service)
  /// Has `service` forget the stream.
  func detach(from service: Service)
}

extension ServedStream {
  /// Asks the store what may take long, which ends soon after the stream or once the server stops.
  func whileOpen<Answer>(
    _ service: Service, _ ask: () throws(StoreError) -> Answer
  ) throws(StoreError) -> Answer {
    try service.store.unless(
      { [self] in service.isStopping || withOutput { $0.isEnding } }, ask)
  }

  func attach(to service: Service) {}

  func opened(_ stream: HTTPStream) {
    let service = service
    service.configuration.metrics.openStreams.add()
    withOutput { $0.socket = stream }
    attach(to: service)
    scheduleHeartbeat()
  }

  func closed() {
    let service = service
    service.configuration.metrics.openStreams.add(-1)
    let heartbeat = withOutput { output in
      output.isEnding = true
      output.socket = nil
      defer { output.heartbeat = nil }
      return output.heartbeat
    }
    _ = heartbeat?.cancel()
    detach(from: service)
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
    let service = service
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

  /// Goes on in the service that follows `old`, which has ended, or ends with it.
  func leave(_ old: Service, goOn: @escaping @Sendable (Service) -> Void) {
    if old.isDraining, !old.isRetired { return end(.shuttingDown) }
    old.whenSucceeded { [self] outcome in
      switch outcome {
      case .success(let service): goOn(service)
      case .failure(let problem): end(problem)
      }
    }
  }
}

extension ServedStream where Self: LiveWaiter {
  func detach(from service: Service) { service.engine.cancel(self) }
}
