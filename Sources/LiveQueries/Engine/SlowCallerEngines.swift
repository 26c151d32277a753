// The callers whose fetches take much time: commands enter, those of slow callers leave for the engines of
// the next level.
//
// An engine's thread passes every command of a slow caller on, in its order, for one minute after the
// caller was found to be slow. A group stays with its engine until its client leaves. Each slow caller has
// an engine of its own while the level has as many.

import FetchModel

/// The engines of the next level, and the callers that they serve. A plain value for one engine's thread.
struct SlowCallerEngines {
  private static let time = Duration.seconds(60)

  private struct Caller {
    /// Its engine's index.
    let engine: Int
    /// When its new requests are served by this thread's engine again.
    var end: ContinuousClock.Instant
  }

  /// The most engines.
  private let limit: Int
  private let makeEngine: () -> LiveEngine?
  private var engines: [LiveEngine] = []
  private var callers: [String: Caller] = [:]
  /// The engine of each group that was passed on.
  private var groups: [ObjectIdentifier: Int] = [:]

  init(limit: Int, _ makeEngine: @escaping () -> LiveEngine?) {
    self.limit = limit
    self.makeEngine = makeEngine
  }

  /// Adds callers, with their requests and groups. Returns false if the system has no thread left.
  mutating func add(
    _ slow: Set<String>, _ requests: [FollowRequest], _ groups: [Group],
    now: ContinuousClock.Instant
  ) -> Bool {
    for caller in slow {
      guard let engine = callers[caller]?.engine ?? chooseEngine() else { return false }
      callers[caller] = Caller(engine: engine, end: now + Self.time)
    }
    var commands: [[CommandBatch.Command]] = engines.map { _ in [] }
    for request in requests {
      if let engine = callers[request.caller]?.engine { commands[engine].append(.follow(request)) }
    }
    for group in groups {
      guard let engine = callers[group.caller]?.engine else { continue }
      self.groups[ObjectIdentifier(group.waiter)] = engine
      commands[engine].append(.adoptGroup(group))
    }
    execute(commands)
    return true
  }

  /// The engine for one more caller: a new one, or the one with the fewest callers; nil without any.
  private mutating func chooseEngine() -> Int? {
    let counts = engines.indices.map { index in callers.values.count { $0.engine == index } }
    if !counts.contains(0), engines.count < limit, let engine = makeEngine() {
      engines.append(engine)
      return engines.count - 1
    }
    return counts.indices.min { counts[$0] < counts[$1] }
  }

  /// Passes on the commands of slow callers and the notification of changes. Returns the other commands.
  mutating func passOn(
    _ batch: CommandBatch, now: ContinuousClock.Instant
  ) -> [CommandBatch.Command] {
    guard !engines.isEmpty else { return batch.commands }
    if batch.storeDidChange { for engine in engines { engine.storeDidChange() } }
    var own: [CommandBatch.Command] = []
    var slow: [[CommandBatch.Command]] = engines.map { _ in [] }
    for command in batch.commands {
      switch command {
      case .follow(let request):
        // A group that has left makes new requests for its members.
        if let member = request.waiter.groupMember {
          if engine(of: member.group.waiter) == nil { own.append(command) }
        } else if let engine = engine(of: request.caller, now) {
          slow[engine].append(command)
        } else {
          own.append(command)
        }
      case .followGroup(let group):
        let identity = ObjectIdentifier(group.waiter)
        if groups[identity] == nil { groups[identity] = engine(of: group.caller, now) }
        if let engine = groups[identity] {
          slow[engine].append(command)
        } else {
          own.append(command)
        }
      case .endWait(let waiter), .endCatchUps(let waiter):
        if let engine = engine(of: waiter) {
          slow[engine].append(command)
        } else {
          own.append(command)
        }
      case .cancel(let waiter):
        // It may be with any engine.
        groups[ObjectIdentifier(waiter)] = nil
        own.append(command)
        for engine in engines.indices { slow[engine].append(command) }
      case .adoptGroup(let group):
        if let engine = engine(of: group.caller, now) {
          groups[ObjectIdentifier(group.waiter)] = engine
          slow[engine].append(command)
        } else {
          own.append(command)
        }
      }
    }
    execute(slow)
    return own
  }

  private func execute(_ commands: [[CommandBatch.Command]]) {
    for (engine, commands) in zip(engines, commands) where !commands.isEmpty {
      engine.execute(commands)
    }
  }

  private func engine(of group: any GroupWaiter) -> Int? { groups[ObjectIdentifier(group)] }

  private func engine(of caller: String, _ now: ContinuousClock.Instant) -> Int? {
    callers[caller].flatMap { now < $0.end ? $0.engine : nil }
  }

  /// Drops the callers whose time is over.
  mutating func sweep(_ now: ContinuousClock.Instant) {
    callers = callers.filter { now < $0.value.end }
  }

  /// Drains the engines at the same time.
  func drain() {
    for done in engines.map({ $0.beginDrain() }) { done.wait() }
  }

  func stop() { for engine in engines { engine.stop() } }
}
