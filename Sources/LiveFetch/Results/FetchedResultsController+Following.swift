// How a controller fetches, and follows what is saved.

extension FetchedResultsController {
  /// Fetches, and follows what is saved from then on, until the controller is gone.
  ///
  /// Called again, it fetches anew; what differs from the content so far is told as a change. What was
  /// asked for last is what is fetched, also where an ``update(fetchRequest:isolation:)`` is still on
  /// its way. A call that is overtaken by another one waits for that one, and ends as it does.
  ///
  /// Called by code that belongs to no actor, nothing is followed: nobody could be told there without
  /// a race. The content is then that of this moment, and sequences end with it.
  ///
  /// - Parameter isolation: the actor that the controller belongs to: that of the calling code.
  /// - Throws: ``FetchError``; the content so far is kept, and followed on. Where the store cannot be
  ///   reached the controller goes on trying by itself, also without a content: its state is `offline`,
  ///   and its delegate and sequences are told of the content when there is one.
  ///   ``FetchError/superseded`` where ``stop()`` was called meanwhile.
  public func performFetch(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    let (request, section) = wanted ?? (fetchRequest, section)
    try request.checkWindow()
    isBegun = true
    try await fetch(request, section, update: nil, isolation: isolation)
  }

  /// Fetches something else in the same sections; what differs from the content so far is told as
  /// one change.
  ///
  /// The last update asked for wins. One that another update overtakes never comes into force, and
  /// throws ``FetchError/superseded``; one that ``performFetch(isolation:)`` overtakes is fetched by
  /// that one, and ends as it does.
  ///
  /// - Throws: ``FetchError``; the content and the request are then as before.
  public func update(
    fetchRequest newRequest: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    let section = wanted.map(\.section) ?? section
    try await update(fetchRequest: newRequest, section: section, isolation: isolation)
  }

  /// Fetches something else in other sections, or in none. Of several updates at once the last one
  /// wins, as in ``update(fetchRequest:isolation:)``.
  ///
  /// - Throws: ``FetchError``; the content, the request and the sections are then as before.
  public func update(
    fetchRequest newRequest: FetchRequest<Element>, section newSection: SortTerm?,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    try newRequest.checkWindow()
    updates += 1
    wanted = (newRequest, newSection)
    try await fetch(newRequest, newSection, update: updates, isolation: isolation)
  }

  /// Stops following; the content stays as it is. Sequences end once they gave what there is, and
  /// calls on their way throw ``FetchError/superseded``. ``performFetch(isolation:)`` begins anew, and
  /// new sequences then hear of it.
  public func stop() {
    fetches += 1
    updates += 1
    isBegun = false
    endFollowing()
    set(.initial)
    endSequences()
    settle(.failure(.superseded))
  }

  func endFollowing() {
    following?.cancel()
    following = nil
    touches?.finish()
    touches = nil
  }

  /// - Parameter update: which update asks; nil where none does.
  private func fetch(
    _ request: FetchRequest<Element>, _ section: SortTerm?, update: Int?,
    isolation: isolated (any Actor)?
  ) async throws(FetchError) {
    fetches += 1
    let fetch = fetches
    (outcome, isDetached) = (nil, false)
    endFollowing()
    set(.loading)
    let follower = Follower(
      store: context.store, request: request.followedBody(section: section), hold: holdTime)
    let result: Result<ResultState, ObjectStoreError> = await follower.snapshot()
    let isBatched = request.fetchBatchSize > 0
    guard fetch == fetches else { return try await waitForLater(update, isolation: isolation) }
    let kept = await prepare(result, isBatched: isBatched, isolation: isolation)
    guard fetch == fetches else { return try await waitForLater(update, isolation: isolation) }
    let isTaken = Result { () throws(FetchError) in
      try replaceContent(with: result, kept, isBatched: isBatched)
    }
    // The delegate was told, and may have stopped the controller.
    guard fetch == fetches else { return try await waitForLater(update, isolation: isolation) }
    end(isTaken, request, section, isolation: isolation)
    try isTaken.get()
    try checkReadable()
  }

  /// Where not one object can be read, that is rather a mistake of the class than of a value.
  private func checkReadable() throws(FetchError) {
    guard let content = storedContent, content.state.count == 0,
      let problem = unreadableObjects.first
    else { return }
    throw .materialization(problem)
  }

  /// What the last call led to is in force, or what was in force before.
  private func end(
    _ isTaken: Result<Void, FetchError>, _ request: FetchRequest<Element>, _ section: SortTerm?,
    isolation: isolated (any Actor)?
  ) {
    switch isTaken {
    case .success:
      isBegun = true
      (fetchRequest, self.section) = (request, section)
      follow(isolation: isolation)
    case .failure(let error): goOn(after: error, isolation: isolation)
    }
    settle(isTaken)
  }

  /// Tells calls that were overtaken how the last one ended.
  private func settle(_ outcome: Result<Void, FetchError>) {
    self.outcome = outcome
    wanted = nil
    let calls = overtaken
    overtaken = []
    for call in calls { call.resume() }
  }

  /// Ends an overtaken call as the last one ends, but an update whose request is wanted no more.
  private func waitForLater(
    _ update: Int?, isolation: isolated (any Actor)?
  ) async throws(FetchError) {
    while outcome == nil, update == nil || update == updates {
      await withCheckedContinuation(isolation: isolation) { overtaken.append($0) }
    }
    guard update == nil || update == updates else { throw .superseded }
    try outcome?.get()
  }

  /// Follows what was followed before, or waits for the store to come back.
  private func goOn(after error: FetchError, isolation: isolated (any Actor)?) {
    if case .store(let reason) = error, reason.mayPass, storedContent != nil || isBegun {
      set(.offline(reason))
      return follow(after: reason, isolation: isolation)
    }
    set(.failed(error))
    if storedContent != nil { follow(isolation: isolation) }
  }

  /// Reads what a fetch through a parent entity leaves out of its objects, and of a batched one the
  /// elements that had been made.
  private func prepare(
    _ result: Result<ResultState, ObjectStoreError>, isBatched: Bool,
    isolation: isolated (any Actor)?
  ) async -> [ObjectID: Element] {
    guard case .success(let state) = result else { return [:] }
    let kept = await elementsKept(in: state, isBatched: isBatched, isolation: isolation)
    await context.completeObjects(of: state, as: Element.self, isolation: isolation)
    return kept
  }

  private func replaceContent(
    with result: Result<ResultState, ObjectStoreError>, _ kept: [ObjectID: Element],
    isBatched: Bool
  ) throws(FetchError) {
    switch result {
    case .failure(let error): throw .store(error)
    case .success(let state): replaceContent(with: state, kept, isBatched: isBatched)
    }
  }

  /// Takes over a state that no diff led to.
  ///
  /// - Parameter kept: of a batched content, the elements that had been made, as they are now.
  private func replaceContent(
    with state: ResultState, _ kept: [ObjectID: Element], isBatched: Bool
  ) {
    var content = FetchedContent<Element>(state, isBatched: isBatched, in: context)
    for (id, element) in kept { content.load(element, of: id) }
    guard let old = storedContent else { return tell(content, nil) }
    let changed = old.isBatched ? content.changes(from: old, in: context) : []
    tell(content, ContentChange(old.state.difference(to: content.state, changed: changed)))
  }
}

// MARK: - Following

extension FetchedResultsController {
  /// - Parameter unavailability: why the store could not be reached the last time; the state stays `offline`
  ///   until it can.
  private func follow(
    after unavailability: ObjectStoreError? = nil, isolation: isolated (any Actor)?
  ) {
    var follower = Follower(
      store: context.store, request: fetchRequest.followedBody(section: section), hold: holdTime,
      token: storedContent?.state.token, after: unavailability)
    guard isolation != nil else { return detach() }
    if unavailability == nil { set(.following) }
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

  /// Leaves the content as it is, where nobody can be told of another one.
  private func detach() {
    isDetached = true
    isBegun = false
    set(.initial)
    endSequences()
  }

  /// What the follower does next.
  private enum Step {
    case goOn(token: String)
    case fetchAnew
    case end
  }

  private func receive(_ event: Follower.Event, isolation: isolated (any Actor)?) async -> Step {
    switch event {
    case .state(let state):
      let (fetch, isBatched) = (fetches, fetchRequest.fetchBatchSize > 0)
      let kept = await prepare(.success(state), isBatched: isBatched, isolation: isolation)
      guard fetch == fetches else { return .end }
      replaceContent(with: state, kept, isBatched: isBatched)
      set(.following)
      return .goOn(token: state.token)
    case .diff(let diff): return await receive(diff, isolation: isolation)
    case .unreachable(let error):
      report(.offline(error), .store(error))
      return storedContent.map { .goOn(token: $0.state.token) } ?? .fetchAnew
    case .failed(let error):
      report(.failed(.store(error)), .store(error))
      return .end
    }
  }

  private func receive(
    _ diff: Diff, isolation: isolated (any Actor)?
  ) async -> Step {
    guard let old = storedContent else { return .fetchAnew }
    guard let state = old.source.applying(diff) else {
      report(.loading, .outOfStep)
      return .fetchAnew
    }
    let fetch = fetches
    for number in changedWhileLoading.keys {
      changedWhileLoading[number]?.formUnion(diff.stale)
    }
    await context.completeObjects(of: diff, in: state, as: Element.self, isolation: isolation)
    guard fetch == fetches else { return .end }
    var content = FetchedContent(state, from: old, by: diff, in: context)
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
    let change = content.change(by: diff, from: old, in: context)
    if change.isEmpty && old.state.summary == state.summary {
      storedContent = content
      noteUnreadable(in: content)
    } else {
      tell(content, change)
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
