// A client that follows a fetch during faults and checks every diff.

import FetchModel
import Foundation
import Synchronization
import TestSupport

@testable import LiveFetchCommand

/// A client that follows a fetch permanently. When its connection ends, it repeats the request with
/// `since` at the server's current address. It records inconsistent diffs and refused requests.
final class Follower: Sendable {
  struct State {
    var held: ResultSnapshot?
    var faults: [String] = []
    /// Diffs received as the first response on a connection: changes from before it.
    var resumed = 0
    var isOver = false
  }

  let fetch: String
  let state = Mutex(State())
  private let server: FaultServer

  init(_ server: FaultServer, _ fetch: String) {
    self.server = server
    self.fetch = fetch
    Thread.detachNewThread { [self] in run() }
  }

  func end() { state.withLock { $0.isOver = true } }

  var faults: [String] { state.withLock { $0.faults } }
  private var isOver: Bool { state.withLock { $0.isOver } }

  private func run() {
    while !isOver {
      do {
        try follow(server.client)
      } catch {
        usleep(20_000)
      }
    }
  }

  private func follow(_ client: FaultClient) throws {
    var isFirst = true
    while !isOver {
      guard let token = state.withLock({ $0.held?.token }) else {
        let answer = try client.get(fetch)
        state.withLock { $0.held = ResultSnapshot(json: answer.json) }
        isFirst = false
        continue
      }
      let answer = try client.get("\(fetch)&since=\(token)&wait=5")
      state.withLock { Self.take(answer, &$0, isFirst: isFirst) }
      isFirst = false
      if answer.status != 200 { usleep(20_000) }
    }
  }

  private static func take(
    _ answer: (status: Int, json: JSON), _ state: inout State, isFirst: Bool
  ) {
    if answer.status == 503 { return }
    guard answer.status == 200, let diff = Diff(json: answer.json) else {
      state.faults.append("\(answer)")
      state.held = nil
      return
    }
    do {
      try state.held?.apply(diff)
      if isFirst { state.resumed += 1 }
      if let held = state.held, held.summary.digest != held.digest {
        state.faults.append(
          "digest \(held.digest); the server sent \(held.summary.digest ?? "none")")
      }
    } catch {
      state.faults.append("\(error)")
      state.held = nil
    }
  }

  /// True if the client's result becomes equal to a fresh snapshot while there are no saves.
  func becomesConsistent() throws -> Bool {
    let client = server.client
    return try eventually(within: .seconds(120)) {
      let answer = try client.get(fetch)
      guard let fresh = ResultSnapshot(json: answer.json) else { return false }
      return state.withLock { state in
        state.held?.sections == fresh.sections && state.held?.summary == fresh.summary
      }
    }
  }
}
