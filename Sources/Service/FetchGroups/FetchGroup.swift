// The body of `POST /v1/live` → named fetches with their plans.
//
// Promises: one bad fetch refuses the call, and the refusal names it.

import FetchModel
import LiveFetchThreads

/// The body of a call, before its fetches are read.
struct ParsedFetchGroup: Sendable {
  /// The maximum number of fetches of one call.
  private static let maxCount = 1_000

  let members: [JSON.Member]
  /// Seconds; nil for the server's default.
  let wait: Double?
  /// The newest token when the request arrived, for `since=now`: one token for all fetches.
  let arrival: Token
  /// The token of the last event that the client of a stream has received before.
  let last: Token?

  init(_ context: RequestContext) throws(Problem) {
    arrival = context.service.store.newestToken
    last = context.wantsStream ? try context.lastEventID() : nil
    try context.request.queryItems(only: [])
    guard case .object(let members) = try context.request.jsonBody() else {
      throw Self.malformed("The body has to be an object with `fetches`.")
    }
    let names = ["fetches", "wait"]
    if let unknown = members.first(where: { !names.contains($0.name) }) {
      throw .badRequest(
        "unknown-parameter", "There is no parameter `\(unknown.name)` here.",
        hint: nearestName(to: unknown.name, among: names))
    }
    wait = try Self.wait(members.first { $0.name == "wait" }?.value)
    self.members = try Self.fetches(members.first { $0.name == "fetches" }?.value)
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

  private static func fetches(_ value: JSON?) throws(Problem) -> [JSON.Member] {
    guard case .object(let members)? = value, !members.isEmpty else {
      throw malformed("`fetches`: an object with a fetch under each name is required.")
    }
    guard members.count <= maxCount else {
      throw .badRequest("too-many-fetches", "One call takes at most \(maxCount) fetches.")
    }
    return members
  }

  static func malformed(_ detail: String) -> Problem { .badRequest("bad-parameter", detail) }
}

/// The fetches of one client that are followed together.
struct FetchGroup: Sendable {
  /// The longest name in bytes.
  private static let maxNameBytes = 255

  struct Named: Sendable {
    let name: String
    let plan: FetchPlan
    /// The token from which diffs are sent; nil to send a snapshot first.
    let start: Token?
    let tags: TokenTags
  }

  let fetches: [Named]
  /// Seconds; nil for the server's default.
  let wait: Double?

  init(_ parsed: ParsedFetchGroup, _ context: RequestContext) throws(Problem) {
    var fetches: [Named] = []
    fetches.reserveCapacity(parsed.members.count)
    for member in parsed.members {
      leaveProcessorBriefly()
      do throws(Problem) {
        fetches.append(try Self.resolve(member, of: parsed, context))
      } catch {
        throw error.of(fetch: member.name)
      }
    }
    self.fetches = fetches
    wait = parsed.wait
    if context.wantsStream { try checkObservable(context.service) }
  }

  private static func resolve(
    _ member: JSON.Member, of parsed: ParsedFetchGroup, _ context: RequestContext
  ) throws(Problem) -> Named {
    let service = context.service
    guard (1...maxNameBytes).contains(member.name.utf8.count) else {
      throw ParsedFetchGroup.malformed("A fetch's name has 1 to \(maxNameBytes) bytes.")
    }
    let fetch = try service.resolve(
      try service.fetchRequest(member.value), isPath: false, context.access)
    guard fetch.request.wait == nil else {
      throw .badRequest("bad-parameter", "`wait` is given once for all fetches, next to `fetches`.")
    }
    guard !fetch.request.explains else {
      throw .badRequest("bad-parameter", "`explain` explains one fetch at a time.")
    }
    // A fetch that cannot be followed still has a snapshot.
    if fetch.request.since != nil { try service.checkObservable(fetch.plan) }
    let (since, tags) = context.admitted(parsed.last.map { .token($0) } ?? fetch.request.since)
    let start: Token? =
      switch since {
      case .token(let token): token
      case .now: parsed.arrival
      case nil: nil
      }
    return Named(name: member.name, plan: fetch.plan, start: start, tags: tags)
  }

  /// Refuses fetches that a stream cannot follow.
  private func checkObservable(_ service: Service) throws(Problem) {
    for named in fetches {
      do throws(Problem) {
        try service.checkObservable(named.plan)
      } catch {
        throw error.of(fetch: named.name)
      }
    }
  }
}

extension Problem {
  /// The same problem, with the name of the fetch that it is about.
  func of(fetch name: String) -> Problem {
    var problem = self
    problem.members.insert(.init(name: "fetch", value: .string(name)), at: 0)
    problem.detail = "Fetch `\(name)`: \(detail)"
    return problem
  }
}
