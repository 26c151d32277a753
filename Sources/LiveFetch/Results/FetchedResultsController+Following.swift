// Fetching, and following changes.

import FetchModel

extension FetchedResultsController {
  /// Fetches, and follows changes until ``stop()`` or the controller's deallocation.
  ///
  /// A second call fetches again and reports differences from the current content as one change.
  /// The most recent request wins, including that of an ``update(fetchRequest:isolation:)`` in
  /// progress. A call that is overtaken by another one waits for it and has the same outcome.
  ///
  /// Outside an actor there is no isolation domain in which to report changes: the call throws
  /// ``FetchError/outsideActor`` and fetches nothing. ``ObjectStore/live(_:section:)`` works there.
  ///
  /// - Parameter isolation: the actor that owns the controller; by default the caller's.
  /// - Throws: ``FetchError``; the current content is kept and followed. If the store cannot be
  ///   reached, the controller retries by itself, even if it has no content yet: its state is
  ///   `offline`, and it reports the content when the store is back. Throws
  ///   ``FetchError/superseded`` if ``stop()`` was called in the meantime.
  public func performFetch(
    isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    let (request, section) = wanted ?? (fetchRequest, section)
    try request.checkWindow()
    guard isolation != nil else { throw .outsideActor }
    isBegun = true
    try await fetch(request, section, update: nil, isolation: isolation)
  }

  /// Changes the fetch request and keeps the sections. Reports the differences as one change.
  ///
  /// The most recent update wins. An update that another update overtakes never takes effect and
  /// throws ``FetchError/superseded``; one that ``performFetch(isolation:)`` overtakes is fetched
  /// by that call and has its outcome.
  ///
  /// - Throws: ``FetchError``; the content and the request are then unchanged, except after
  ///   ``FetchError/materialization(_:)``: the new result has no readable object.
  public func update(
    fetchRequest newRequest: FetchRequest<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    let section = wanted.map(\.section) ?? section
    try await update(fetchRequest: newRequest, section: section, isolation: isolation)
  }

  /// Changes the fetch request and the sections; nil for no sections. Of several updates, the last
  /// one wins, as in ``update(fetchRequest:isolation:)``.
  ///
  /// - Throws: ``FetchError``, as ``update(fetchRequest:isolation:)``; the sections are then unchanged
  ///   too.
  public func update(
    fetchRequest newRequest: FetchRequest<Element>, section newSection: SortTerm?,
    isolation: isolated (any Actor)? = #isolation
  ) async throws(FetchError) {
    try newRequest.checkWindow()
    guard isolation != nil else { throw .outsideActor }
    updateGeneration += 1
    wanted = (newRequest, newSection)
    try await fetch(newRequest, newSection, update: updateGeneration, isolation: isolation)
  }

  /// Stops following; the content is kept. Sequences end after their current element, and pending
  /// calls throw ``FetchError/superseded``. ``performFetch(isolation:)`` starts again; use new
  /// sequences then.
  public func stop() {
    fetchGeneration += 1
    updateGeneration += 1
    isBegun = false
    endFollowing()
    setState(.initial)
    endSequences()
    resumeOvertakenCalls(with: .failure(.superseded))
  }

  func endFollowing() {
    following?.cancel()
    following = nil
    batchRequests?.finish()
    batchRequests = nil
  }

  /// - Parameter update: the generation of the calling update; nil for a plain fetch.
  private func fetch(
    _ request: FetchRequest<Element>, _ section: SortTerm?, update: Int?,
    isolation: isolated (any Actor)?
  ) async throws(FetchError) {
    fetchGeneration += 1
    let generation = fetchGeneration
    self.outcome = nil
    endFollowing()
    setState(.loading)
    let result = await fetchContent(of: request, section, isolation: isolation)
    guard generation == fetchGeneration else {
      return try await waitForOvertakingCall(request, section, update, isolation: isolation)
    }
    let outcome = result.map { replaceContent(with: $0.content, pending: $0.pending) }
    // A delegate's method may have stopped the controller.
    guard generation == fetchGeneration else {
      return try await waitForOvertakingCall(request, section, update, isolation: isolation)
    }
    finishFetch(with: outcome, request, section, isolation: isolation)
    try outcome.get()
    try checkReadable()
  }

  /// Throws if the result has objects but none is readable: then the declared type is wrong, not a
  /// value.
  private func checkReadable() throws(FetchError) {
    guard let content = storedContent, content.visibleState.count == 0,
      let problem = unreadableObjects.first
    else { return }
    throw .materialization(problem)
  }

  /// On success, the request comes into force and is followed; on failure, the previous one is followed
  /// further. Resumes the calls that wait.
  private func finishFetch(
    with outcome: Result<Void, FetchError>, _ request: FetchRequest<Element>,
    _ section: SortTerm?, isolation: isolated (any Actor)?
  ) {
    switch outcome {
    case .success:
      isBegun = true
      (fetchRequest, self.section) = (request, section)
      observePendingChanges(isolation: isolation)
      follow(isolation: isolation)
    case .failure(let error): continueFollowing(after: error, isolation: isolation)
    }
    resumeOvertakenCalls(with: outcome)
  }

  private func resumeOvertakenCalls(with outcome: Result<Void, FetchError>) {
    self.outcome = outcome
    wanted = nil
    let calls = overtaken
    overtaken = []
    for call in calls { call.resume() }
  }

  /// Waits for the overtaking call and returns its outcome. Fetches again if that call was cancelled
  /// and this one was not. An update whose request is obsolete throws.
  private func waitForOvertakingCall(
    _ request: FetchRequest<Element>, _ section: SortTerm?, _ update: Int?,
    isolation: isolated (any Actor)?
  ) async throws(FetchError) {
    while outcome == nil, update == nil || update == updateGeneration {
      await withCheckedContinuation(isolation: isolation) { continuation in
        // The other call may have ended on the way here.
        if outcome == nil { overtaken.append(continuation) } else { continuation.resume() }
      }
    }
    guard update == nil || update == updateGeneration else { throw .superseded }
    if case .failure(.store(.cancelled))? = outcome, !Task.isCancelled {
      let own = update == nil ? (fetchRequest, self.section) : (request, section)
      return try await fetch(own.0, own.1, update: update, isolation: isolation)
    }
    try outcome?.get()
    try checkReadable()
  }

  /// Continues following the previous request, or waits for the store to come back.
  private func continueFollowing(after error: FetchError, isolation: isolated (any Actor)?) {
    if case .store(let reason) = error, reason.isTransient, storedContent != nil || isBegun {
      if storedContent == nil {
        pendingResults =
          includesPendingChanges
          ? (try? PendingResults(fetchRequest, section: section, in: context)) : nil
      }
      setState(.offline(reason))
      return follow(after: reason, isolation: isolation)
    }
    setState(.failed(error))
    if storedContent != nil { follow(isolation: isolation) }
  }

  /// Fetches a request, and creates its elements.
  private func fetchContent(
    of request: FetchRequest<Element>, _ section: SortTerm?, isolation: isolated (any Actor)?
  ) async -> Result<
    (content: FetchedContent<Element>, pending: PendingResults<Element>?), FetchError
  > {
    do throws(FetchError) {
      let pending =
        try includesPendingChanges
        ? PendingResults(request, section: section, in: context) : nil
      let follower = Follower(
        store: context.store, request: pending?.body ?? request.followedBody(section: section),
        hold: holdTime)
      let state: ResultState
      do throws(ObjectStoreError) {
        state = try await follower.snapshot().get()
      } catch {
        throw .store(error)
      }
      let content = try await makeContent(
        of: state, pending, isBatched: request.fetchBatchSize > 0, isolation: isolation)
      return .success((content, pending))
    } catch {
      return .failure(error)
    }
  }

  /// Creates the elements of `state`. First reads the missing properties of subentities and, in batch
  /// mode, the elements that were loaded before.
  private func makeContent(
    of state: ResultState, _ pending: PendingResults<Element>?, isBatched: Bool,
    isolation: isolated (any Actor)?
  ) async throws(FetchError) -> FetchedContent<Element> {
    if let pending {
      pending.base = state
      do throws(ContextError) {
        return try await pending.content(of: state, isolation: isolation)
      } catch {
        throw FetchError(error)
      }
    }
    let kept = await elementsKept(in: state, isBatched: isBatched, isolation: isolation)
    await context.completeObjects(of: state, as: Element.self, isolation: isolation)
    let items = isBatched ? [] : state.items
    let decoded = await context.decodedInBackground(items, as: Element.self, isolation: isolation)
    var content = FetchedContent<Element>(
      state, isBatched: isBatched, in: context, decoded: decoded)
    for (id, element) in kept { content.load(element, of: id) }
    return content
  }

  /// Replaces the content by a newly fetched one and reports the difference.
  private func replaceContent(
    with content: FetchedContent<Element>, pending: PendingResults<Element>?
  ) {
    let before = pendingResults
    pendingResults = pending
    guard let old = storedContent else {
      pending?.willShow()
      return notify(content, nil)
    }
    var changed = old.isBatched ? content.changes(from: old, in: context) : []
    // Objects that were shown as unsaved may have permanent ids by now.
    let state = before?.resolved(old.visibleState) ?? old.visibleState
    changed.formUnion(before?.resolvedIDs ?? [])
    pending?.willShow()
    notify(content, ContentChange(from: state, to: content.visibleState, changed: changed))
  }
}

// MARK: - Following

extension FetchedResultsController {
  /// - Parameter unavailability: the last connection error; the state stays `offline` until a
  ///   request succeeds.
  private func follow(
    after unavailability: ObjectStoreError? = nil, isolation: isolated (any Actor)?
  ) {
    guard let actor = isolation else { return }
    let follower = Follower(
      store: context.store, request: followedBody, hold: holdTime, token: followedToken,
      after: unavailability)
    // Values that could not be read are the reason of the state until they are read.
    if unavailability == nil, pendingResults?.isUnread != true { setState(stateOfFollowing) }
    if fetchRequest.fetchBatchSize > 0, pendingResults == nil {
      loadRequestedBatches(isolation: isolation)
    }
    let reference = IsolatedReference(self, on: actor)
    following = Task {
      var follower = follower
      while !Task.isCancelled {
        let event = await follower.next()
        let step = await reference.run { controller, isolation in
          Task.isCancelled ? Step.stop : await controller.receive(event, isolation: isolation)
        }
        switch step ?? .stop {
        case .continue(let token): follower.token = token
        case .refetch: follower.token = nil
        case .stop: return
        }
      }
    }
  }

  /// `loading` while the content comes from an offline store's storage, because the server has not
  /// answered yet.
  var stateOfFollowing: State {
    let state = pendingResults?.base ?? storedContent?.sourceState
    return state?.isStored == true ? .loading : .following
  }

  private func receive(_ event: Follower.Event, isolation: isolated (any Actor)?) async -> Step {
    switch event {
    case .state(let state):
      let (generation, isBatched) = (fetchGeneration, fetchRequest.fetchBatchSize > 0)
      let content = try? await makeContent(
        of: state, pendingResults, isBatched: isBatched, isolation: isolation)
      guard generation == fetchGeneration else { return .stop }
      guard let content else {
        // Values that the unsaved changes need could not be read: they are read again.
        pendingResults?.isUnread = true
        observePendingChanges(isolation: isolation)
        return .continue(token: state.token)
      }
      pendingResults?.isUnread = false
      replaceContent(with: content, pending: pendingResults)
      // A delegate may have ended the following.
      guard generation == fetchGeneration else { return .stop }
      observePendingChanges(isolation: isolation)
      setState(stateOfFollowing)
      return .continue(token: state.token)
    case .diff(let diff): return await receive(diff, isolation: isolation)
    case .unreachable(let error):
      pendingResults?.isUnread = false
      report(.offline(error), .store(error))
      return followedToken.map { .continue(token: $0) } ?? .refetch
    case .failed(let error):
      pendingResults?.isUnread = false
      report(.failed(.store(error)), .store(error))
      return .stop
    }
  }

  private func receive(_ diff: Diff, isolation: isolated (any Actor)?) async -> Step {
    let generation = fetchGeneration
    await context.rereadRemoved(diff, of: Element.self, isolation: isolation)
    guard generation == fetchGeneration else { return .stop }
    guard let old = storedContent else { return .refetch }
    if let pendingResults {
      guard apply(diff, to: pendingResults, isolation: isolation) else { return refetch() }
      if !pendingResults.isUnread { setState(.following) }
      return .continue(token: diff.to)
    }
    guard let state = old.sourceState.applying(diff) else { return refetch() }
    // A load in progress must not install values that are older than this diff.
    for number in changedWhileLoading.keys {
      changedWhileLoading[number]?.formUnion(diff.stale)
    }
    await context.completeObjects(of: diff, in: state, as: Element.self, isolation: isolation)
    guard generation == fetchGeneration else { return .stop }
    var content = FetchedContent(state, from: old, by: diff, in: context)
    let stale = diff.stale.filter { old.loaded[$0] != nil }
    if !stale.isEmpty {
      let elements = try? await elements(withIDs: stale, isolation: isolation)
      guard generation == fetchGeneration else { return .stop }
      for (id, element) in elements ?? [] { content.load(element, of: id) }
    }
    if content.isBatched {
      // Keeps elements that were loaded in the meantime.
      let deleted = Set(diff.deleted.map(\.id))
      for (id, element) in storedContent?.loaded ?? [:]
      where old.loaded[id] == nil && !deleted.contains(id) {
        content.load(element, of: id)
      }
    }
    setState(.following)
    show(content, content.change(by: diff, from: old, in: context), from: old)
    return .continue(token: state.token)
  }

  /// Reports that a diff does not lead to the store's state, and requests the whole result.
  private func refetch() -> Step {
    report(.loading, .diffNotApplicable)
    return .refetch
  }
}

/// The follower's next step.
private enum Step: Sendable {
  case `continue`(token: String)
  case refetch
  case stop
}

extension ResultState {
  /// The state after `diff`; nil if the diff does not apply or its digest differs.
  func applying(_ diff: Diff) -> ResultState? {
    var state = self
    do throws(DiffApplicationError) {
      try state.apply(diff)
    } catch {
      return nil
    }
    // A section's value may be a JSON array or object. The server's digest is that of the stored text,
    // whose spaces responses leave out.
    let isComparable = !state.sections.contains { [0x5B, 0x7B].contains($0.info.value.first) }
    guard isComparable, let digest = diff.summary.digest else { return state }
    return digest == state.digest ? state : nil
  }
}
