// Clients that follow many fetches at once: the answers to their fetches enter one by one, one
// answer for each client leaves, and all of it is true of one moment.
//
// A fetch of a group waits in its live query like any other client. The group is armed while its
// client wants an answer; one that fell out of its query while the group was not armed is followed
// again, from the moment that the client has of it, when the client asks the next time. So a group
// costs per change, not per question, and keeps nothing for a client that does not read.

import FetchModel

/// One of the fetches that a client follows together.
public struct GroupFetch: Sendable {
  /// Chosen by the client; tells its fetches apart.
  public let index: Int
  public let plan: FetchPlan
  public let since: Token

  public init(index: Int, plan: FetchPlan, since: Token) {
    self.index = index
    self.plan = plan
    self.since = since
  }
}

/// What became of one fetch of a group.
public struct GroupResult: Sendable {
  public let index: Int
  public let answer: LiveAnswer
}

/// A client's wish about many fetches.
struct GroupWish: Sendable {
  /// Fetches that are new to the group, or followed from another moment than it knows.
  let fetches: [GroupFetch]
  /// Whether it is to be answered at once, whatever there is.
  let isFinal: Bool
  let waiter: any LiveWaiter
}

/// A fetch of a group, as the client that its live query knows.
final class GroupMember: LiveWaiter {
  let group: Group
  let index: Int
  let plan: FetchPlan
  /// From when its client wants to know. Touched on the engine's thread alone.
  nonisolated(unsafe) var since: Token
  /// Whether it stands in a live query. Touched on the engine's thread alone.
  nonisolated(unsafe) var isWaiting = false

  init(_ fetch: GroupFetch, of group: Group) {
    self.group = group
    index = fetch.index
    plan = fetch.plan
    since = fetch.since
  }

  /// The wish to stand in the live query again.
  var request: FollowRequest {
    FollowRequest(
      plan: plan, only: nil, since: .token(since), deadline: nil, waiter: self, onlyWaits: true)
  }
}

/// The fetches of one client. Touched on the engine's thread alone.
final class Group: Sendable {
  let waiter: any LiveWaiter
  nonisolated(unsafe) var members: [Int: GroupMember] = [:]
  nonisolated(unsafe) var results: [GroupResult] = []
  /// Members that do not stand in their query.
  nonisolated(unsafe) var loose: [Int] = []
  nonisolated(unsafe) var isArmed = false
  nonisolated(unsafe) var mustAnswer = false

  init(_ waiter: any LiveWaiter) { self.waiter = waiter }

  /// Whether its client is to be answered now.
  var isDue: Bool { isArmed && (mustAnswer || !results.isEmpty) }

  func add(_ fetch: GroupFetch) {
    members[fetch.index] = GroupMember(fetch, of: self)
    loose.append(fetch.index)
  }

  /// What the members that stand nowhere wish; they stand somewhere or are answered soon.
  func takeRequests() -> [FollowRequest] {
    defer { loose = [] }
    return loose.compactMap { index in
      guard let member = members[index], !member.isWaiting else { return nil }
      member.isWaiting = true
      return member.request
    }
  }

  func receive(_ answer: LiveAnswer, _ member: GroupMember) {
    guard members[member.index] === member else { return }
    member.isWaiting = false
    loose.append(member.index)
    guard isArmed else { return }
    switch answer {
    case .diff(_, let token, let isEmpty):
      member.since = token
      if !isEmpty { results.append(GroupResult(index: member.index, answer: answer)) }
    case .expired, .failed:
      members[member.index] = nil
      results.append(GroupResult(index: member.index, answer: answer))
    }
  }
}

/// Every group of an engine. A plain value for its thread.
struct LiveGroups {
  struct Outgoing {
    let results: [GroupResult]
    let waiter: any LiveWaiter
  }

  private var groups: [ObjectIdentifier: Group] = [:]
  /// Groups that may have something to be told at the end of the batch.
  private var touched: [ObjectIdentifier: Group] = [:]
  private var postponed: [GroupMember] = []

  /// Arms a group and gives what its members wish of the live queries.
  mutating func follow(_ wish: GroupWish) -> [FollowRequest] {
    let identity = ObjectIdentifier(wish.waiter)
    let group = groups[identity] ?? Group(wish.waiter)
    groups[identity] = group
    touched[identity] = group
    for fetch in wish.fetches { group.add(fetch) }
    group.isArmed = true
    group.mustAnswer = group.mustAnswer || wish.isFinal
    return group.takeRequests()
  }

  /// Forgets a client's group and gives the members that stand in a query.
  mutating func remove(_ waiter: any LiveWaiter) -> [GroupMember] {
    let identity = ObjectIdentifier(waiter)
    touched[identity] = nil
    guard let group = groups.removeValue(forKey: identity) else { return [] }
    defer { group.members = [:] }
    return group.members.values.filter(\.isWaiting)
  }

  /// Takes in what is for members; the waiters that are left are clients of their own.
  mutating func collect(_ outgoing: OutgoingAnswer) -> [any LiveWaiter] {
    guard !groups.isEmpty else { return outgoing.waiters }
    var others: [any LiveWaiter] = []
    for waiter in outgoing.waiters {
      guard let member = waiter as? GroupMember else {
        others.append(waiter)
        continue
      }
      member.group.receive(outgoing.answer, member)
      touched[ObjectIdentifier(member.group.waiter)] = member.group
    }
    return others
  }

  /// There was no time for this one.
  mutating func postpone(_ member: GroupMember) { postponed.append(member) }

  /// The members that there was no time for, to be served later. Where their client is to be answered
  /// now they are told to begin anew, since its answer has to be true of all of them at this moment:
  /// whoever asked makes it elsewhere, where that may take long.
  mutating func takePostponed(isEnding: Bool) -> [FollowRequest] {
    defer { postponed = [] }
    return postponed.compactMap { member in
      guard isEnding || member.group.isDue else { return member.request }
      member.group.receive(.expired, member)
      touched[ObjectIdentifier(member.group.waiter)] = member.group
      return nil
    }
  }

  /// The answers that are due at the end of a batch.
  mutating func takeAnswers(isDraining: Bool) -> [Outgoing] {
    let candidates = isDraining ? groups : touched
    touched = [:]
    var answers: [Outgoing] = []
    for group in candidates.values {
      guard group.isDue || group.isArmed && isDraining else { continue }
      answers.append(Outgoing(results: group.results, waiter: group.waiter))
      group.results = []
      group.isArmed = false
      group.mustAnswer = false
    }
    return answers
  }
}
