// All live queries of a store and their waiters: snapshots, requests and deadlines enter, answers
// are appended to the undelivered. A plain value for one thread; it never blocks.

import FetchModel

/// A client's request to follow one fetch.
struct FollowRequest: Sendable {
  let plan: FetchPlan
  let key: QueryKey
  let since: LiveStart
  let deadline: ContinuousClock.Instant?
  let waiter: any LiveWaiter
  /// The name of the client's caller.
  let caller: String
  /// A later token than the client's at which the result is still the same; nil if none is known.
  var unchangedUntil: Token?

  /// - Parameter only: the only object observed; nil for a fetch.
  init(
    plan: FetchPlan, only: ObjectID?, since: LiveStart, deadline: ContinuousClock.Instant?,
    waiter: any LiveWaiter, caller: String = ""
  ) {
    self.plan = plan
    key = QueryKey(plan, only: only)
    self.since = since
    self.deadline = deadline
    self.waiter = waiter
    self.caller = caller
  }

  /// True if the answer must refer to the store's newest snapshot, together with other answers.
  var needsConsistentSnapshot: Bool { waiter.groupMember != nil }
}

/// An answer and its receivers.
struct OutgoingAnswer {
  let answer: LiveAnswer
  var waiters: [any LiveWaiter]
  /// The diff's view and start, so that requests for the same diff share it.
  var origin: AnswerOrigin?
}

/// A view and its clients' token.
struct AnswerOrigin: Hashable {
  /// Retained: once a view is released, another one may have its address.
  let view: LiveView
  let from: Token

  static func == (left: Self, right: Self) -> Bool {
    left.view === right.view && left.from == right.from
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(view))
    hasher.combine(from)
  }
}

/// The live queries of one store.
struct LiveQueries {
  /// The registration of a waiter.
  struct Registration {
    let query: LiveQuery
    let view: LiveView
    let from: Token
    let waiter: ObjectIdentifier
    let caller: String
    let deadline: ContinuousClock.Instant?

    /// The request of the waiter with this ticket; nil if it was answered.
    ///
    /// - Parameter current: the token that the query is up to date with.
    func request(_ ticket: UInt64, at current: Token?) -> FollowRequest? {
      guard let waiter = view.waiters[from]?[ticket], let plan = view.plan else { return nil }
      var request = FollowRequest(
        plan: plan, only: query.key.only, since: .token(from), deadline: deadline, waiter: waiter,
        caller: caller)
      request.unchangedUntil = current
      return request
    }
  }

  let model: Model
  /// How the store compares values; nil if unknown.
  let columns: (any ColumnTraits)?
  let configuration: LiveConfiguration
  /// The snapshot that every active query is up to date with; nil before the first read.
  private(set) var current: Token?
  /// Recent tokens of the store, which need no query to be verified.
  private var known: [HistoryPosition: Token] = [:]
  /// Changed by ``keep(_:)`` and ``drop(_:)``.
  private(set) var queries: [QueryKey: LiveQuery] = [:]
  /// The memory that all queries need, about.
  private(set) var byteCount = 0 {
    didSet { memory.add(byteCount - oldValue) }
  }
  /// The memory of all engines of the store.
  let memory: LiveMemory
  var index = QueryIndex()
  var registrations: [UInt64: Registration] = [:]
  var tickets: [ObjectIdentifier: UInt64] = [:]
  var nextTicket: UInt64 = 0
  var deadlines = TicketDeadlines()
  var undelivered: [OutgoingAnswer] = []
  /// The bytes of the diffs in ``undelivered``.
  private var undeliveredBytes = 0
  /// The steps past states that clients may know.
  let passed = PassedPositions()
  /// The clients that wait for background catch-ups.
  var pendingCatchUps: [CatchUpKey: PendingCatchUp] = [:]
  /// Background catch-ups that were not started yet.
  var newJobs: [CatchUpJob] = []
  /// Requests to be served again, after newer commands.
  var returned: [FollowRequest] = []
  /// The time that the callers' fetches take on this thread.
  let callerTimes: CallerTimes
  /// The callers whose time is used up; see ``LiveQueries/takeSlowCallers()``.
  var slowCallers: Set<String> = []
  /// Their requests that were removed from the queries.
  var suspended: [FollowRequest] = []
  /// True once nothing new may be started.
  var isEnding = false
  var counters = LiveCounters()

  /// - Parameter callerTimes: the time of callers, if there is an engine for those that have none left.
  init(
    model: Model, columns: (any ColumnTraits)? = nil, configuration: LiveConfiguration,
    callerTimes: CallerTimes = CallerTimes(limit: nil), memory: LiveMemory = LiveMemory()
  ) {
    self.memory = memory
    self.model = model
    self.columns = columns
    self.configuration = configuration
    self.callerTimes = callerTimes
  }

  /// Waiters whose answer is in ``undelivered``; removed after its delivery.
  private var answered: [UInt64] = []
  /// The number of waiting clients.
  var waiterCount: Int { registrations.count - answered.count }

  /// True if a newer snapshot must be examined now.
  var hasActiveQueries: Bool { waiterCount > 0 || !pendingCatchUps.isEmpty }

  /// From this number of bytes on, diffs are delivered before others are made.
  private static let maxUndelivered = 16 << 20
  /// True if the diffs must be delivered before others are made.
  var mustDeliver: Bool { undeliveredBytes > Self.maxUndelivered }

  /// Adds an answer to the undelivered.
  mutating func add(_ outgoing: OutgoingAnswer) {
    if case .diff(let diff) = outgoing.answer { undeliveredBytes += diff.json.count }
    undelivered.append(outgoing)
  }

  /// Removes the undelivered answers and returns them.
  mutating func takeUndelivered() -> [OutgoingAnswer] {
    defer { (undelivered, undeliveredBytes) = ([], 0) }
    return undelivered
  }

  /// Advances to the context's snapshot and answers every client whose result changed.
  ///
  /// If the changes cannot be read within the time limit, every client's token expires.
  ///
  /// - Parameters:
  ///   - isEnding: true if the engine ends, which ends the read too.
  ///   - deliver: called when the answers must be delivered before others are made.
  mutating func catchUp(
    _ context: CatchUpContext, isEnding: Bool = false,
    deliver: (inout LiveQueries) -> Void = { _ in }
  ) throws(StoreError) {
    let token = context.token
    guard let last = current else {
      record(token)
      return
    }
    guard token != last else { return }
    guard token.epoch == last.epoch, token.position > last.position else {
      restart(token)
      return
    }
    if hasActiveQueries {
      // With a gap in the history the changes are unknown.
      guard try isHistoryComplete(since: last.position, context) else { return restart(token) }
      let changes: ChangeSet
      do throws(StoreError) {
        changes = try context.transaction.withTimeLimit(nil) { () throws(StoreError) in
          try context.changes(after: last.position, in: model).changeSet
        }
      } catch .queryTimeout where !isEnding {
        // The next attempt would take longer still.
        return restart(token)
      }
      callerTimes.beginTransaction(
        changes: changes.objects.values.reduce(0) { $0 + $1.count })
      let candidates = try candidates(after: last.position, context)
      let latest = ContinuousClock.now + configuration.longTimeLimit * 2
      for candidate in candidates {
        step(candidate, from: last.position, context, until: latest)
        if mustDeliver { deliver(&self) }
      }
      if changes.hasStatesBetween {
        passed.append(from: last.position, to: token.position)
      }
    }
    counters.positions += 1
    record(token)
  }

  /// A query that the changes may affect, and the ids whose rows may differ; nil for all.
  private struct Candidate {
    let query: LiveQuery
    let objects: Set<ObjectID>?
  }

  /// The active queries that the changes after `base` may affect, those with the fewest affected ids
  /// first. If the time limit is exceeded, all that read a changed property.
  private mutating func candidates(
    after base: HistoryPosition, _ context: CatchUpContext
  ) throws(StoreError) -> [Candidate] {
    let transaction = context.transaction
    let changed = try context.changes(after: base, in: model)
    var search = CandidateSearch(index, changed, after: base, transaction, callerTimes)
    try transaction.withTimeLimit(configuration.longTimeLimit * 2) { () throws(StoreError) in
      search.run(testingUntil: .now + configuration.longTimeLimit * 2)
    }
    counters.filteredOut += search.filteredOut
    return search.found.all
      .map { Candidate(query: $0, objects: search.objects(for: $0)) }
      .sorted { ($0.objects?.count ?? .max) < ($1.objects?.count ?? .max) }
  }

  /// True if `token` is a recent token of the store.
  func isKnown(_ token: Token) -> Bool { known[token.position] == token }

  /// The recent token at `position`.
  func token(at position: HistoryPosition) -> Token? { known[position] }

  /// True if the store still has all changes after `position`.
  func isHistoryComplete(since position: HistoryPosition, _ context: CatchUpContext)
    throws(StoreError)
    -> Bool
  {
    if position == context.token.position { return true }
    guard let token = known[position] else { return false }
    return try context.transaction.validity(of: token) == .known
  }

  private mutating func record(_ token: Token) {
    current = token
    record(shown: token)
  }

  /// Stores a token of the current epoch.
  mutating func record(shown token: Token) {
    known[token.position] = token
    if known.count > 4_096 {
      let oldest = known.keys.sorted().prefix(2_048)
      for position in oldest { known[position] = nil }
    }
  }

  /// Drops everything after a change of the epoch; all waiters expire.
  private mutating func restart(_ token: Token) {
    for query in queries.values { deactivate(query, .expired) }
    for query in Array(queries.values) { drop(query) }
    index = QueryIndex()
    known = [:]
    passed.removeAll()
    record(token)
  }

  /// Advances one active query. If it fails, it ends and its clients get the error; if it exceeds the
  /// time limit, or needs a newer state, it continues in the background.
  ///
  /// - Parameters:
  ///   - base: the position that every active query is up to date with.
  ///   - latest: when no more queries are advanced here, so that other clients need not wait.
  private mutating func step(
    _ candidate: Candidate, from base: HistoryPosition, _ context: CatchUpContext,
    until latest: ContinuousClock.Instant
  ) {
    let query = candidate.query
    let (callers, begin) = (query.callers, ContinuousClock.now)
    let timeLeft = timeLeft(for: callers)
    guard timeLeft != .zero else { return suspend(query) }
    defer { callerTimes.charge(begin.duration(to: .now), to: callers) }
    counters.considered += 1
    query.position = base
    do throws(StoreError) {
      guard begin < latest else { return postpone(query, at: current) }
      let limit = limit(configuration.longTimeLimit, timeLeft)
      let changes = try context.transaction.withTimeLimit(limit) {
        () throws(StoreError) in
        try query.advance(context, affected: candidate.objects)
      }
      guard !changes.isEmpty else { return }
      var hasDiff = false
      for view in query.views.values where !view.waiters.isEmpty {
        do throws(StoreError) {
          let body = try context.transaction.withTimeLimit(limit) {
            () throws(StoreError) in
            try query.body(for: view, changes, from: base, isStep: true, context)
          }
          guard let body else { continue }
          hasDiff = true
          answer(view, of: query, body)
        } catch .answerTooLarge(let limit) {
          // Other views may show less of the same result.
          refuse(view, of: query, .answerTooLarge(limit: limit))
        }
      }
      if hasDiff { counters.changed += 1 }
      trim(query)
      measure(query)
      if memory.byteCount > configuration.maxBytes {
        query.dropChanges()
        measure(query)
      }
    } catch .queryTimeout, .busy {
      if timeLeft == nil { postpone(query, at: current) } else { suspend(query) }
    } catch {
      end(query, context.transaction.mapError(error))
    }
  }

  private mutating func end(_ query: LiveQuery, _ error: StoreError) {
    deactivate(query, .failed(error))
    index.remove(query)
    drop(query)
  }

  private mutating func deactivate(_ query: LiveQuery, _ answer: LiveAnswer) {
    for view in query.views.values {
      for waiters in view.waiters.values { send(answer, to: waiters, of: query) }
      view.waiters = [:]
    }
    query.isActive = false
  }

  /// Sends the diff to every client of `view`; clients with the same token share its bytes.
  mutating func answer(_ view: LiveView, of query: LiveQuery, _ body: AnswerBody) {
    counters.diffs += 1
    for (from, waiters) in view.waiters {
      let answer = LiveAnswer.diff(body.diff(from: from))
      send(answer, to: waiters, of: query)
    }
    view.waiters = [:]
    deactivateIfUnused(query)
  }

  /// Sends the error to every client of `view`.
  private mutating func refuse(_ view: LiveView, of query: LiveQuery, _ error: StoreError) {
    for waiters in view.waiters.values { send(.failed(error), to: waiters, of: query) }
    view.waiters = [:]
    deactivateIfUnused(query)
  }

  private mutating func send(
    _ answer: LiveAnswer, to waiters: [UInt64: any LiveWaiter], of query: LiveQuery
  ) {
    add(OutgoingAnswer(answer: answer, waiters: Array(waiters.values)))
    counters.delivered += waiters.count
    query.waiterCount -= waiters.count
    answered += waiters.keys
  }

  /// Removes the waiters whose answers were delivered: after the delivery, because thousands of
  /// removals would delay it.
  mutating func removeAnswered() {
    for ticket in answered { removeRegistration(of: ticket) }
    answered = []
  }

  mutating func remove(ticket: UInt64) {
    if let registration = removeRegistration(of: ticket) { registration.query.waiterCount -= 1 }
  }

  @discardableResult private mutating func removeRegistration(of ticket: UInt64) -> Registration? {
    guard let registration = registrations.removeValue(forKey: ticket) else { return nil }
    if tickets[registration.waiter] == ticket { tickets[registration.waiter] = nil }
    return registration
  }

  /// Adds a query, in place of another one of its fetch.
  mutating func keep(_ query: LiveQuery) {
    if let other = queries.updateValue(query, forKey: query.key), other !== query { forget(other) }
    query.isKept = true
    query.passed = passed
    measure(query)
  }

  /// Removes a query, which has no waiters.
  mutating func drop(_ query: LiveQuery) {
    guard query.isKept else { return }
    queries[query.key] = nil
    forget(query)
  }

  private mutating func forget(_ query: LiveQuery) {
    byteCount -= query.countedBytes
    query.countedBytes = 0
    query.isKept = false
  }

  /// Keeps only the latest changes of a query.
  func trim(_ query: LiveQuery) {
    query.log.trim(to: configuration.maxLoggedChanges, bytes: configuration.maxLoggedBytes)
  }

  /// Updates the part of a query in ``byteCount``.
  mutating func measure(_ query: LiveQuery) {
    guard query.isKept else { return }
    let size = query.byteCount
    byteCount += size - query.countedBytes
    query.countedBytes = size
  }

  /// Deactivates `query` if it has no waiters; it is up to date with the current snapshot.
  mutating func deactivateIfUnused(_ query: LiveQuery) {
    guard query.isActive, query.waiterCount == 0 else { return }
    query.isActive = false
    if let current, current.position > query.position { query.position = current.position }
    index.remove(query)
  }
}
