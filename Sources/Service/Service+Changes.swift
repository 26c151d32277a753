// The history of saves: which objects came, changed and went, at once, as a long-poll or a stream.

import FetchModel
import HTTPServer
import Synchronization
import Threads

extension Service {
  /// The most saves of one answer.
  static let maxSaves = 1_000

  /// `GET /v1/changes`.
  func changes(_ call: Call) throws(Problem) {
    guard !store.properties.isReadOnly else { throw .withoutHistory }
    let query = try ChangesQuery(call, defaultWait: configuration.defaultWait)
    if call.wantsStream {
      call.exchange.mark(RequestKind.stream.rawValue)
      let start = query.start ?? store.newestToken
      let stream = ChangeStream(
        service: self, caller: call.callerID, limit: query.limit, start: start)
      call.endsWithCredential(stream)
      return call.exchange.stream(headers: EventOutput.headers + call.commonHeaders, stream)
    }
    lanes.gather(for: call.callerID, refused: call.refuse) { [self] in
      let waiter = ChangeWaiter(call: call, query: query, store: store)
      guard !waiter.answer(isFinal: query.wait == 0) else { return }
      feed.add(waiter)
      call.endsWithCredential(waiter)
      call.exchange.onDisconnect { [feed, weak waiter] in waiter.map(feed.remove) }
      deadlines.schedule(after: query.wait) { [feed, weak waiter] in
        guard let waiter else { return }
        feed.remove(waiter)
        _ = waiter.answer(isFinal: true)
      }
      // A save may have come between the first look and the waiting.
      if waiter.answer(isFinal: false) { feed.remove(waiter) }
    }
  }
}

extension Problem {
  /// - Parameter limit: the most bytes of an answer.
  static func tooManyChanges(_ limit: Int) -> Problem {
    var problem = Problem.answerTooLarge(limit)
    problem.hint = "a smaller `limit` asks for fewer saves"
    return problem
  }

  fileprivate static let withoutHistory = badRequest(
    "not-observable", "This server keeps no history: its store is read only.")
}

/// What a request for changes asks.
struct ChangesQuery: Sendable {
  /// nil: all that history holds.
  private(set) var start: Token?
  private(set) var limit = Service.maxSaves
  /// Seconds to wait where there is nothing yet.
  private(set) var wait = 0.0

  init(_ call: Call, defaultWait: Double) throws(Problem) {
    let items = try call.queryItems(only: ["since", "limit", "wait"])
    do {
      if let text = items["since"] {
        switch try Parameter(name: "since", value: .text(text)).since() {
        case .now: start = call.service.store.newestToken
        case .token(let token): start = token
        }
        wait = defaultWait
      }
      if let text = items["limit"] {
        let count = try Parameter(name: "limit", value: .text(text)).count()
        limit = min(count, Service.maxSaves)
      }
      if let text = items["wait"] {
        wait = try Parameter(name: "wait", value: .text(text))
          .seconds(atMost: FetchRequest.longestWait)
      }
    } catch {
      throw Problem(error, isPath: false)
    }
    guard limit > 0 else {
      throw .badRequest("bad-parameter", "`limit`: a whole number above 0")
    }
    if let last = call.request.header("Last-Event-ID") {
      guard let token = Token(last) else { throw .badToken }
      start = token
    }
  }
}

/// Something that looks at the history again after each commit.
protocol ChangeObserver: AnyObject, Sendable {
  /// Looks, and says whether it is done.
  func look() -> Bool
}

/// Tells its observers of commits.
final class ChangeFeed: Sendable {
  // Guards the observers; never held while one looks.
  private let observers = Mutex<[ObjectIdentifier: any ChangeObserver]>([:])
  private let lane = ThreadPool(threads: 1, queue: .max)

  func add(_ observer: any ChangeObserver) {
    observers.withLock { $0[ObjectIdentifier(observer)] = observer }
  }

  func remove(_ observer: any ChangeObserver) {
    observers.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(observer)) }
  }

  /// Has every observer look, on a thread of the feed's.
  func storeDidChange() {
    guard observers.withLock({ !$0.isEmpty }) else { return }
    _ = lane.run { [self] in
      for observer in observers.withLock({ Array($0.values) }) where observer.look() {
        remove(observer)
      }
    }
  }

  /// Returns when everyone was told.
  func close() { lane.finish() }
}

/// A request that waits for the next save.
private final class ChangeWaiter: ChangeObserver, CredentialHolder {
  private let call: Call
  private let query: ChangesQuery
  private let store: any Store
  private let isAnswered = Mutex(false)

  init(call: Call, query: ChangesQuery, store: any Store) {
    self.call = call
    self.query = query
    self.store = store
  }

  func look() -> Bool { answer(isFinal: false) }

  func end(_ problem: Problem) {
    call.service.feed.remove(self)
    if takeAnswer() { call.refuse(problem) }
  }

  /// True for the first call: the request is answered once.
  private func takeAnswer() -> Bool {
    isAnswered.withLock { isAnswered in
      defer { isAnswered = true }
      return !isAnswered
    }
  }

  /// Answers if there is something to tell, or whatever there is if `isFinal` or at the end.
  func answer(isFinal: Bool) -> Bool {
    let isDraining = call.service.isDraining
    let result: Result<ChangeHistory?, StoreError>
    do {
      result = .success(try store.changes(after: query.start, limit: query.limit))
    } catch {
      result = .failure(error)
    }
    let isNews = if case .success(let history?) = result { !history.saves.isEmpty } else { false }
    if case .success(_?) = result, !isNews, !isFinal, !isDraining { return false }
    guard takeAnswer() else { return true }
    if !isNews, let problem = call.service.replacementProblem {
      call.refuse(problem)
    } else {
      respond(result)
    }
    return true
  }

  private func respond(_ result: Result<ChangeHistory?, StoreError>) {
    switch result {
    case .success(let history?):
      let json = history.json(store.model)
      let limit = call.service.configuration.maxAnswerBytes
      json.count > limit ? call.refuse(.tooManyChanges(limit)) : call.respond(json: json)
    case .success(nil): call.refuse(.tokenExpired)
    case .failure(let error): call.refuse(Problem(error))
    }
  }
}
