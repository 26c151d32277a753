// One fetch as server-sent events: the events of a stream leave as a store's answers do, and where no
// stream gets through, long polls replace it.
//
// Each fetch has a connection of its own, though `POST /v1/live` would carry many: a fetch that is
// read slowly would hold up the others, and each that is added or removed would restart the one stream.

import Foundation
import Synchronization

/// Follows a fetch by a stream, which is opened by the first call and kept open between calls.
final class EventFeed: FetchFeed {
  private let server: RemoteServer
  private let request: [JSON.Member]
  private let polls: PolledFeed

  private struct State {
    var stream: EventStream?
    /// The token that the stream continues from.
    var token: String?
    /// The credential that the stream was opened with.
    var credential: String?
    /// Until then streams are not tried again.
    var pollsUntil: ContinuousClock.Instant?
  }
  // Protects the state, which one reader at a time uses.
  private let state = Mutex(State())

  init(_ server: RemoteServer, request: [JSON.Member], polls: PolledFeed) {
    self.server = server
    self.request = request
    self.polls = polls
  }

  func next(since token: String, hold: Double) async throws(ObjectStoreError) -> JSON {
    guard hold > 0, canStream else { return try await polls.next(since: token, hold: hold) }
    var mayReopen = true
    var mayRenew = true
    while true {
      let stream = try await stream(since: token)
      switch await stream.next() {
      case .event(let event):
        if mayRenew, event.endsCredential {
          mayRenew = false
          if try await renewCredential() { continue }
        }
        if let answer = try answer(in: event) { return answer }
      case .response(let response):
        if mayRenew, response.status == 401 {
          mayRenew = false
          if try await renewCredential() { continue }
        }
        drop()
        // The server sends JSON if something in between did not pass on the `Accept` header.
        if !(300..<400).contains(response.status) { _ = try response.json() }
        return try await poll(since: token, hold)
      case .buffered:
        drop()
        return try await poll(since: token, hold)
      case .ended(let reason):
        drop()
        // Gateways end streams now and then. Only if another one cannot be opened the server is away.
        guard mayReopen, stream.mayReopen else { throw .unreachable(ServiceUnavailable(reason)) }
        mayReopen = stream.hasLasted
      case .cancelled:
        drop()
        throw .cancelled
      }
    }
  }

  private var canStream: Bool {
    state.withLock { state in
      guard let end = state.pollsUntil else { return true }
      if end <= .now { state.pollsUntil = nil }
      return end <= .now
    }
  }

  /// Polls, and does not try a stream again for five minutes.
  private func poll(since token: String, _ hold: Double) async throws(ObjectStoreError) -> JSON {
    state.withLock { $0.pollsUntil = .now + .seconds(300) }
    return try await polls.next(since: token, hold: hold)
  }

  /// The stream that continues from `token`.
  private func stream(since token: String) async throws(ObjectStoreError) -> EventStream {
    let open = state.withLock { $0.token == token ? $0.stream : nil }
    if let open { return open }
    let credential = try await server.token()
    let body = JSON.object(request + [.init(name: "since", value: .string(token))])
    let stream = server.eventStream("/v1/fetch", body, token: credential)
    state.withLock { state in
      (state.stream, state.token, state.credential) = (stream, token, credential)
    }
    return stream
  }

  /// Closes the stream, whose credential the server refuses.
  ///
  /// - Returns: True if there is a newer credential to open another stream with.
  private func renewCredential() async throws(ObjectStoreError) -> Bool {
    drop()
    let refused = state.withLock { $0.credential }
    return try await server.token(replacing: refused) != refused
  }

  private func drop() { state.withLock { $0.stream = nil } }

  /// The answer that an event holds; nil for an event of a kind that this version does not know.
  private func answer(in event: ServerSentEvent) throws(ObjectStoreError) -> JSON? {
    guard ["diff", "snapshot", "error"].contains(event.name) else { return nil }
    guard let json = try? JSON(result: event.data) else {
      drop()
      throw .unreachable(ServiceUnavailable("an event that is not JSON", status: 200))
    }
    if event.name == "error" {
      drop()
      let status = json["status"]?.integer.map { Int(clamping: $0) } ?? 500
      throw RemoteResponse(status: status, body: event.data).error
    }
    state.withLock { $0.token = (json["to"] ?? json["token"])?.string }
    return json
  }
}

extension ServerSentEvent {
  /// True for the event that ends a stream whose credential has ended.
  fileprivate var endsCredential: Bool {
    name == "error" && (try? JSON(result: data))?["status"]?.integer == 401
  }
}
