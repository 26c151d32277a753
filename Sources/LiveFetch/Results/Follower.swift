// Asks a store, again and again, what changed in a fetch. Waits between failures, longer each time.

/// One fetch's way along the history of its store.
struct Follower: Sendable {
  enum Event: Sendable {
    /// What changed.
    case diff(Diff)
    /// The result anew: history did not reach back, or it was asked for.
    case state(ResultState)
    /// Nobody answered; the next event tries again.
    case unreachable(ObjectStoreError)
    /// The store refuses the fetch, or was closed.
    case failed(ObjectStoreError)
  }

  private let store: any ObjectStore
  private let feed: any FetchFeed
  /// The members of the request, without `since`.
  private let request: JSON
  /// Seconds that a request is held.
  private let hold: Double
  /// From where the next diff is asked for; nil asks for the result anew.
  var token: String?
  private var failures = 0
  /// Seconds that the last failure asked to be waited.
  private var leastPause = 0.0

  /// - Parameter unavailability: why nobody answered the last time; the first event is then waited for.
  init(
    store: any ObjectStore, request: [JSON.Member], hold: Double, token: String? = nil,
    after unavailability: ObjectStoreError? = nil
  ) {
    self.store = store
    self.request = .object(request + [.init(name: "digest", value: .boolean(true))])
    self.hold = hold
    self.token = token
    feed = store.feed(of: self.request)
    if let unavailability { note(unavailability) }
  }

  /// The result now.
  func snapshot() async -> Result<ResultState, ObjectStoreError> {
    do throws(ObjectStoreError) {
      guard let state = ResultState(json: try await store.fetch(request)) else {
        throw .notUnderstood("no snapshot")
      }
      return .success(state)
    } catch {
      return .failure(error)
    }
  }

  /// Waits for what comes next.
  mutating func next() async -> Event {
    if failures > 0 { try? await Task.sleep(for: pause) }
    guard let token else { return event(of: await snapshot()) }
    let answer: JSON
    do throws(ObjectStoreError) {
      // Who comes back asks for an answer at once: it says that somebody is there again.
      answer = try await feed.next(since: token, hold: failures > 0 ? 0 : hold)
    } catch .tokenExpired {
      return event(of: await snapshot())
    } catch {
      return event(of: .failure(error))
    }
    if let diff = Diff(json: answer) {
      succeeded()
      return .diff(diff)
    }
    // A diff that is the whole result has not the form of a snapshot.
    if answer["reset"] == .boolean(true) { return event(of: await snapshot()) }
    return event(of: ResultState(json: answer).map { .success($0) } ?? .failure(Self.noDiff))
  }

  private static let noDiff = ObjectStoreError.notUnderstood("no diff")

  private mutating func event(of result: Result<ResultState, ObjectStoreError>) -> Event {
    switch result {
    case .success(let state):
      succeeded()
      return .state(state)
    case .failure(let error) where error.mayPass:
      note(error)
      return .unreachable(error)
    case .failure(let error): return .failed(error)
    }
  }

  private mutating func succeeded() { (failures, leastPause) = (0, 0) }

  private mutating func note(_ error: ObjectStoreError) {
    failures += 1
    leastPause = error.unavailability?.retryAfter ?? 0
  }

  /// The time before the next attempt: a tenth of a second, doubled each time up to five seconds, or
  /// what was asked for, up to five minutes; and a little by chance, so that many clients don't come
  /// at once.
  private var pause: Duration {
    let backoff = min(5, 0.1 * Double(1 << min(failures - 1, 6)))
    let base = max(backoff, min(leastPause, 300))
    return .seconds(base * Double.random(in: 1...1.25))
  }
}
