// One request on its way through the service: what every answer has in common is added here.

import Bytes
import FetchModel
import HTTPServer

/// A request, the right to answer it, and the headers that all answers carry.
struct Call: Sendable {
  let request: HTTPRequest
  let exchange: HTTPExchange
  let service: Service
  /// nil for a request without a valid credential where one is required.
  var caller: Caller?
  /// How often it failed before because the schema had changed.
  var attempt = 0

  /// `LiveFetch-Token`, and what browsers of other origins need.
  var commonHeaders: [(name: String, value: String)] {
    service.commonHeaders(for: request)
  }

  func respond(_ response: HTTPResponse) {
    var response = response
    response.headers += commonHeaders
    exchange.respond(response)
  }

  func refuse(_ problem: Problem) { respond(problem.response) }

  /// Answers with JSON that is not to be stored.
  func respond(
    json: [UInt8], status: Int = 200, headers: [(name: String, value: String)] = []
  ) {
    let fixed = [
      (name: "Content-Type", value: "application/json"), (name: "Cache-Control", value: "no-store"),
    ]
    respond(HTTPResponse(status: status, headers: fixed + headers, body: .bytes(json)))
  }

  /// Runs `body` and answers with its problem if it throws one.
  func answering(_ body: () throws(Problem) -> Void) {
    do {
      try body()
    } catch {
      refuse(error)
    }
  }

  /// Runs a query here if it is quick, and where the others run if it turns out not to be.
  func query<Answer: Sendable>(
    _ run: @escaping @Sendable (QueryClass) throws(StoreError) -> Answer,
    then respond: @escaping @Sendable (Answer) throws(Problem) -> Void
  ) {
    do {
      let answer = try run(.quick)
      answering { () throws(Problem) in try respond(answer) }
    } catch .tooSlow {
      service.lanes.run(for: callerID, refused: refuse) { turn in
        self.query(in: turn, run, then: respond)
      }
    } catch {
      if !retry(after: error) { refuse(Problem(error)) }
    }
  }

  /// Whether the request is handled again by the service that knows the schema: this one has been
  /// replaced, or `error` shows that it is about to be. Not for requests that wait for a change.
  func retry(after error: StoreError = .busy) -> Bool {
    guard let retry = service.retry else { return false }
    if service.replacementProblem != nil {
      guard error != .queryTimeout else { return false }
    } else {
      guard case .schemaChanged = error, !service.isDraining, attempt < Self.maxAttempts else {
        return false
      }
    }
    retry(request, exchange, attempt + 1)
    return true
  }

  private static let maxAttempts = 50

  /// False where the query needs a further attempt.
  private func query<Answer: Sendable>(
    in turn: QueryTurn, _ run: (QueryClass) throws(StoreError) -> Answer,
    then respond: (Answer) throws(Problem) -> Void
  ) -> Bool {
    guard !exchange.isMemoryExhausted else {
      refuse(.memoryExhausted)
      return true
    }
    do throws(StoreError) {
      let isLeft = { @Sendable [exchange, service] in exchange.isLeft || service.isStopping }
      let answer = try turn.read(service.store, unless: isLeft) { () throws(StoreError) in
        try run(.full)
      }
      answering { () throws(Problem) in try respond(answer) }
    } catch .tooSlow {
      return false
    } catch {
      if !retry(after: error) { refuse(problem(error)) }
    }
    return true
  }

  /// Answers for a query that is not run.
  func refuse(_ refusal: QueryLanes.Refusal) {
    switch refusal {
    case .overloaded(let problem): refuse(problem)
    case .closed: if !retry() { refuse(.shuttingDown) }
    }
  }

  /// Runs a query that may take long; it ends soon after the client has left or the server stops.
  func whileAwaited<Answer>(
    _ ask: () throws(StoreError) -> Answer
  ) throws(StoreError) -> Answer {
    try service.store.unless(
      { [exchange, service] in exchange.isLeft || service.isStopping }, until: nil, ask)
  }

  /// The problem of a query that failed. One that ended as the server stops did not take too long.
  func problem(_ error: StoreError) -> Problem {
    error == .queryTimeout && service.isStopping ? .shuttingDown : Problem(error)
  }

  /// The names and values of the query string.
  func queryItems() throws(Problem) -> [(name: String, value: String)] {
    try request.queryItems()
  }

  /// Refuses every parameter that is not one of `names`, and repeated ones.
  func queryItems(only names: [String]) throws(Problem) -> [String: String] {
    var items: [String: String] = [:]
    for (name, value) in try queryItems() {
      guard names.contains(name) else {
        throw .badRequest(
          "unknown-parameter", "There is no parameter `\(name)` here.",
          hint: nearestName(to: name, among: names))
      }
      guard items.updateValue(value, forKey: name) == nil else {
        throw .badRequest("repeated-parameter", "`\(name)` may be given once.")
      }
    }
    return items
  }

  /// The body as JSON.
  func jsonBody() throws(Problem) -> JSON { try request.jsonBody() }

  /// Whether the client asked for a stream.
  var wantsStream: Bool { request.wantsStream }
}

extension HTTPRequest {
  /// The names and values of the query string.
  func queryItems() throws(Problem) -> [(name: String, value: String)] {
    do {
      return try PercentEncoding.decodeQuery(query ?? "")
    } catch {
      throw Problem(error, isPath: false)
    }
  }

  /// The body as JSON.
  func jsonBody() throws(Problem) -> JSON {
    try requireJSON()
    do {
      return try JSON(parsing: body)
    } catch {
      throw .malformedJSON(error)
    }
  }

  /// Throws if the body is not declared as JSON.
  func requireJSON() throws(Problem) {
    guard hasJSON(header("Content-Type") ?? "") else { throw .notJSON }
  }

  private func hasJSON(_ contentType: String) -> Bool {
    if contentType == "application/json" { return true }
    let type = contentType.lowercased().prefix { $0 != ";" && $0 != " " }
    return type == "application/json" || type.hasSuffix("+json")
  }

  /// Whether the client asked for a stream.
  var wantsStream: Bool {
    header("Accept")?.lowercased().contains("text/event-stream") ?? false
  }

  /// Whether the client has what `etag` names already.
  func knows(_ etag: String) -> Bool {
    if hasHeader("If-None-Match", etag) { return true }
    return header("If-None-Match").map { EntityTag.ifNoneMatch($0, names: etag) } ?? false
  }
}

extension Problem {
  static let memoryExhausted = overloaded(
    "Other requests and answers take all the memory that there is for them; try again.")
}
