// The durations of a request's stages → the `Server-Timing` header.
//
// Promises: at every time one stage runs; a stage that runs several times has the sum. A request has
// timings only if the server was started with `--server-timing`.

import LiveFetchHTTPServer
import Synchronization

/// Measures the stages of one request. Stages may begin on any thread, one after the other.
final class StageTimings: Sendable {
  /// A stage, under its name in the header.
  enum Stage: String, CaseIterable, Sendable {
    case authenticate, route, authorize, cache, parse, plan
    /// Waiting for a thread, for the writer or for a change.
    case wait
    case query, respond
  }

  private struct State {
    var stage = Stage.authenticate
    var start = Deadlines.now
    /// Nanoseconds by stage.
    var durations: [Stage: UInt64] = [:]
  }

  // Protects the durations.
  private let state = Mutex(State())

  /// Ends the stage that runs and begins `stage`.
  func begin(_ stage: Stage) {
    state.withLock { Self.begin(stage, &$0) }
  }

  private static func begin(_ stage: Stage, _ state: inout State) {
    let now = Deadlines.now
    state.durations[state.stage, default: 0] &+= now &- state.start
    state.stage = stage
    state.start = now
  }

  /// The stages that have run so far, with their durations in milliseconds.
  var header: (name: String, value: String) {
    let durations = state.withLock { state in
      Self.begin(state.stage, &state)
      return state.durations
    }
    let entries = Stage.allCases.compactMap { stage in
      durations[stage].map { "\(stage.rawValue);dur=\(Double($0 / 1_000) / 1_000)" }
    }
    return ("Server-Timing", entries.joined(separator: ", "))
  }
}
