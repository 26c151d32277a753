// One fetch as server-sent events: what a stream tells leaves as a store's answers do, and where there
// can be no stream long polls do the same.
//
// Each fetch has a connection of its own, though `POST /v1/live` would carry many: a fetch that is
// read slowly would hold up the others, and each that comes or goes would open the one stream anew.

import Foundation
import Synchronization

/// Follows a fetch by a stream, which it opens when it is asked and keeps open between answers.
final class EventFeed: FetchFeed {
  private let host: RemoteHost
  private let request: [JSON.Member]
  private let polls: PolledFeed

  private struct State {
    var connection: HTTPConnection?
    /// The moment that the connection goes on from.
    var token: String?
    /// Until when there is no use in streams.
    var pollsUntil: ContinuousClock.Instant?
  }
  // Guards what the one reader and the last reference's end share.
  private let state = Mutex(State())

  init(_ host: RemoteHost, request: [JSON.Member], polls: PolledFeed) {
    self.host = host
    self.request = request
    self.polls = polls
  }

  deinit { state.withLock { $0.connection }?.close() }

  func next(since token: String, hold: Double) async throws(ObjectStoreError) -> JSON {
    guard hold > 0, canStream else { return try await polls.next(since: token, hold: hold) }
    var mayReopen = true
    while true {
      let connection = connection(since: token)
      switch await connection.next() {
      case .event(let event):
        if let answer = try answer(in: event) { return answer }
      case .answered(let answer):
        drop()
        // What is JSON came from the server, which was not asked for a stream any more.
        if !(300..<400).contains(answer.status) { _ = try answer.json() }
        return try await poll(since: token, hold)
      case .heldBack:
        drop()
        return try await poll(since: token, hold)
      case .ended(let reason):
        drop()
        // Gateways end streams now and then: only who cannot open another one is offline.
        guard mayReopen, connection.hasLasted else { throw .unreachable(Outage(reason)) }
        mayReopen = false
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

  /// Does without streams for five minutes.
  private func poll(since token: String, _ hold: Double) async throws(ObjectStoreError) -> JSON {
    state.withLock { $0.pollsUntil = .now + .seconds(300) }
    return try await polls.next(since: token, hold: hold)
  }

  /// The stream that goes on from `token`.
  private func connection(since token: String) -> HTTPConnection {
    let (connection, old): (HTTPConnection, HTTPConnection?) = state.withLock { state in
      if let connection = state.connection, state.token == token { return (connection, nil) }
      let old = state.connection
      let body = JSON.object(request + [.init(name: "since", value: .string(token))])
      let connection = host.stream("/v1/fetch", body)
      (state.connection, state.token) = (connection, token)
      return (connection, old)
    }
    old?.close()
    return connection
  }

  private func drop() {
    let old = state.withLock { state in
      defer { state.connection = nil }
      return state.connection
    }
    old?.close()
  }

  /// What an event says; nil for one of a kind that this version does not know.
  private func answer(in event: ServerSentEvent) throws(ObjectStoreError) -> JSON? {
    guard ["diff", "snapshot", "error"].contains(event.name) else { return nil }
    guard let json = try? JSON(parsing: event.data) else {
      drop()
      throw .unreachable(Outage("an event that is no JSON", status: 200))
    }
    if event.name == "error" {
      drop()
      let status = json["status"]?.integer.map { Int(clamping: $0) } ?? 500
      throw RemoteAnswer(status: status, body: event.data).error
    }
    state.withLock { $0.token = (json["to"] ?? json["token"])?.string }
    return json
  }
}
