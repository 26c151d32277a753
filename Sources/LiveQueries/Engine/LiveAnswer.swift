// The interface between the engine and the service: waiters, start tokens and answers.

import FetchModel

/// A client that waits for a diff. The engine retains it until it is answered and identifies it by
/// object identity.
public protocol LiveWaiter: AnyObject, Sendable {
  /// The fetch of a group that waits; nil for a client that waits for itself.
  var groupMember: GroupMember? { get }
}

extension LiveWaiter {
  public var groupMember: GroupMember? { nil }
}

/// A client that follows a group of fetches.
public protocol GroupWaiter: LiveWaiter {
  /// Receives the results of the group's fetches that have any. The client is then up to date with
  /// `token`, which is nil if the store could not be read.
  func receive(_ results: [GroupResult], at token: Token?)
}

/// The answer to a waiter; each waiter gets one.
public enum LiveAnswer: Sendable {
  case diff(EncodedDiff)
  /// The token cannot be continued from.
  case expired
  /// The store failed, or the fetch's entity was dropped.
  case failed(StoreError)
}

/// The token from which a client requests changes.
public enum LiveStart: Sendable, Hashable {
  case token(Token)
  /// `since=now`: the newest token when the request arrived. If that token is of an earlier epoch,
  /// the engine's current token is used.
  case arrival(Token)

  /// The token from which the diff starts.
  public var start: Token {
    switch self {
    case .token(let token), .arrival(let token): token
    }
  }
}

/// Receives the engine's answers.
public protocol LiveDelivery: Sendable {
  /// Delivers the same `answer` to each of `waiters`. Called on the engine's thread; must return
  /// quickly.
  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter])
  /// Passes the results of a group of fetches to ``GroupWaiter/receive(_:at:)``. Called on the
  /// engine's thread; must return quickly.
  func deliver(_ results: [GroupResult], at token: Token?, to waiter: any GroupWaiter)
}

extension LiveDelivery {
  /// Calls the waiter at once.
  public func deliver(_ results: [GroupResult], at token: Token?, to waiter: any GroupWaiter) {
    waiter.receive(results, at: token)
  }
}

/// Limits of the engine.
public struct LiveConfiguration: Sendable {
  /// The time for which a fetch without waiters is kept.
  public var idleTime: Duration
  /// The number of row changes that are kept per fetch for clients that return.
  public var maxLoggedChanges: Int
  /// The most memory of these changes, in bytes, about.
  public var maxLoggedBytes = 256 << 10
  /// The time limit on the engine's thread for one client's catch-up; a longer one continues on
  /// another thread.
  public var timeLimit = Duration.milliseconds(250)
  /// The approximate memory limit of all fetches together, in bytes. Beyond it, those without waiters
  /// are dropped, and then new ones get ``StoreError/overloaded``.
  public var maxBytes = Int.max
  /// How long after the end of its own wait a request may wait for a catch-up on another thread.
  public var maxDelay = Duration.seconds(10)
  /// The time limit for catching up fetches that have waiters.
  public var longTimeLimit = Duration.seconds(1)
  /// The time that the fetches of one caller may take at once on the thread that serves all callers, and
  /// twentieths of the time since then. Beyond it, and while there are other callers, another thread
  /// serves them for a minute.
  public var callerTime = Duration.milliseconds(20)

  /// Makes a live configuration.
  public init(idleTime: Duration = .seconds(60), maxLoggedChanges: Int = 64) {
    self.idleTime = idleTime
    self.maxLoggedChanges = maxLoggedChanges
  }
}

/// Counters and sizes of the engine, for metrics.
public struct LiveCounters: Sendable, Hashable {
  /// The number of distinct fetches.
  public var queries = 0
  /// The approximate memory of these fetches, in bytes.
  public var bytes = 0
  /// The number of waiting clients.
  public var waiters = 0
  /// The number of positions that the engine processed; saves committed together count once.
  public var positions = 0
  /// The number of times that a fetch was a candidate for a change, so that the store was read.
  public var considered = 0
  /// The number of times that the result of such a fetch changed.
  public var changed = 0
  /// The number of times that a fetch was looked up for a changed object whose old and new values do
  /// not satisfy its condition; the store was not read.
  public var filteredOut = 0
  /// The number of diffs. Clients with the same view and token share one.
  public var diffs = 0
  /// The number of answers to clients.
  public var delivered = 0
  /// The time that the engine's thread has worked, in nanoseconds.
  public var nanoseconds: UInt64 = 0
  /// The token up to which the engine has followed the store; nil while no client waits.
  public var current: Token?

  /// Makes counters of zero.
  public init() {}

  /// The counters of two engines together. Both follow the store up to the earlier token.
  static func + (one: Self, other: Self) -> Self {
    var sum = one
    sum.queries += other.queries
    sum.bytes += other.bytes
    sum.waiters += other.waiters
    sum.positions = max(one.positions, other.positions)
    sum.considered += other.considered
    sum.changed += other.changed
    sum.filteredOut += other.filteredOut
    sum.diffs += other.diffs
    sum.delivered += other.delivered
    sum.nanoseconds += other.nanoseconds
    sum.current = [one.current, other.current].compactMap { $0 }.min { $0.position < $1.position }
    return sum
  }
}
