// One request for server-sent events → its events, each when the reader requests it; or another response in their
// place. Nothing is read ahead but one piece of the body: the server then notices that its reader is slow,
// and combines what happens meanwhile into one diff.

import DequeModule
import HTTPClient
import Synchronization

/// A stream of server-sent events. Its connection closes with the last reference.
final class EventStream: Sendable {
  enum Outcome: Sendable {
    case event(ServerSentEvent)
    /// The response is not a stream.
    case response(RemoteResponse)
    /// No byte of a stream arrived: a gateway waits for its end.
    case heldBack
    /// The connection could not be made, or ended.
    case ended(String)
    case cancelled
  }

  /// A server begins a stream at once and sends a comment every 15 s.
  static let timeLimits = TransferTimeLimits(connect: 10, response: 10, idle: 45)
  /// Bytes that are read of a response in place of a stream.
  private static let maxPage = 1 << 20

  private struct State {
    var parser = EventParser()
    var events: Deque<ServerSentEvent> = []
    var firstByte: ContinuousClock.Instant?
    var hasEvent = false
  }

  private let transfer: Transfer
  // Protects what has arrived. One task at a time reads, so it is never contended.
  private let state = Mutex(State())

  init(_ request: ClientRequest) { transfer = Transfer(request) }

  deinit { transfer.cancel() }

  /// True if it has carried an event or lasted for a second: then opening another one makes sense.
  var hasLasted: Bool {
    state.withLock { state in
      state.hasEvent || state.firstByte.map { $0.duration(to: .now) >= .seconds(1) } ?? false
    }
  }

  /// Returns what comes next. One task at a time; cancelling it closes the connection.
  func next() async -> Outcome {
    while true {
      if let event = state.withLock({ $0.events.popFirst() }) { return .event(event) }
      switch await transfer.next() {
      case .head(let head):
        if !head.isEventStream { return await page(head) }
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

  /// The rest of a response that is not a stream.
  private func page(_ head: ResponseHead) async -> Outcome {
    var body: [UInt8] = []
    while body.count < Self.maxPage {
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
    case .timedOut(.response): .heldBack
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
