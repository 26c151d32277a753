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
  /// - Throws: ``FetchError/superseded`` if the controller follows nothing, or stops; the store's
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
    while try await !contains(target, isolation: isolation) {
      await iterator.next(isolation: isolation)
      guard !Task.isCancelled else { throw .store(.cancelled) }
    }
  }

  /// True if the content contains the state at `target`. Asks the store whether anything changed in
  /// between, because the content's token advances with its changes only.
  private func contains(
    _ target: Token, isolation: isolated (any Actor)?
  ) async throws(FetchError) -> Bool {
    guard isBegun else { throw .superseded }
    guard let text = storedContent?.state.token, let current = Token(text) else { return false }
    if current.epoch == target.epoch, current.position >= target.position { return true }
    let request = followedBody
    let since: [JSON.Member] = [
      .init(name: "since", value: .string(text)), .init(name: "wait", value: .number("0")),
    ]
    do throws(ObjectStoreError) {
      let answer = try await context.store.fetch(.object(request + since))
      // A content that arrived in the meantime resumes the caller's loop.
      guard storedContent?.state.token == text, let diff = Diff(json: answer),
        let to = Token(diff.to)
      else { return false }
      guard to.epoch == target.epoch else { throw .refused(.badToken) }
      return diff.isEmpty && to.position >= target.position
    } catch {
      // The controller fetches again, or waits for the store.
      if error.endsHistory || error.mayPass { return false }
      throw .store(error)
    }
  }
}
