// How a controller fetches, and follows what is saved.

extension FetchedResultsController {
  /// Fetches, and follows what is saved from then on, until the controller is gone.
  ///
  /// Called again, it fetches anew; what differs from the content so far is told as a change. Of
  /// several calls at once the last one counts.
  ///
  /// - Throws: ``FetchError``; the content so far is kept, and followed on. Where the store cannot be
  ///   reached the controller goes on trying by itself, also without a content: its state is `offline`,
  ///   and its delegate and sequences are told of the content when there is one.
  public func performFetch(
    isolation: isolated any Actor = #isolation
  ) async throws(FetchError) {
    isBegun = true
    try await fetch(fetchRequest, section, isolation: isolation)
  }

  /// Fetches something else in the same sections; what differs from the content so far is told as
  /// one change.
  ///
  /// - Throws: ``FetchError``; the content and the request are then as before.
  public func update(
    fetchRequest newRequest: FetchRequest<Element>, isolation: isolated any Actor = #isolation
  ) async throws(FetchError) {
    try await fetch(newRequest, section, isolation: isolation)
  }

  /// Fetches something else in other sections, or in none.
  ///
  /// - Throws: ``FetchError``; the content, the request and the sections are then as before.
  public func update(
    fetchRequest newRequest: FetchRequest<Element>, section newSection: SortTerm?,
    isolation: isolated any Actor = #isolation
  ) async throws(FetchError) {
    try await fetch(newRequest, newSection, isolation: isolation)
  }

  /// Stops following; the content stays as it is.
  public func stop() {
    fetches += 1
    isBegun = false
    endFollowing()
    set(.initial)
  }

  func endFollowing() {
    following?.cancel()
    following = nil
    touches?.finish()
    touches = nil
  }

  private func fetch(
    _ request: FetchRequest<Element>, _ section: SortTerm?, isolation: isolated any Actor
  ) async throws(FetchError) {
    fetches += 1
    let fetch = fetches
    endFollowing()
    set(.loading)
    let follower = Follower(
      store: context.store, request: request.followedBody(section: section), hold: holdTime)
    let result: Result<ResultState, ObjectStoreError> = await follower.snapshot()
    guard fetch == fetches else { return }
    await prepare(result, isolation: isolation)
    guard fetch == fetches else { return }
    do throws(FetchError) {
      try replaceContent(with: result, isBatched: request.fetchBatchSize > 0)
    } catch {
      goOn(after: error, isolation: isolation)
      throw error
    }
    isBegun = true
    (fetchRequest, self.section) = (request, section)
    follow(isolation: isolation)
  }

  /// Follows what was followed before, or waits for the store to come back.
  private func goOn(after error: FetchError, isolation: isolated any Actor) {
    if case .store(let reason) = error, reason.mayPass, storedContent != nil || isBegun {
      set(.offline(reason))
      return follow(after: reason, isolation: isolation)
    }
    set(.failed(error))
    if storedContent != nil { follow(isolation: isolation) }
  }

  /// Reads what a fetch through a parent entity leaves out of its objects.
  private func prepare(
    _ result: Result<ResultState, ObjectStoreError>, isolation: isolated any Actor
  ) async {
    guard case .success(let state) = result else { return }
    await context.completeObjects(of: state, as: Element.self, isolation: isolation)
  }

  private func replaceContent(
    with result: Result<ResultState, ObjectStoreError>, isBatched: Bool
  ) throws(FetchError) {
    switch result {
    case .failure(let error): throw .store(error)
    case .success(let state):
      do throws(MaterializationError) {
        try replaceContent(with: state, isBatched: isBatched)
      } catch {
        throw .materialization(error)
      }
    }
  }

  /// Takes over a state that no diff led to.
  private func replaceContent(
    with state: ResultState, isBatched: Bool
  ) throws(MaterializationError) {
    let content = try FetchedContent<Element>(state, isBatched: isBatched, in: context)
    tell(content, storedContent.map { ContentChange($0.state.difference(to: state)) })
  }
}

// MARK: - Following

extension FetchedResultsController {
  /// - Parameter outage: why the store could not be reached the last time; the state stays `offline`
  ///   until it can.
  private func follow(
    after outage: ObjectStoreError? = nil, isolation: isolated any Actor
  ) {
    var follower = Follower(
      store: context.store, request: fetchRequest.followedBody(section: section), hold: holdTime,
      token: storedContent?.state.token, after: outage)
    if outage == nil { set(.following) }
    if fetchRequest.fetchBatchSize > 0 { loadTouchedBatches(isolation: isolation) }
    following = Task { [weak self] in
      _ = isolation
      while !Task.isCancelled {
        let event = await follower.next()
        guard !Task.isCancelled, let step = await self?.receive(event, isolation: isolation) else {
          return
        }
        switch step {
        case .goOn(let token): follower.token = token
        case .fetchAnew: follower.token = nil
        case .end: return
        }
      }
    }
  }

  /// What the follower does next.
  private enum Step {
    case goOn(token: String)
    case fetchAnew
    case end
  }

  private func receive(_ event: Follower.Event, isolation: isolated any Actor) async -> Step {
    do throws(MaterializationError) {
      switch event {
      case .state(let state):
        await prepare(.success(state), isolation: isolation)
        try replaceContent(with: state, isBatched: fetchRequest.fetchBatchSize > 0)
        set(.following)
        return .goOn(token: state.token)
      case .diff(let diff): return try await receive(diff, isolation: isolation)
      case .unreachable(let error):
        report(.offline(error), .store(error))
        return storedContent.map { .goOn(token: $0.state.token) } ?? .fetchAnew
      case .failed(let error):
        report(.failed(.store(error)), .store(error))
        return .end
      }
    } catch {
      report(.failed(.materialization(error)), .materialization(error))
      return .end
    }
  }

  private func receive(
    _ diff: Diff, isolation: isolated any Actor
  ) async throws(MaterializationError) -> Step {
    guard let old = storedContent else { return .fetchAnew }
    guard let state = old.state.applying(diff) else {
      report(.loading, .outOfStep)
      return .fetchAnew
    }
    let fetch = fetches
    await context.completeObjects(of: diff, in: state, as: Element.self, isolation: isolation)
    guard fetch == fetches else { return .end }
    var content = try FetchedContent(state, from: old, by: diff, in: context)
    let stale = diff.stale.filter { old.loaded[$0] != nil }
    if !stale.isEmpty {
      let elements = try? await elements(withIDs: stale, isolation: isolation)
      guard fetch == fetches else { return .end }
      for (id, element) in elements ?? [] { content.load(element, of: id) }
      // What was loaded meanwhile stays loaded.
      for (id, element) in storedContent?.loaded ?? [:] where old.loaded[id] == nil {
        content.load(element, of: id)
      }
    }
    if case .following = storedState {} else { set(.following) }
    if diff.isEmpty && old.state.summary == state.summary {
      storedContent = content
    } else {
      tell(content, ContentChange(diff))
    }
    return .goOn(token: state.token)
  }
}

extension ResultState {
  /// The state that `diff` leads to; nil where it does not fit, or leads to what the store has not.
  fileprivate func applying(_ diff: Diff) -> ResultState? {
    var state = self
    do throws(DiffApplicationError) {
      try state.apply(diff)
    } catch {
      return nil
    }
    let isInStep = diff.summary.digest.map { $0 == state.digest } ?? true
    return isInStep ? state : nil
  }
}
