// Clients that follow several fetches: answers to single fetches enter, one answer per client
// leaves, and all of it refers to one snapshot.
//
// A fetch of a group waits in its live query like any other client. A group is armed while its
// client waits for an answer. A fetch that was answered while the group is not armed is followed
// again, from the client's token, when the client waits the next time. A group therefore costs per
// change, not per request, and buffers nothing for a client that does not read.

import FetchModel

/// One fetch of a group.
public struct GroupFetch: Sendable {
  /// Chosen by the client; identifies the fetch in the group.
  public let index: Int
  public let plan: FetchPlan
  public let since: Token

  public init(index: Int, plan: FetchPlan, since: Token) {
    self.index = index
    self.plan = plan
    self.since = since
  }
}

/// The result of one fetch of a group.
public struct GroupResult: Sendable {
  public let index: Int
  public let answer: LiveAnswer
}

/// A client's command to follow a group of fetches.
struct GroupCommand: Sendable {
  /// Fetches that are new to the group, or followed from another token than before.
  let fetches: [GroupFetch]
  /// True to answer at once, even without changes.
  let isFinal: Bool
  let waiter: any GroupWaiter
}

/// The waiter of one fetch of a group. Only the engine makes and uses it.
public final class GroupMember: LiveWaiter {
  let group: Group
  let index: Int
  let plan: FetchPlan
  /// The client's token. Accessed on the engine's thread only.
  nonisolated(unsafe) var since: Token
  /// True while it is registered in a live query. Accessed on the engine's thread only.
  nonisolated(unsafe) var isWaiting = false

  init(_ fetch: GroupFetch, of group: Group) {
    self.group = group
    index = fetch.index
    plan = fetch.plan
    since = fetch.since
  }

  public var groupMember: GroupMember? { self }

  /// The request to follow the fetch from the client's token.
  var request: FollowRequest {
    FollowRequest(
      plan: plan, only: nil, since: .token(since), deadline: nil, waiter: self,
      needsConsistentSnapshot: true)
  }
}

/// The fetches of one client. Accessed on the engine's thread only.
final class Group: Sendable {
  let waiter: any GroupWaiter
  nonisolated(unsafe) var members: [Int: GroupMember] = [:]
  nonisolated(unsafe) var results: [GroupResult] = []
  /// Members that are not registered in a query.
  nonisolated(unsafe) var unregistered: [Int] = []
  nonisolated(unsafe) var isArmed = false
  nonisolated(unsafe) var mustAnswer = false

  init(_ waiter: any GroupWaiter) { self.waiter = waiter }

  /// True if its client must be answered now.
  var isDue: Bool { isArmed && (mustAnswer || !results.isEmpty) }

  func add(_ fetch: GroupFetch) {
    members[fetch.index] = GroupMember(fetch, of: self)
    unregistered.append(fetch.index)
  }

  /// The requests of the unregistered members.
  func takeRequests() -> [FollowRequest] {
    defer { unregistered = [] }
    return unregistered.compactMap { index in
      guard let member = members[index], !member.isWaiting else { return nil }
      member.isWaiting = true
      return member.request
    }
  }

  func receive(_ answer: LiveAnswer, _ member: GroupMember) {
    guard members[member.index] === member else { return }
    member.isWaiting = false
    unregistered.append(member.index)
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
    let waiter: any GroupWaiter
  }

  private var groups: [ObjectIdentifier: Group] = [:]
  /// Groups that may have an answer at the end of the batch.
  private var pending: [ObjectIdentifier: Group] = [:]
  private var postponed: [GroupMember] = []

  /// Arms a group and returns the requests of its unregistered members.
  mutating func follow(_ command: GroupCommand) -> [FollowRequest] {
    let identity = ObjectIdentifier(command.waiter)
    let group = groups[identity] ?? Group(command.waiter)
    groups[identity] = group
    pending[identity] = group
    for fetch in command.fetches { group.add(fetch) }
    group.isArmed = true
    group.mustAnswer = group.mustAnswer || command.isFinal
    return group.takeRequests()
  }

  /// Removes a client's group and returns its registered members.
  mutating func remove(_ waiter: any LiveWaiter) -> [GroupMember] {
    let identity = ObjectIdentifier(waiter)
    pending[identity] = nil
    guard let group = groups.removeValue(forKey: identity) else { return [] }
    defer { group.members = [:] }
    return group.members.values.filter(\.isWaiting)
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
      member.group.receive(outgoing.answer, member)
      pending[ObjectIdentifier(member.group.waiter)] = member.group
    }
    return others
  }

  /// Stores a member for which there was no time.
  mutating func postpone(_ member: GroupMember) { postponed.append(member) }

  /// The requests of postponed members, to be served later. A member whose client must be answered
  /// now expires instead, because the answer must refer to this snapshot; the service then reads the
  /// fetch on another thread.
  mutating func takePostponed(isEnding: Bool) -> [FollowRequest] {
    defer { postponed = [] }
    return postponed.compactMap { member in
      guard isEnding || member.group.isDue else { return member.request }
      member.group.receive(.expired, member)
      pending[ObjectIdentifier(member.group.waiter)] = member.group
      return nil
    }
  }

  /// Returns the answers that are due at the end of a batch.
  mutating func takeAnswers(isDraining: Bool) -> [Outgoing] {
    let candidates = isDraining ? groups : pending
    pending = [:]
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
