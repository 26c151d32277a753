// Callers whose time on this thread is used up: their fetches are suspended, and their requests leave for
// the thread of slow callers.

import FetchModel

extension LiveQueries {
  /// The time that fetches of `callers` may still use on this thread; nil for no limit.
  func timeLeft(for callers: Set<String>) -> Duration? {
    isEnding ? nil : callerTimes.timeLeft(for: callers)
  }

  /// `limit`, or less if the callers have less time left.
  func limit(_ limit: Duration, _ timeLeft: Duration?) -> Duration {
    min(limit, timeLeft ?? limit)
  }

  /// True if fetches of `callers` may use time on this thread.
  func hasTime(for callers: Set<String>) -> Bool { timeLeft(for: callers) != .zero }

  /// Removes an active query whose callers have no time left. It is not up to date with the snapshot.
  mutating func suspend(_ query: LiveQuery) {
    for request in removeWaiters(of: query) { suspend(request) }
  }

  /// Suspends the clients that wait for a finished background catch-up.
  mutating func suspendCatchUp(_ key: CatchUpKey) {
    for waiting in pendingCatchUps.removeValue(forKey: key)?.all ?? [] {
      suspend(waiting.request.unchanged(until: key.from))
    }
  }

  /// Stores the request of a caller that has no time left. A group makes new requests for its fetches,
  /// and is not answered meanwhile.
  mutating func suspend(_ request: FollowRequest) {
    slowCallers.insert(request.caller)
    if let member = request.waiter.groupMember {
      member.unchangedUntil = request.unchangedUntil
      member.group.move(member, to: .requested)
    } else {
      suspended.append(request)
    }
  }

  /// Removes everything that belongs to the callers that have no time left. Returns these callers, and
  /// their requests that belong to no group.
  mutating func takeSlowCallers() -> (callers: Set<String>, requests: [FollowRequest]) {
    guard !slowCallers.isEmpty else { return ([], []) }
    let waiting =
      registrations.filter { slowCallers.contains($0.value.caller) }
      .compactMap { ticket, registration in registration.request(ticket, at: current) }
      + pendingCatchUps.flatMap { key, pending in
        pending.all.map { $0.request.unchanged(until: key.from) }
      }
      .filter { slowCallers.contains($0.caller) }
    for request in waiting { request.waiter.groupMember?.unchangedUntil = request.unchangedUntil }
    cancel(Set(waiting.map { ObjectIdentifier($0.waiter) }))
    defer { (slowCallers, suspended) = ([], []) }
    return (slowCallers, suspended + waiting.filter { $0.waiter.groupMember == nil })
  }
}

extension FollowRequest {
  /// The same request, whose result is known to be the same until `token`.
  fileprivate func unchanged(until token: Token) -> FollowRequest {
    var request = self
    request.unchangedUntil = token
    return request
  }
}
