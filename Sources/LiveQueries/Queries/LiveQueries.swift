// Every live query of a store with the clients that wait for them: moments of the store, commands
// and deadlines enter, answers gather in the outbox. A plain value for one thread; it waits for
// nothing and hands nothing out.

import FetchModel

/// What a client asks to be told.
struct FollowRequest: Sendable {
  let plan: FetchPlan
  /// The only object observed; nil for a fetch.
  let only: ObjectID?
  let since: LiveStart
  let deadline: ContinuousClock.Instant?
  let waiter: any LiveWaiter
  /// Whether it is not to be answered from memory: its answer has to be true of the moment that
  /// the store is at, like those of others.
  var needsConsistentSnapshot = false
}

/// An answer on its way to those it is for.
struct OutgoingAnswer {
  let answer: LiveAnswer
  var waiters: [any LiveWaiter]
  /// Whose diff it is and from when, so that others who ask for the same can be told together.
  var origin: AnswerOrigin?
}

/// A view and the token that its clients have.
struct AnswerOrigin: Hashable {
  let view: ObjectIdentifier
  let from: Token
}

/// The live queries of one store.
struct LiveQueries {
  /// Where a registered waiter stands.
  struct Place {
    let query: LiveQuery
    let view: LiveView
    let from: Token
    let waiter: ObjectIdentifier
    let deadline: ContinuousClock.Instant?
  }

  let model: Model
  /// How the store compares values; nil where it cannot tell.
  let columns: (any ColumnTraits)?
  let configuration: LiveConfiguration
  /// The moment that everything active is true of; nil before the store was first read.
  private(set) var current: Token?
  /// Tokens that the store has shown, so that clients' tokens need no query.
  private var known: [Int64: Token] = [:]
  var queries: [QueryKey: LiveQuery] = [:]
  var index = QueryIndex()
  var places: [UInt64: Place] = [:]
  var tickets: [ObjectIdentifier: UInt64] = [:]
  var nextTicket: UInt64 = 0
  var deadlines = DeadlineHeap()
  var outbox: [OutgoingAnswer] = []
  /// Who waits for what is being found out elsewhere.
  var resumes: [CatchUpKey: PendingCatchUp] = [:]
  /// What is to be found out elsewhere and nobody was told of yet.
  var newResumes: [CatchUpJob] = []
  /// Requests that are to be served anew, after what came meanwhile.
  var returned: [FollowRequest] = []
  /// Whether nothing is to be begun any more.
  var isEnding = false
  var counters = LiveCounters()

  init(
    model: Model, columns: (any ColumnTraits)? = nil, configuration: LiveConfiguration
  ) {
    self.model = model
    self.columns = columns
    self.configuration = configuration
  }

  /// Those whose answer is in the outbox: they are forgotten when it has been handed out.
  private var answered: [UInt64] = []
  /// How many clients wait for a moment that changes something for them.
  var waiterCount: Int { places.count - answered.count }

  /// Whether a moment of the store would be of use to someone now.
  var hasActiveQueries: Bool { waiterCount > 0 || !resumes.isEmpty }

  /// Goes on to the context's moment and answers everyone whom it changes something for.
  mutating func catchUp(_ context: CatchUpContext) throws(StoreError) {
    let token = context.token
    guard let last = current else {
      note(token)
      return
    }
    guard token != last else { return }
    guard token.epoch == last.epoch, token.position > last.position else {
      restart(token)
      return
    }
    if hasActiveQueries {
      // What was forgotten of the history since then cannot be told.
      guard try isHistoryComplete(since: last.position, context) else { return restart(token) }
      let candidates = try candidates(after: last.position, context)
      let latest = ContinuousClock.now + configuration.longPatience * 2
      for candidate in candidates {
        step(candidate, from: last.position, context, until: latest)
      }
    }
    counters.moments += 1
    note(token)
  }

  /// A query that a moment may change, and the touched objects that it has to ask of; nil where
  /// that is everything.
  private struct Candidate {
    let query: LiveQuery
    let objects: Set<ObjectID>?
  }

  /// The active queries that what was touched after `base` may change, those first that ask least;
  /// where there is no time to look at what was touched, all that look at something of it.
  private mutating func candidates(
    after base: Int64, _ context: CatchUpContext
  ) throws(StoreError) -> [Candidate] {
    let moment = context.moment
    let touched = try moment.within(nil) { () throws(StoreError) in
      try context.changes(after: base, in: model)
    }
    var search = CandidateSearch(index, touched, after: base, moment)
    try moment.within(configuration.longPatience * 2) { () throws(StoreError) in search.run() }
    counters.settled += search.filteredOut
    return search.found.all
      .map { Candidate(query: $0, objects: search.objects(for: $0)) }
      .sorted { ($0.objects?.count ?? .max) < ($1.objects?.count ?? .max) }
  }

  /// Whether `token` is one that the store showed lately.
  func isKnown(_ token: Token) -> Bool { known[token.position] == token }

  /// The token that the store showed lately at `position`.
  func token(at position: Int64) -> Token? { known[position] }

  /// Whether the store can still tell all that was touched after `position`.
  func isHistoryComplete(since position: Int64, _ context: CatchUpContext) throws(StoreError)
    -> Bool
  {
    if position == context.token.position { return true }
    guard let token = known[position] else { return false }
    return try context.moment.standing(of: token) == .known
  }

  private mutating func note(_ token: Token) {
    current = token
    note(shown: token)
  }

  /// Remembers a token that the store has shown in this history.
  mutating func note(shown token: Token) {
    known[token.position] = token
    if known.count > 4_096 {
      let oldest = known.keys.sorted().prefix(2_048)
      for position in oldest { known[position] = nil }
    }
  }

  /// Another history: whatever was known of the old one is worth nothing.
  private mutating func restart(_ token: Token) {
    for query in queries.values { dismiss(query, .expired) }
    queries = [:]
    index = QueryIndex()
    known = [:]
    note(token)
  }

  /// Takes one active query a moment further. One that fails ends; its clients are told. One that
  /// there is no time for goes on elsewhere.
  ///
  /// - Parameters:
  ///   - base: the position that everything active is true of.
  ///   - latest: when nothing more is begun here, so that others are not kept waiting.
  private mutating func step(
    _ candidate: Candidate, from base: Int64, _ context: CatchUpContext,
    until latest: ContinuousClock.Instant
  ) {
    let query = candidate.query
    counters.considered += 1
    query.position = base
    do throws(StoreError) {
      guard ContinuousClock.now < latest, let changes = try changes(of: candidate, context) else {
        return postpone(query, at: current)
      }
      guard !changes.isEmpty else { return }
      var hasDiff = false
      for view in query.views.values where !view.waiters.isEmpty {
        do throws(StoreError) {
          let body = try context.moment.within(configuration.longPatience) {
            () throws(StoreError) in
            try query.body(for: view, changes, from: base, isStep: true, context)
          }
          guard let body else { continue }
          hasDiff = true
          answer(view, of: query, body)
        } catch .answerTooLarge(let limit) {
          // Others may look at less of the same result.
          refuse(view, of: query, .answerTooLarge(limit: limit))
        }
      }
      if hasDiff { counters.changed += 1 }
      query.log.trim(to: configuration.maxLoggedChanges)
    } catch .queryTimeout {
      postpone(query, at: current)
    } catch {
      end(query, context.moment.meaning(of: error))
    }
  }

  /// What the moment did to a query; nil where that takes too long.
  private func changes(
    of candidate: Candidate, _ context: CatchUpContext
  ) throws(StoreError) -> [RowChange]? {
    do throws(StoreError) {
      return try context.moment.within(configuration.longPatience) { () throws(StoreError) in
        try candidate.query.advance(context, affected: candidate.objects)
      }
    } catch .queryTimeout {
      return nil
    }
  }

  private mutating func end(_ query: LiveQuery, _ error: StoreError) {
    dismiss(query, .failed(error))
    index.remove(query)
    queries[query.key] = nil
  }

  private mutating func dismiss(_ query: LiveQuery, _ answer: LiveAnswer) {
    for view in query.views.values {
      for waiters in view.waiters.values { send(answer, to: waiters, of: query) }
      view.waiters = [:]
    }
    query.isActive = false
  }

  /// Gives every client of `view` the diff, those of one token the same bytes.
  mutating func answer(_ view: LiveView, of query: LiveQuery, _ body: AnswerBody) {
    counters.diffs += 1
    for (from, waiters) in view.waiters {
      let answer = LiveAnswer.diff(json: body.json(from: from), to: body.to, isEmpty: false)
      send(answer, to: waiters, of: query)
    }
    view.waiters = [:]
    rest(query)
  }

  /// Ends the waiting of every client of `view`, whose diff cannot be sent.
  private mutating func refuse(_ view: LiveView, of query: LiveQuery, _ error: StoreError) {
    for waiters in view.waiters.values { send(.failed(error), to: waiters, of: query) }
    view.waiters = [:]
    rest(query)
  }

  private mutating func send(
    _ answer: LiveAnswer, to waiters: [UInt64: any LiveWaiter], of query: LiveQuery
  ) {
    outbox.append(OutgoingAnswer(answer: answer, waiters: Array(waiters.values)))
    counters.delivered += waiters.count
    query.waiterCount -= waiters.count
    answered += waiters.keys
  }

  /// Forgets those whose answer was in the outbox, when it has been handed out: thousands are not
  /// to wait for that.
  mutating func forgetAnswered() {
    for ticket in answered { forgetPlace(of: ticket) }
    answered = []
  }

  mutating func forget(_ ticket: UInt64) {
    if let place = forgetPlace(of: ticket) { place.query.waiterCount -= 1 }
  }

  @discardableResult private mutating func forgetPlace(of ticket: UInt64) -> Place? {
    guard let place = places.removeValue(forKey: ticket) else { return nil }
    if tickets[place.waiter] == ticket { tickets[place.waiter] = nil }
    return place
  }

  /// Lets `query` rest if nobody waits for it any more: it is true of the current moment.
  mutating func rest(_ query: LiveQuery) {
    guard query.isActive, query.waiterCount == 0 else { return }
    query.isActive = false
    query.position = max(query.position, current?.position ?? 0)
    index.remove(query)
  }
}
