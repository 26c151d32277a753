// One request for server-sent events → its events, one per call, or the response if it is no stream.
// Reads at most one piece of the body ahead: a slow reader thus stops the server's sending, and the
// server combines later changes into one diff.

import DequeModule
import HTTPClient
import Synchronization

/// A stream of server-sent events. Its connection closes with the last reference.
final class EventStream: Sendable {
  enum Outcome: Sendable {
    case event(ServerSentEvent)
    /// The response is not a stream.
    case response(RemoteResponse)
    /// No byte arrived within the time limit: a gateway buffers the response.
    case buffered
    /// The connection could not be made, or ended.
    case ended(String)
    case cancelled
  }

  /// A server begins a stream at once and sends a comment every 15 s.
  static let timeLimits = TransferTimeLimits(connect: 10, response: 10, idle: 45)
  /// The maximum number of bytes of a response that is no stream; the rest is cut off.
  private static let maxBodyBytes = 1 << 20

  private struct State {
    var parser = EventParser()
    var events: Deque<ServerSentEvent> = []
    var firstByte: ContinuousClock.Instant?
    var hasEvent = false
  }

  private let transfer: Transfer
  // Protects the parser and its events, for `Sendable`. Only the reading task and `hasLasted` use them.
  private let state = Mutex(State())

  init(_ request: ClientRequest) { transfer = Transfer(request) }

  deinit { transfer.cancel() }

  /// True if it has delivered an event or lasted for a second, so that a new connection may succeed.
  var mayReopen: Bool { hasLasted || state.withLock { $0.hasEvent } }

  /// True if it has lasted for a second.
  var hasLasted: Bool {
    state.withLock { $0.firstByte }.map { $0.duration(to: .now) >= .seconds(1) } ?? false
  }

  /// Waits for the next event or the end. One task at a time may call it; cancelling the task closes
  /// the connection.
  func next() async -> Outcome {
    while true {
      if let event = state.withLock({ $0.events.popFirst() }) { return .event(event) }
      switch await transfer.next() {
      case .head(let head):
        if !head.isEventStream { return await readBody(after: head) }
      case .body(let bytes): read(bytes)
      case .end: return .ended("the stream ended")
      case .failed(let error): return Self.outcome(error, transfer.request.limits)
      }
    }
  }

  private func read(_ bytes: [UInt8]) {
    state.withLock { state in
      state.firstByte = state.firstByte ?? .now
      state.events += state.parser.read(bytes)
      state.hasEvent = state.hasEvent || !state.events.isEmpty
    }
  }

  /// Reads the rest of a response that is no stream.
  private func readBody(after head: ResponseHead) async -> Outcome {
    var body: [UInt8] = []
    while body.count < Self.maxBodyBytes {
      switch await transfer.next() {
      case .head: break
      case .body(let piece): body += piece
      case .end: return .response(RemoteResponse(head, body: body))
      case .failed(let error): return Self.outcome(error, transfer.request.limits)
      }
    }
    transfer.cancel()
    return .response(RemoteResponse(head, body: body))
  }

  private static func outcome(_ error: TransferError, _ limits: TransferTimeLimits) -> Outcome {
    switch error {
    case .cancelled: .cancelled
    case .timedOut(.response): .buffered
    default: .ended(error.reason(within: limits))
    }
  }
}

extension ResponseHead {
  /// True if the body is server-sent events that this version can read.
  fileprivate var isEventStream: Bool {
    status == 200
      && headers["content-type"]?.lowercased().hasPrefix("text/event-stream") == true
      && headers["content-encoding"] == nil
  }
}
