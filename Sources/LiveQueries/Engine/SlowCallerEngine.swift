// The callers whose fetches take much time: commands enter, those of slow callers leave for a second engine.
//
// The first engine's thread passes every command of a slow caller on, in its order, for one minute after the
// caller was found to be slow. A group stays with the second engine until its client leaves.

import Dispatch
import FetchModel

/// The second engine, and the callers that it serves. A plain value for the first engine's thread.
struct SlowCallerEngine {
  private static let time = Duration.seconds(60)

  private let makeEngine: () -> LiveEngine?
  /// Made for the first slow caller.
  private var engine: LiveEngine?
  /// By caller, when its new requests are served by the first engine again.
  private var callers: [String: ContinuousClock.Instant] = [:]
  /// The groups of the second engine.
  private var groups: Set<ObjectIdentifier> = []

  init(_ makeEngine: @escaping () -> LiveEngine?) { self.makeEngine = makeEngine }

  /// Adds callers, with their requests and groups. Returns false if the system has no thread left.
  mutating func add(
    _ slow: Set<String>, _ requests: [FollowRequest], _ groups: [Group],
    now: ContinuousClock.Instant
  ) -> Bool {
    engine = engine ?? makeEngine()
    guard let engine else { return false }
    for caller in slow { callers[caller] = now + Self.time }
    for group in groups { self.groups.insert(ObjectIdentifier(group.waiter)) }
    let commands =
      requests.map(CommandBatch.Command.follow) + groups.map(CommandBatch.Command.adoptGroup)
    engine.execute(commands)
    return true
  }

  /// Passes on the commands of slow callers and the notification of changes. Returns the other commands.
  mutating func passOn(
    _ batch: CommandBatch, now: ContinuousClock.Instant
  ) -> [CommandBatch.Command] {
    guard let engine else { return batch.commands }
    if batch.storeDidChange { engine.storeDidChange() }
    var (own, slow): ([CommandBatch.Command], [CommandBatch.Command]) = ([], [])
    for command in batch.commands {
      switch command {
      case .follow(let request):
        if let member = request.waiter.groupMember {
          // Its group has left; it makes a new request.
          guard !has(member.group.waiter) else { continue }
          own.append(command)
        } else if isSlow(request.caller, now) {
          slow.append(command)
        } else {
          own.append(command)
        }
      case .followGroup(let group):
        if isSlow(group.caller, now) { groups.insert(ObjectIdentifier(group.waiter)) }
        if has(group.waiter) { slow.append(command) } else { own.append(command) }
      case .endWait(let waiter), .endCatchUps(let waiter):
        if has(waiter) { slow.append(command) } else { own.append(command) }
      case .cancel(let waiter):
        // It may be with either engine.
        groups.remove(ObjectIdentifier(waiter))
        own.append(command)
        slow.append(command)
      case .adoptGroup: own.append(command)
      }
    }
    if !slow.isEmpty { engine.execute(slow) }
    return own
  }

  private func has(_ group: any GroupWaiter) -> Bool { groups.contains(ObjectIdentifier(group)) }

  private func isSlow(_ caller: String, _ now: ContinuousClock.Instant) -> Bool {
    callers[caller].map { now < $0 } ?? false
  }

  /// Drops the callers whose time is over.
  mutating func sweep(_ now: ContinuousClock.Instant) {
    callers = callers.filter { now < $0.value }
  }

  /// Drains the second engine.
  func drain() { engine?.drain() }

  func stop() { engine?.stop() }
}
