// Requests the changes of a fetch, one after the other. Pauses after failures, longer each time.

import FetchModel

/// Follows one fetch from token to token.
struct Follower: Sendable {
  enum Event: Sendable {
    /// The next diff.
    case diff(Diff)
    /// The whole result: there is no token, it has expired, or the server asks for a new fetch.
    case state(ResultState)
    /// The store did not answer; the next call retries.
    case unreachable(ObjectStoreError)
    /// The store refuses the fetch or is closed.
    case failed(ObjectStoreError)
  }

  private let store: any ObjectStore
  private let feed: any FetchFeed
  /// The members of the request body, without `since`.
  private let request: JSON
  /// The seconds that one request waits for a change.
  private let hold: Double
  /// The token for the next request; nil requests a snapshot.
  var token: String?
  private var failures = 0
  /// The minimum pause in seconds that the last failure requested.
  private var minPause = 0.0

  /// Makes a follower.
  ///
  /// - Parameters:
  ///   - request: the members of the request body, without `since`.
  ///   - hold: the seconds that one request waits for a change, at most 60.
  ///   - token: the token that changes are requested from; nil requests a snapshot first.
  ///   - unavailability: the last connection error; the first event then comes after a pause.
  init(
    store: any ObjectStore, request: [JSON.Member], hold: Double, token: String? = nil,
    after unavailability: ObjectStoreError? = nil
  ) {
    self.store = store
    self.request = .object(request + [.init(name: "digest", value: .boolean(true))])
    self.hold = min(max(0, hold), 60)
    self.token = token
    feed = store.feed(of: self.request)
    if let unavailability { countFailure(unavailability) }
  }

  /// Fetches the current result.
  func snapshot() async -> Result<ResultState, ObjectStoreError> {
    do throws(ObjectStoreError) {
      return .success(try await store.state(of: request).state)
    } catch {
      return .failure(error)
    }
  }

  /// Waits for the next event. Returns at the latest after a pause and the time of two requests: the
  /// second one fetches the whole result if the history does not reach back to the token.
  mutating func next() async -> Event {
    if failures > 0 { try? await Task.sleep(for: pause) }
    guard let token else { return event(of: await snapshot()) }
    let answer: JSON
    do throws(ObjectStoreError) {
      // After a failure, request an immediate answer: it shows that the store is reachable again.
      answer = try await feed.next(since: token, hold: failures > 0 ? 0 : hold)
    } catch {
      return event(of: error.isTokenExpired ? await snapshot() : .failure(error))
    }
    if let diff = Diff(json: answer) {
      succeeded()
      return .diff(diff)
    }
    // `reset` asks the client to fetch again.
    if answer["reset"] == .boolean(true) { return event(of: await snapshot()) }
    return event(
      of: ResultState(json: answer).map { .success($0) } ?? .failure(Self.neitherDiffNorSnapshot))
  }

  private static let neitherDiffNorSnapshot = ObjectStoreError.notUnderstood(
    "neither a diff nor a snapshot")

  private mutating func event(of result: Result<ResultState, ObjectStoreError>) -> Event {
    switch result {
    case .success(let state):
      succeeded()
      return .state(state)
    case .failure(let error) where error.isTransient:
      countFailure(error)
      return .unreachable(error)
    case .failure(let error): return .failed(error)
    }
  }

  private mutating func succeeded() { (failures, minPause) = (0, 0) }

  private mutating func countFailure(_ error: ObjectStoreError) {
    failures += 1
    minPause = error.unavailability?.retryAfter ?? 0
  }

  /// The pause before the next attempt: 0.1 s, doubled for each failure, up to 5 s; or the pause that
  /// the server requested if it is longer, up to 5 minutes. Up to a quarter of it is added at random,
  /// so that many clients do not return at the same time.
  private var pause: Duration {
    let backoff = min(5, 0.1 * Double(1 << min(failures - 1, 6)))
    let base = max(backoff, min(minPause, 300))
    return .seconds(base * Double.random(in: 1...1.25))
  }
}
