// Ends waiting requests and streams whose credential has expired or was revoked.

import FetchModel
import Synchronization

/// A waiting request or an open stream, which ends with its credential.
protocol CredentialHolder: AnyObject, Sendable {
  /// Ends the response with `problem`.
  func end(_ problem: Problem)
}

/// The waiting requests and the streams of a service.
final class CredentialWatch: Sendable {
  private struct Entry {
    let caller: Caller
    weak var holder: (any CredentialHolder)?
  }

  // Protects the entries; not held while `end(_:)` is called.
  private let entries = Mutex<[Entry]>([])

  /// Watches `holder` for as long as it exists. O(1).
  func add(_ holder: any CredentialHolder, _ caller: Caller) {
    // The server's own token never ends.
    guard caller.kind != .serverToken else { return }
    entries.withLock { $0.append(Entry(caller: caller, holder: holder)) }
  }

  /// Ends every response for whose caller `isCurrent` is false. O(entries).
  func sweep(_ isCurrent: (Caller) -> Bool) {
    let ended = entries.withLock { entries in
      // `isCurrent` depends on the time, so each entry is judged once.
      let firstEnded = entries.partition { $0.holder == nil || !isCurrent($0.caller) }
      defer { entries.removeSubrange(firstEnded...) }
      return entries[firstEnded...].compactMap(\.holder)
    }
    for holder in ended { holder.end(.unauthorized) }
  }
}
