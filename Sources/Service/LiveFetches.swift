// The body of `POST /v1/live` → named fetches, all of them good. One that is not refuses the call,
// and the refusal names it.

import FetchModel

/// What a client asks to be told of many fetches.
struct LiveFetches: Sendable {
  /// The most fetches of one connection.
  static let maxCount = 1_000
  /// The longest name in bytes.
  static let maxNameBytes = 255

  struct Named: Sendable {
    let name: String
    let fetch: ResolvedFetch
    /// The token from which diffs are sent; nil to send a snapshot first.
    let start: Token?

    /// - Parameter arrival: the newest token when the request arrived, for `since=now`.
    init(name: String, fetch: ResolvedFetch, arrival: Token) {
      self.name = name
      self.fetch = fetch
      start = fetch.request.since.map { since in
        if case .token(let token) = since { token } else { arrival }
      }
    }
  }

  let fetches: [Named]
  /// Seconds; nil where the client does not say.
  let wait: Double?

  init(_ call: Call) throws(Problem) {
    // One token for all: saves that are committed while the body is read come after it.
    let arrival = call.service.store.newestToken
    _ = try call.queryItems(only: [])
    guard case .object(let members) = try call.jsonBody() else {
      throw Self.malformed("The body has to be an object with `fetches`.")
    }
    let names = ["fetches", "wait"]
    if let stranger = members.first(where: { !names.contains($0.name) }) {
      throw .badRequest(
        "unknown-parameter", "There is no parameter `\(stranger.name)` here.",
        hint: nearestName(to: stranger.name, among: names))
    }
    wait = try Self.wait(members.first { $0.name == "wait" }?.value)
    fetches = try Self.fetches(members.first { $0.name == "fetches" }?.value, call.service, arrival)
  }

  private static func wait(_ value: JSON?) throws(Problem) -> Double? {
    guard let value else { return nil }
    do {
      return try Parameter(name: "wait", value: .json(value))
        .seconds(atMost: FetchRequest.longestWait)
    } catch {
      throw Problem(error, isPath: false)
    }
  }

  private static func fetches(
    _ value: JSON?, _ service: Service, _ arrival: Token
  ) throws(Problem) -> [Named] {
    guard case .object(let members)? = value, !members.isEmpty else {
      throw malformed("`fetches`: an object with a fetch under each name is required.")
    }
    guard members.count <= maxCount else {
      throw .badRequest("too-many-fetches", "One call takes at most \(maxCount) fetches.")
    }
    var fetches: [Named] = []
    fetches.reserveCapacity(members.count)
    for member in members {
      do throws(Problem) {
        let fetch = try resolve(member, service)
        fetches.append(Named(name: member.name, fetch: fetch, arrival: arrival))
      } catch {
        throw error.of(fetch: member.name)
      }
    }
    return fetches
  }

  private static func resolve(
    _ member: JSON.Member, _ service: Service
  ) throws(Problem) -> ResolvedFetch {
    guard (1...maxNameBytes).contains(member.name.utf8.count) else {
      throw malformed("A fetch's name has 1 to \(maxNameBytes) bytes.")
    }
    let fetch: ResolvedFetch
    do {
      let request = try FetchRequest(json: member.value)
      fetch = ResolvedFetch(request: request, plan: try service.resolver.resolve(request))
    } catch {
      throw Problem(error, isPath: false)
    }
    guard fetch.request.wait == nil else {
      throw .badRequest("bad-parameter", "`wait` is given once for all fetches, beside `fetches`.")
    }
    guard !fetch.request.explains else {
      throw .badRequest("bad-parameter", "`explain` explains one fetch at a time.")
    }
    // What cannot be followed has a snapshot all the same.
    if fetch.request.since != nil { try service.checkObservable(fetch.plan) }
    return fetch
  }

  /// Refuses fetches that a stream cannot follow.
  func checkObservable(_ service: Service) throws(Problem) {
    for named in fetches {
      do throws(Problem) {
        try service.checkObservable(named.fetch.plan)
      } catch {
        throw error.of(fetch: named.name)
      }
    }
  }

  private static func malformed(_ detail: String) -> Problem {
    .badRequest("bad-parameter", detail)
  }
}

extension Problem {
  /// The same refusal, naming which of many fetches it is about.
  func of(fetch name: String) -> Problem {
    var problem = self
    problem.members.insert(.init(name: "fetch", value: .string(name)), at: 0)
    problem.detail = "Fetch `\(name)`: \(detail)"
    return problem
  }
}
