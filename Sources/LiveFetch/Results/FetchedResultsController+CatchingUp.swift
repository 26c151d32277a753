// Waits until a controller's content contains a save.

import FetchModel

extension FetchedResultsController {
  /// Returns when the content contains the state at `token`, for example that of a save's receipt.
  /// The delegate has then been called for it.
  ///
  /// ```swift
  /// let receipt = try await store.save(changes)
  /// try await controller.caughtUp(to: receipt.token)
  /// ```
  ///
  /// - Throws: ``FetchError/superseded`` if the controller follows nothing, or stops; the error of a
  ///   fetch that failed; the store's
  ///   error if `token` is none, or belongs to another history. `cancelled` as the store's error if
  ///   the task is cancelled. While the store cannot be reached, the call waits.
  public func caughtUp(
    to token: String, isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    guard let target = Token(token) else { throw .store(.refused(.badToken)) }
    let (news, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    lastCatchUp += 1
    let number = lastCatchUp
    catchUps[number] = continuation
    defer { catchUps[number] = nil }
    var iterator = news.makeAsyncIterator()
    var hold = 0
    while true {
      switch try await progress(to: target, hold: hold, isolation: isolation) {
      case .reached: return
      case .changing(let pause):
        hold = 0
        let timer = pause.map { pause in
          Task {
            try await Task.sleep(for: .seconds(pause))
            continuation.yield()
          }
        }
        await iterator.next(isolation: isolation)
        timer?.cancel()
      case .behind: hold = 1
      }
      guard !Task.isCancelled else { throw .store(.cancelled) }
    }
  }

  private enum Progress {
    /// The content contains the state.
    case reached
    /// A new content or state is coming, or the store did not answer and is asked again after a pause
    /// in seconds.
    case changing(pause: Double?)
    /// The store itself does not contain the state yet.
    case behind
  }

  /// Asks the store whether anything changed in between, because the content's token advances with
  /// its changes only.
  ///
  /// - Parameter hold: the seconds for which the store may wait for a change.
  private func progress(
    to target: Token, hold: Int, isolation: isolated (any Actor)?
  ) async throws(FetchError) -> Progress {
    guard isBegun else { throw .superseded }
    if case .failed(let error) = state { throw error }
    guard let text = storedContent?.visibleState.token, Token(text) != nil else {
      return .changing(pause: nil)
    }
    if contains(target) { return .reached }
    do throws(ObjectStoreError) {
      // A content that arrived in the meantime resumes the caller's loop.
      guard let reached = try await unchangedState(since: text, hold: hold, isolation: isolation),
        storedContent?.visibleState.token == text
      else { return .changing(pause: nil) }
      guard reached.epoch == target.epoch else { throw .refused(.badToken) }
      return reached.position >= target.position ? .reached : .behind
    } catch {
      if error.isTokenExpired { return try await refetched(for: target, isolation: isolation) }
      guard let unavailability = error.unavailability else { throw .store(error) }
      return .changing(pause: Self.pause(after: unavailability))
    }
  }

  /// Fetches again, because a silent stream does not notice that its token has expired.
  private func refetched(
    for target: Token, isolation: isolated (any Actor)?
  ) async throws(FetchError) -> Progress {
    do throws(FetchError) {
      try await performFetch(isolation: isolation)
    } catch {
      guard let unavailability = error.unavailability else { throw error }
      return .changing(pause: Self.pause(after: unavailability))
    }
    return contains(target) ? .reached : .behind
  }

  /// True if the content contains the state at `target`.
  private func contains(_ target: Token) -> Bool {
    guard let text = storedContent?.visibleState.token, let current = Token(text) else {
      return false
    }
    return current.epoch == target.epoch && current.position >= target.position
  }

  /// The seconds after which a store is asked again that may answer without a new content or state of
  /// the controller.
  static func pause(after unavailability: ServiceUnavailable) -> Double {
    min(max(1, unavailability.retryAfter ?? 0), 300)
  }

  /// The store's state, if the followed result has not changed since `token`; nil if it has.
  ///
  /// - Parameter hold: the seconds for which the store may wait for a change.
  func unchangedState(
    since token: String, hold: Int, isolation: isolated (any Actor)?
  ) async throws(ObjectStoreError) -> Token? {
    let since: [JSON.Member] = [
      .init(name: "since", value: .string(token)), .init(name: "wait", value: .number("\(hold)")),
    ]
    let answer = try await context.store.fetch(.object(followedBody + since))
    guard let diff = Diff(json: answer), diff.isEmpty else { return nil }
    return Token(diff.to)
  }
}
