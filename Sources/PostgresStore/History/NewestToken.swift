// Tokens of reads and saves, and of the monitor's reports → the newest one that this process knows.

import FetchModel
import Synchronization

/// The newest token of a database. Used from any thread.
final class NewestToken: Sendable {
  private struct State {
    /// The newest token that this process has read or written.
    var seen = Token.untracked
    /// The newest token that the monitor has reported to the store's observers; nil before the first.
    var reported: Token?

    mutating func record(_ token: Token) {
      if seen.epoch != token.epoch || seen.position < token.position { seen = token }
    }
  }

  // Protects the state. A fetch takes it three times, so nothing is computed while it is held.
  private let state = Mutex(State())

  /// Records a token that was read or written, unless a newer one is known.
  func record(_ token: Token) { state.withLock { $0.record(token) } }

  /// Records a token that the monitor has reported.
  func record(reported token: Token) { state.withLock { $0.reported = token } }

  var value: Token {
    state.withLock { state in
      if let reported = state.reported { state.record(reported) }
      return state.seen
    }
  }

  /// The newest token of this process's own reads and saves, and the newest reported one.
  var parts: (seen: Token, reported: Token?) { state.withLock { ($0.seen, $0.reported) } }

  /// True if the newest reported token is of the epoch.
  func isReported(epoch: String) -> Bool { state.withLock { $0.reported?.epoch == epoch } }
}
