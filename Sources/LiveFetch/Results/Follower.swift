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

  let store: any ObjectStore
  /// The members of the request, without `since`.
  let request: [JSON.Member]
  /// Seconds that a request is held.
  let hold: Double
  /// From where the next diff is asked for; nil asks for the result anew.
  var token: String?
  private var failures = 0

  init(store: any ObjectStore, request: [JSON.Member], hold: Double, token: String? = nil) {
    self.store = store
    self.request = request + [.init(name: "digest", value: .boolean(true))]
    self.hold = hold
    self.token = token
  }

  /// The result now.
  func snapshot() async -> Result<ResultState, ObjectStoreError> {
    do throws(ObjectStoreError) {
      guard let state = ResultState(json: try await store.fetch(.object(request))) else {
        throw .notUnderstood("no snapshot")
      }
      return .success(state)
    } catch {
      return .failure(error)
    }
  }

  /// Waits for what comes next.
  mutating func next() async -> Event {
    if failures > 0 { try? await Task.sleep(for: .milliseconds(pause)) }
    guard let token else { return event(of: await snapshot()) }
    do throws(ObjectStoreError) {
      let json = try await store.fetch(.object(request + waiting(since: token)))
      guard let diff = Diff(json: json) else { throw .notUnderstood("no diff") }
      failures = 0
      return .diff(diff)
    } catch .tokenExpired {
      return event(of: await snapshot())
    } catch {
      return event(of: .failure(error))
    }
  }

  private mutating func event(of result: Result<ResultState, ObjectStoreError>) -> Event {
    switch result {
    case .success(let state):
      failures = 0
      return .state(state)
    case .failure(let error) where error.mayPass:
      failures += 1
      return .unreachable(error)
    case .failure(let error): return .failed(error)
    }
  }

  private func waiting(since token: String) -> [JSON.Member] {
    [
      .init(name: "since", value: .string(token)),
      .init(name: "wait", value: .number(String(hold))),
    ]
  }

  /// Milliseconds before the next attempt: a tenth of a second, doubled each time up to five
  /// seconds, and a little by chance, so that many clients don't come at once.
  private var pause: Int {
    let base = 100 << min(failures - 1, 6)
    return min(5000, base) + Int.random(in: 0...base / 4)
  }
}

extension FetchError {
  /// Whether the same request may succeed later.
  var mayPass: Bool { if case .store(let error) = self { error.mayPass } else { false } }
}

extension ObjectStoreError {
  /// Whether the same request may succeed later.
  var mayPass: Bool {
    switch self {
    case .unreachable: true
    case .refused(let problem): [429, 503, 504].contains(problem.status)
    case .tokenExpired, .notUnderstood, .cancelled: false
    }
  }
}
