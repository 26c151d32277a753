// The engine's words to the service: who waits, from when, and what they are told.

import FetchModel

/// A client that waits for a diff. The engine keeps it until it has an answer, and tells it apart
/// from others by its identity.
public protocol LiveWaiter: AnyObject, Sendable {}

/// What a waiting client is told, once.
public enum LiveAnswer: Sendable {
  /// A diff's JSON and the moment it leads to. `isEmpty` where the wait ended without a change.
  case diff(json: [UInt8], to: Token, isEmpty: Bool)
  /// The token cannot be continued from.
  case expired
  /// The store failed, or the fetch's entity is gone.
  case failed(StoreError)
}

/// From when a client wants to know.
public enum LiveStart: Sendable, Hashable {
  case token(Token)
  /// The moment at which somebody asked, whose newest token was this; the engine's own where that
  /// is of a history that is over.
  case arrival(Token)

  /// The moment that was newest for whoever asked.
  public var moment: Token {
    switch self {
    case .token(let token), .arrival(let token): token
    }
  }
}

/// Takes the engine's answers.
public protocol LiveDelivery: Sendable {
  /// Tells each of `waiters` the same `answer`. Called on the engine's thread: hand on, return.
  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter])
  /// Tells a client of many fetches what became of them: with it the client has everything up to
  /// `token`, nil where the store could not be read yet. Called on the engine's thread as well.
  func deliver(_ results: [GroupResult], at token: Token?, to waiter: any LiveWaiter)
}

extension LiveDelivery {
  /// For those that never follow many fetches at once.
  public func deliver(_ results: [GroupResult], at token: Token?, to waiter: any LiveWaiter) {}
}

/// How much the engine keeps.
public struct LiveConfiguration: Sendable {
  /// How long a fetch that nobody waits for is kept.
  public var idleTime: Duration
  /// How many row changes a fetch remembers for clients that come back.
  public var maxLoggedChanges: Int
  /// How long everyone may wait for what one client missed; beyond that it is found out apart.
  public var patience = Duration.milliseconds(250)
  /// The same for what was done to a fetch while clients wait for it, and for fetches followed
  /// together, whose answer has to be of one moment.
  public var longPatience = Duration.seconds(1)

  public init(idleTime: Duration = .seconds(60), maxLoggedChanges: Int = 64) {
    self.idleTime = idleTime
    self.maxLoggedChanges = maxLoggedChanges
  }
}

/// What the engine has done so far and holds now, for metrics.
public struct LiveCounters: Sendable, Hashable {
  /// Distinct fetches kept.
  public var queries = 0
  public var waiters = 0
  /// Moments of the store that the engine went through; saves committed together are one.
  public var moments = 0
  /// Fetches that a moment was found to be able to change, so that the store was asked, and those
  /// of them that it did change.
  public var considered = 0
  public var changed = 0
  /// Fetches that were looked up for a touched object, but whose condition holds for it neither
  /// before nor after; the store was not asked for them.
  public var settled = 0
  /// Diffs made, and clients that they were given to.
  public var diffs = 0
  public var delivered = 0

  public init() {}
}
