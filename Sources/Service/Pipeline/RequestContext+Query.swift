// A query of the store → its response: on the worker while it is quick, otherwise in the pools.
//
// Promises: a query ends soon after its client has left or the server stops; a request that failed
// because the schema changed is handled again by the service that replaces this one.

import FetchModel

extension RequestContext {
  /// Runs a query on this thread, or in the pools if it takes too long for that, or if one of the
  /// caller's requests just did.
  func query<Result: Sendable>(
    _ run: @escaping @Sendable (QueryClass) throws(StoreError) -> Result,
    then respond: @escaping @Sendable (Result) throws(Problem) -> Void
  ) {
    let slowCallers = service.pools.slowCallers
    guard !slowCallers.isPaused(callerID.name) else {
      return queryInPools(run, then: respond)
    }
    begin(.query)
    do throws(StoreError) {
      let result = try slowCallers.measure(callerID.name) { () throws(StoreError) in
        try run(.quick)
      }
      self.respond(result, respond)
    } catch .tooSlow {
      queryInPools(run, then: respond)
    } catch {
      if !retry(after: error) { refuse(Problem(error)) }
    }
  }

  private func queryInPools<Result: Sendable>(
    _ run: @escaping @Sendable (QueryClass) throws(StoreError) -> Result,
    then respond: @escaping @Sendable (Result) throws(Problem) -> Void
  ) {
    begin(.wait)
    let deadline = deadline ?? .now + service.pools.timeLimit
    service.pools.query(for: callerID, until: deadline, refused: refuse) { attempt in
      self.query(in: attempt, run, then: respond)
    }
  }

  /// Returns false if the query needs a further attempt.
  private func query<Result: Sendable>(
    in attempt: QueryAttempt, _ run: (QueryClass) throws(StoreError) -> Result,
    then respond: (Result) throws(Problem) -> Void
  ) -> Bool {
    guard !exchange.isMemoryExhausted else {
      refuse(.memoryExhausted)
      return true
    }
    begin(.query)
    do throws(StoreError) {
      let isCancelled = { @Sendable [exchange, service] in
        exchange.isDisconnected || service.isStopping
      }
      let result = try attempt.run(service.store, cancellation: isCancelled) {
        () throws(StoreError) in
        try run(.full)
      }
      self.respond(result, respond)
    } catch .tooSlow {
      begin(.wait)
      return false
    } catch {
      if !retry(after: error) { refuse(problem(of: error)) }
    }
    return true
  }

  private func respond<Result>(
    _ result: Result, _ respond: (Result) throws(Problem) -> Void
  ) {
    begin(.respond)
    perform { () throws(Problem) in try respond(result) }
  }

  /// Runs a query without a time limit of its own that ends soon after the client has left or the
  /// server stops.
  func withCancellation<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try service.store.withCancellation(
      { [exchange, service] in exchange.isDisconnected || service.isStopping }, until: nil, body)
  }

  /// The problem of a query that failed. A query that ended because the server stops did not take
  /// too long.
  private func problem(of error: StoreError) -> Problem {
    error == .queryTimeout && service.isStopping ? .shuttingDown : Problem(error)
  }

  /// Responds for a query that is not run.
  func refuse(_ refusal: RequestPools.Refusal) {
    switch refusal {
    case .overloaded(let problem): refuse(problem)
    case .closed: if !retry() { refuse(.shuttingDown) }
    }
  }
}

// MARK: - Another service

extension RequestContext {
  private static let maxAttempts = 50

  /// Hands the request over to the service that replaces this one. Not for requests that wait for a
  /// change.
  ///
  /// - Returns: false if no service replaces this one, and `error` does not show that one is about
  ///   to.
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
}

extension Problem {
  static let memoryExhausted = overloaded(
    "Other requests and answers take all the memory that there is for them; try again.")
}
