// `GET /v1/changes`: the saves after a token, at once, after a wait or as a stream.

import FetchModel
import LiveFetchHTTPServer
import LiveFetchThreads
import Synchronization

/// The parameters of a request for the history.
struct ChangesQuery: Sendable {
  /// nil for the whole history; for a stream, from the newest save on.
  var start: Token?
  /// True if a stream begins at the newest save, which its client does not know.
  var isFromNow = false
  /// The tag of the tokens of the response, from which the caller's fetches go on.
  var tokenTag: UInt32?
  /// The maximum number of saves of one response.
  var limit = 1_000
  /// Seconds to wait if there are no saves yet.
  var wait = 0.0
  /// True if ids beyond ±2^53 are strings.
  var integersAsStrings = false
}

// MARK: - Parse

extension Service {
  func parseChanges(_ context: RequestContext) throws(Problem) -> ChangesQuery {
    guard !store.properties.isReadOnly else { throw .withoutHistory }
    let items = try context.request.queryItems(only: ["since", "limit", "wait", "int64"])
    var query: ChangesQuery
    do {
      query = try changesQuery(items)
    } catch {
      throw Problem(error, isPath: false)
    }
    guard query.limit > 0 else {
      throw .badRequest("bad-parameter", "`limit`: a whole number above 0")
    }
    query.tokenTag = context.tokenTag
    if let last = try context.lastEventID() {
      query.start = last
    } else if items["since"].map({ $0 == "now" }) ?? true {
      query.start = query.start?.tagged(query.tokenTag)
      query.isFromNow = true
    }
    return query
  }

  private func changesQuery(_ items: [String: String]) throws(FetchRequestError) -> ChangesQuery {
    var query = ChangesQuery()
    if let text = items["since"] {
      switch try Parameter(name: "since", value: .text(text)).since() {
      case .now: query.start = store.newestToken
      case .token(let token): query.start = token
      }
      query.wait = configuration.defaultWait
    }
    if let text = items["limit"] {
      let count = try Parameter(name: "limit", value: .text(text)).count()
      query.limit = min(count, query.limit)
    }
    if let text = items["wait"] {
      query.wait = try Parameter(name: "wait", value: .text(text))
        .seconds(atMost: FetchRequest.longestWait)
    }
    if let text = items["int64"] {
      query.integersAsStrings = try Parameter(name: "int64", value: .text(text)).flag(
        named: "string")
    }
    return query
  }
}

// MARK: - Query and respond

extension Service {
  func follow(_ query: ChangesQuery, _ context: RequestContext) {
    guard !context.wantsStream else { return context.respond(ChangeStream(context, query)) }
    context.begin(.wait)
    pools.readLong(for: context.callerID, refused: context.refuse) { [self] in
      let poll = ChangePoll(context, query)
      guard !poll.respond(mustAnswer: query.wait == 0, mayRetry: true) else { return }
      history.add(poll)
      context.endWhenCredentialExpires(poll)
      context.exchange.onDisconnect { [history, weak poll] in poll.map(history.remove) }
      deadlines.schedule(after: query.wait) { [history, weak poll] in
        guard let poll else { return }
        history.remove(poll)
        // The thread of the deadlines reads no store.
        history.run { _ = poll.respond(mustAnswer: true) }
      }
      // A save may have been committed between the first read and the subscription.
      if poll.respond(mustAnswer: false, mayRetry: true) { history.remove(poll) }
    }
  }

  /// - Throws: 400 if the response would be too large.
  func json(of history: ChangeHistory, _ query: ChangesQuery) throws(Problem) -> [UInt8] {
    let json = history.json(store.model, integersAsStrings: query.integersAsStrings)
    guard json.count > configuration.maxResponseBytes else { return json }
    var problem = Problem.answerTooLarge(configuration.maxResponseBytes)
    problem.hint = "a smaller `limit` asks for fewer saves"
    throw problem
  }
}

/// A request that waits for the next save.
private final class ChangePoll: HistoryObserver, CredentialHolder {
  private let context: RequestContext
  private let query: ChangesQuery
  private let hasResponded = Mutex(false)
  // Protects where to read on: saves that changed nothing are read once.
  private let position: Mutex<Token?>

  init(_ context: RequestContext, _ query: ChangesQuery) {
    self.context = context
    self.query = query
    position = Mutex(query.start)
  }

  func historyDidChange() -> Bool { respond(mustAnswer: false) }

  /// Responds if there are saves or an error, and in any case if `mustAnswer` or at the service's end.
  /// Returns true once it has responded, or another service does so.
  ///
  /// - Parameter mayRetry: true for the reads of the request itself; another service may repeat them.
  func respond(mustAnswer: Bool, mayRetry: Bool = false) -> Bool {
    let service = context.service
    let mustAnswer = mustAnswer || service.isDraining
    let result: Result<ChangeHistory?, StoreError>
    do {
      let start = position.withLock { $0 }
      let history = try service.store.changes(after: start?.tagged(nil), limit: query.limit)
      result = .success(history?.tagged(query.tokenTag, from: query.start))
    } catch {
      result = .failure(error)
    }
    let hasSaves = (try? result.get()).map { $0.map { !$0.saves.isEmpty } ?? false } ?? false
    if case .success(let history?) = result, !hasSaves, !mustAnswer {
      position.withLock { $0 = history.to }
      return false
    }
    guard claimResponse() else { return true }
    if mayRetry, case .failure(let error) = result, context.retry(after: error) { return true }
    context.perform { () throws(Problem) in
      if !hasSaves, let problem = service.pollProblem { throw problem }
      let history = try history(of: result)
      let json = try service.json(of: history, query)
      context.tracker?.record(items: history.saves.reduce(0) { $0 + $1.objectCount })
      context.respond(json: json, at: history.to)
    }
    return true
  }

  func end(_ problem: Problem) {
    context.service.history.remove(self)
    if claimResponse() { context.refuse(problem) }
  }

  /// Returns true for the first call: one response is sent.
  private func claimResponse() -> Bool {
    hasResponded.withLock { hasResponded in
      defer { hasResponded = true }
      return !hasResponded
    }
  }

  private func history(
    of result: Result<ChangeHistory?, StoreError>
  ) throws(Problem) -> ChangeHistory {
    switch result {
    case .success(let history?): return history
    case .success(nil): throw .tokenExpired
    case .failure(let error): throw Problem(error)
    }
  }
}

extension ChangeHistory {
  /// The same saves with tagged tokens, after the token that the client sent.
  func tagged(_ tag: UInt32?, from start: Token?) -> ChangeHistory {
    let saves = saves.map { save in
      SaveRecord(
        token: save.token.tagged(tag), at: save.at, inserted: save.inserted, updated: save.updated,
        deleted: save.deleted)
    }
    return ChangeHistory(from: start ?? from.tagged(tag), to: to.tagged(tag), saves: saves)
  }
}

extension Problem {
  fileprivate static let withoutHistory = badRequest(
    "not-observable", "This server keeps no history: its store is read only.")
}

// MARK: - Notifications

/// Something that reads the history again after each commit.
protocol HistoryObserver: AnyObject, Sendable {
  /// Returns true if it needs no further notification.
  func historyDidChange() -> Bool
}

/// Notifies its observers of commits.
final class HistoryFeed: Sendable {
  // Protects the observers; never held while one is notified.
  private let observers = Mutex<[ObjectIdentifier: any HistoryObserver]>([:])
  /// True while a notification of all observers waits for the thread. It covers later commits too.
  private let isQueued = Atomic(false)
  private let pool: ThreadPool

  init(pool: ThreadPool) { self.pool = pool }

  func add(_ observer: any HistoryObserver) {
    observers.withLock { $0[ObjectIdentifier(observer)] = observer }
  }

  func remove(_ observer: any HistoryObserver) {
    observers.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(observer)) }
  }

  /// Runs `body` on the feed's thread.
  func run(_ body: @escaping @Sendable () -> Void) { _ = pool.run(body) }

  /// Notifies every observer on the feed's thread.
  func storeDidChange() {
    guard observers.withLock({ !$0.isEmpty }),
      !isQueued.exchange(true, ordering: .sequentiallyConsistent)
    else { return }
    run { [self] in
      isQueued.store(false, ordering: .sequentiallyConsistent)
      for observer in observers.withLock({ Array($0.values) }) where observer.historyDidChange() {
        remove(observer)
      }
    }
  }
}
