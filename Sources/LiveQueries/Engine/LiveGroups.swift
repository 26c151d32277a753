// Clients that follow several fetches: answers to single fetches enter, one answer per client
// leaves, and all of it refers to one snapshot.
//
// A fetch of a group waits in its live query like any other client. A group is armed while its
// client waits for an answer. A fetch that was answered while the group is not armed is followed
// again, from the client's token, when the client waits the next time. A group therefore costs per
// change, not per request, and buffers nothing for a client that does not read.
//
// A fetch that takes long is read in the background. The group is not answered meanwhile: diffs of
// its other fetches are dropped, and these are followed again once the last fetch is ready.

import FetchModel

/// One fetch of a group.
public struct GroupFetch: Sendable {
  /// Chosen by the client; identifies the fetch in the group.
  public let index: Int
  /// The fetch.
  public let plan: FetchPlan
  /// The token from which it is followed.
  public let since: Token

  /// Makes a group fetch.
  public init(index: Int, plan: FetchPlan, since: Token) {
    self.index = index
    self.plan = plan
    self.since = since
  }
}

/// The result of one fetch of a group.
public struct GroupResult: Sendable {
  /// The index of the fetch in its group.
  public let index: Int
  /// The diff, or the reason why there is none.
  public let answer: LiveAnswer
}

/// A client's command to follow a group of fetches.
struct GroupCommand: Sendable {
  /// Fetches that are new to the group, or followed from another token than before.
  let fetches: [GroupFetch]
  /// True to answer at once, also without changes.
  let mustAnswer: Bool
  let caller: String
  let waiter: any GroupWaiter
}

/// The waiter of one fetch of a group. Only the engine makes and uses it.
public final class GroupMember: LiveWaiter {
  enum State {
    /// It is requested when its client waits the next time.
    case unregistered
    /// Its request is to be served, or continues in the background.
    case requested
    /// It waits in a live query.
    case registered
  }

  let group: Group
  let index: Int
  let plan: FetchPlan
  /// The client's token. Accessed on the engine's thread only.
  nonisolated(unsafe) var since: Token
  /// A later token at which the result is still the same; nil if none is known. Accessed on the engine's
  /// thread only.
  nonisolated(unsafe) var unchangedUntil: Token?
  /// Accessed on the engine's thread only.
  nonisolated(unsafe) var state = State.unregistered
  /// True from the start of a background catch-up until the fetch waits or is answered. Accessed on
  /// the engine's thread only.
  nonisolated(unsafe) var isCatchingUp = false

  init(_ fetch: GroupFetch, of group: Group) {
    self.group = group
    index = fetch.index
    plan = fetch.plan
    since = fetch.since
  }

  public var groupMember: GroupMember? { self }

  /// The request to follow the fetch from the client's token.
  var request: FollowRequest {
    var request = FollowRequest(
      plan: plan, only: nil, since: .token(since), deadline: nil, waiter: self,
      caller: group.caller)
    request.unchangedUntil = unchangedUntil
    return request
  }

  /// Records that it waits in a live query.
  func register() {
    group.move(self, to: .registered)
    isCatchingUp = false
  }

  /// Records that it continues in the background. Returns false if it did so before, or if there is no
  /// time for it.
  func beginBackground() -> Bool {
    if isCatchingUp || group.isOverdue { return false }
    group.move(self, to: .requested)
    isCatchingUp = true
    return true
  }
}

/// The fetches of one client. Accessed on the engine's thread only.
final class Group: Sendable {
  let waiter: any GroupWaiter
  let caller: String
  nonisolated(unsafe) var members: [Int: GroupMember] = [:]
  nonisolated(unsafe) var results: [GroupResult] = []
  /// Members that are not registered in a query.
  nonisolated(unsafe) private var unregistered: [Int] = []
  /// The number of members whose requests are to be served.
  nonisolated(unsafe) private(set) var requested = 0
  /// True if diffs were dropped, whose fetches are to be requested again.
  nonisolated(unsafe) private(set) var hasDropped = false
  /// The bytes of the diffs in `results`.
  nonisolated(unsafe) private var byteCount = 0
  /// True if a diff did not fit, so that its fetch has expired.
  nonisolated(unsafe) private(set) var isFull = false
  /// True while the client waits for an answer.
  nonisolated(unsafe) var isArmed = false
  /// True if the client is to be answered at once, also without changes.
  nonisolated(unsafe) var mustAnswer = false
  /// True if no fetch may be caught up with in the background any more before the next answer.
  nonisolated(unsafe) private(set) var isOverdue = false

  init(_ waiter: any GroupWaiter, caller: String) {
    self.waiter = waiter
    self.caller = caller
  }

  /// True if all members refer to one snapshot.
  fileprivate var isConsistent: Bool { requested == 0 && !hasDropped }

  /// True if its client is to be answered as soon as possible.
  var wantsAnswer: Bool { isArmed && (mustAnswer || !results.isEmpty) }

  /// True if its client must be answered now. It need not wait for other fetches if one has expired:
  /// the service reads that one on another thread.
  var isDue: Bool { wantsAnswer && (isConsistent || results.contains(where: \.answer.isExpired)) }

  /// True if members must be requested again before an answer.
  var mustRepeat: Bool { isArmed && requested == 0 && hasDropped }

  func add(_ fetch: GroupFetch) {
    if let former = members[fetch.index] { move(former, to: .unregistered) }
    members[fetch.index] = GroupMember(fetch, of: self)
    unregistered.append(fetch.index)
  }

  /// Prepares the group for another engine: all members are unregistered, from its client's tokens.
  fileprivate func unregisterAll() {
    dropDiffs()
    isFull = false
    for member in members.values {
      move(member, to: .unregistered)
      member.isCatchingUp = false
    }
    unregistered = Array(members.keys)
  }

  /// The requests of the unregistered members.
  func takeRequests() -> [FollowRequest] {
    defer { (unregistered, hasDropped) = ([], false) }
    return unregistered.compactMap { index in
      guard let member = members[index], member.state == .unregistered else { return nil }
      move(member, to: .requested)
      return member.request
    }
  }

  func move(_ member: GroupMember, to state: GroupMember.State) {
    guard members[member.index] === member else { return }
    if member.state == .requested { requested -= 1 }
    if state == .requested { requested += 1 }
    member.state = state
  }

  /// Stores the answer of a member. Diffs of more than `maxBytes` together expire: the service reads their
  /// fetches on another thread, one after the other.
  func receive(_ answer: LiveAnswer, _ member: GroupMember, maxBytes: Int) {
    guard members[member.index] === member else { return }
    move(member, to: .unregistered)
    unregistered.append(member.index)
    guard isArmed else { return }
    switch answer {
    case .diff(let diff) where diff.isEmpty: member.since = diff.to
    case .diff(let diff) where diff.json.count <= maxBytes - byteCount:
      byteCount += diff.json.count
      results.append(GroupResult(index: member.index, answer: answer))
    case .diff:
      isFull = true
      members[member.index] = nil
      results.append(GroupResult(index: member.index, answer: .expired))
    case .expired where isOverdue:
      members[member.index] = nil
      results.append(GroupResult(index: member.index, answer: .failed(.queryTimeout)))
    case .expired, .failed:
      members[member.index] = nil
      results.append(GroupResult(index: member.index, answer: answer))
    }
  }

  /// Ends the members' catch-ups, and returns those members. The group is answered as soon as the others
  /// refer to one snapshot.
  func endCatchUps() -> [GroupMember] {
    (isOverdue, mustAnswer) = (true, true)
    let late = members.values.filter { $0.state == .requested }
    for member in late { receive(.expired, member, maxBytes: 0) }
    return late
  }

  /// Drops the diffs of a group that is not to be answered yet: when it is, they may be out of date.
  func dropDiffs() {
    let count = results.count
    results.removeAll(where: \.answer.isDiff)
    byteCount = 0
    if results.count < count { hasDropped = true }
  }

  /// Disarms the group and returns what to send to its client: no diffs if the members do not refer to one
  /// snapshot.
  func takeResults() -> [GroupResult] {
    if !isConsistent { dropDiffs() }
    for result in results {
      guard case .diff(let diff) = result.answer else { continue }
      members[result.index]?.since = diff.to
      members[result.index]?.isCatchingUp = false
    }
    defer {
      (results, byteCount, isFull) = ([], 0, false)
      (isArmed, mustAnswer, isOverdue) = (false, false, false)
    }
    return results
  }

  /// Expires all members if they do not refer to one snapshot.
  func expireUnlessConsistent() {
    guard !isConsistent else { return }
    dropDiffs()
    results += members.keys.sorted().map { GroupResult(index: $0, answer: .expired) }
    (members, requested, hasDropped) = ([:], 0, false)
  }
}

extension LiveAnswer {
  fileprivate var isDiff: Bool {
    if case .diff = self { true } else { false }
  }

  fileprivate var isExpired: Bool {
    if case .expired = self { true } else { false }
  }
}

/// Every group of an engine. A plain value for its thread.
struct LiveGroups {
  /// The answer to one client.
  struct GroupAnswer {
    let results: [GroupResult]
    let waiter: any GroupWaiter
  }

  private var groups: [ObjectIdentifier: Group] = [:]
  /// Groups that may have an answer at the end of the batch.
  private var pending: [ObjectIdentifier: Group] = [:]
  private var postponed: [GroupMember] = []
  /// The most bytes of one group's diffs.
  var maxBytes = Int.max

  /// Arms a group and returns the requests of its unregistered members.
  mutating func follow(_ command: GroupCommand) -> [FollowRequest] {
    let identity = ObjectIdentifier(command.waiter)
    let group = groups[identity] ?? Group(command.waiter, caller: command.caller)
    groups[identity] = group
    pending[identity] = group
    for fetch in command.fetches { group.add(fetch) }
    group.isArmed = true
    group.mustAnswer = group.mustAnswer || command.mustAnswer
    return group.takeRequests()
  }

  /// Removes the groups of callers, for another engine.
  mutating func take(of callers: Set<String>) -> [Group] {
    let taken = groups.filter { callers.contains($0.value.caller) }
    for (identity, group) in taken {
      groups[identity] = nil
      pending[identity] = nil
      group.unregisterAll()
    }
    postponed.removeAll { callers.contains($0.group.caller) }
    return Array(taken.values)
  }

  /// Adds a group of another engine. Returns its members' requests if its client waits.
  mutating func adopt(_ group: Group) -> [FollowRequest] {
    let identity = ObjectIdentifier(group.waiter)
    groups[identity] = group
    guard group.isArmed else { return [] }
    pending[identity] = group
    return group.takeRequests()
  }

  /// If the group is armed, answers it as soon as possible, also without changes.
  mutating func endWait(of waiter: any GroupWaiter) {
    let identity = ObjectIdentifier(waiter)
    guard let group = groups[identity], group.isArmed else { return }
    group.mustAnswer = true
    pending[identity] = group
  }

  /// Ends the catch-ups of a group that is not at one snapshot, and returns the members that are late.
  mutating func endCatchUps(of waiter: any GroupWaiter) -> [GroupMember] {
    let identity = ObjectIdentifier(waiter)
    guard let group = groups[identity], group.isArmed, !group.isConsistent else { return [] }
    pending[identity] = group
    return group.endCatchUps()
  }

  /// Removes a client's group and returns its registered and requested members.
  mutating func remove(_ waiter: any LiveWaiter) -> [GroupMember] {
    let identity = ObjectIdentifier(waiter)
    pending[identity] = nil
    guard let group = groups.removeValue(forKey: identity) else { return [] }
    defer { group.members = [:] }
    return group.members.values.filter { $0.state != .unregistered }
  }

  /// Stores the answer for the members of groups and returns the other waiters.
  mutating func collect(_ outgoing: OutgoingAnswer) -> [any LiveWaiter] {
    guard !groups.isEmpty else { return outgoing.waiters }
    var others: [any LiveWaiter] = []
    for waiter in outgoing.waiters {
      guard let member = waiter.groupMember else {
        others.append(waiter)
        continue
      }
      receive(outgoing.answer, member)
    }
    return others
  }

  private mutating func receive(_ answer: LiveAnswer, _ member: GroupMember) {
    member.group.receive(answer, member, maxBytes: maxBytes)
    pending[ObjectIdentifier(member.group.waiter)] = member.group
  }

  /// Expires a member, whose fetch the service then reads on another thread.
  mutating func expire(_ member: GroupMember) { receive(.expired, member) }

  /// Stores a member for which there was no time.
  mutating func postpone(_ member: GroupMember) { postponed.append(member) }

  /// The requests of postponed members, to be served later. A member whose client must be answered
  /// now expires instead, because the answer must refer to this snapshot; the service then reads the
  /// fetch on another thread.
  ///
  /// - Parameter isEnding: true if the engine ends: then every postponed member expires.
  mutating func takePostponed(isEnding: Bool) -> [FollowRequest] {
    defer { postponed = [] }
    return postponed.compactMap { member in
      guard isEnding || member.group.wantsAnswer else { return member.request }
      expire(member)
      return nil
    }
  }

  /// The requests of members whose diffs were dropped, once no other member of their group is in the
  /// background; to be served together.
  mutating func takeRepeated() -> [FollowRequest] {
    pending.values.filter(\.mustRepeat).flatMap { group in
      group.dropDiffs()
      return group.takeRequests()
    }
  }

  /// Returns the answers that are due at the end of a batch. When the engine ends, a group that is not
  /// at one snapshot expires.
  mutating func takeAnswers(isDraining: Bool) -> [GroupAnswer] {
    let candidates = isDraining ? groups : pending
    pending = [:]
    var answers: [GroupAnswer] = []
    for (identity, group) in candidates where group.isArmed {
      if isDraining { group.expireUnlessConsistent() }
      if group.isDue || isDraining {
        answers.append(GroupAnswer(results: group.takeResults(), waiter: group.waiter))
      } else if group.requested > 0 {
        group.dropDiffs()
        pending[identity] = group
      }
    }
    return answers
  }
}
