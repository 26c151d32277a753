// Fetching, applying batches and reporting changes.

extension DataStoreResultsController {
  /// Executes the request, waits for its first results, and follows them until the controller is
  /// deallocated.
  ///
  /// A second call executes the request again and reports the differences. The earlier results are
  /// followed until the first new ones arrive, and further on if the task is cancelled. A refusal ends
  /// them.
  ///
  /// - Throws: ``FetchError/outsideActor`` outside an actor, where there is no isolation domain in
  ///   which to report changes; `CancellationError` if the task was cancelled before results arrived
  ///   or a later call replaced this one; the store's error. If the source cannot be reached, that is
  ///   thrown, and the controller keeps waiting. The current content is kept.
  public func performFetch(isolation: isolated (any Actor)? = #isolation) async throws {
    try await fetch(request, isolation: isolation)
  }

  /// Executes another request and reports the differences as one.
  ///
  /// - Throws: as ``performFetch(isolation:)``.
  public func update(
    request newRequest: Request, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try await fetch(newRequest, isolation: isolation)
  }

  /// Stops following; the content is kept.
  public func stop() {
    load(nil)
    endFollowing()
    set(.initial)
  }

  private func endFollowing() {
    following?.cancel()
    following = nil
    if let query { end(query) }
    query = nil
  }

  private func end(_ query: Query) {
    store.stop(query)
    query.finish()
  }

  private func fetch(_ request: Request, isolation: isolated (any Actor)?) async throws {
    guard isolation != nil else { throw FetchError.outsideActor }
    let query = store.start(request, throttle: throttle)
    load(query)
    while let event = await query.next() {
      guard loadingQuery === query else { throw CancellationError() }
      if case .online = event { continue }
      if case .notice(let error) = event {
        controllerDidFail?(error)
        continue
      }
      replaceQuery(with: query)
      receive(event)
      if case .failed(let error) = event { throw error }
      // A callback may have stopped the controller or started another fetch.
      if self.query === query { follow(query, isolation: isolation) }
      if case .offline(let error) = event { throw error }
      return
    }
    if loadingQuery === query { load(nil) }
    throw CancellationError()
  }

  /// Makes `query` the query of the fetch in progress and ends the previous one.
  private func load(_ query: Query?) {
    let previous = loadingQuery
    changeState { loadingQuery = query }
    if let previous { end(previous) }
  }

  /// Makes the query of the fetch in progress the one that is followed.
  private func replaceQuery(with query: Query) {
    endFollowing()
    (request, self.query, hasResults) = (query.request, query, false)
    changeState { (loadingQuery, followedState) = (nil, .loading) }
  }

  private func follow(_ query: Query, isolation: isolated (any Actor)?) {
    guard let isolation else { return }
    let reference = IsolatedReference(self, on: isolation)
    following = Task {
      while let event = await query.next() {
        let isFollowed = await reference.run { controller, _ in
          guard controller.query === query else { return false }
          controller.receive(event)
          return true
        }
        guard isFollowed == true else { return }
      }
    }
  }

  private func receive(_ event: Query.Event) {
    switch event {
    case .batch(let batch):
      let followed = query
      apply(batch)
      // A callback may have ended the following.
      if query === followed { set(.following) }
    case .online: if hasResults { set(.following) }
    case .offline(let error): report(.offline(error), error)
    case .failed(let error): report(.failed(error), error)
    case .notice(let error): controllerDidFail?(error)
    }
  }

  private func report(_ state: State, _ error: any Error) {
    set(state)
    controllerDidFail?(error)
  }

  private func set(_ state: State) {
    if case (.following, .following) = (followedState, state) { return }
    changeState { followedState = state }
  }

  private func changeState(_ change: () -> Void) {
    registrar.withMutation(of: self, keyPath: \.state, change)
  }
}

// MARK: - Arranging

extension DataStoreResultsController {
  private func apply(_ batch: DataStoreBatch<Result>) {
    let batch = hasResults ? batch : batch.first
    hasResults = true
    let (previous, isReordered) = results.apply(batch)
    let isShort = previous.count <= ResultEdit<Result>.maxChanges
    if !isReordered, wasLoaded, isShort, showEdits(since: previous) { return }
    let arranged = arrangedAgain()
    showWindow(of: arranged) { [arrangement, results] id in
      guard let before = previous[id] else { return true }
      guard let before = before.flatMap(arrangement.place),
        let now = results.entries[id].flatMap(arrangement.place)
      else { return false }
      return arrangement.isSamePlace(before, now)
    } isUpdated: { [results] in
      results.isUpdated($0, since: previous)
    }
  }

  /// Shows few changed results without comparing the others. Returns false if the closures of the
  /// arrangement contradict each other.
  private func showEdits(since previous: StoredResults<Result>.Previous) -> Bool {
    var edit = ResultEdit(arrangement, ordered)
    ordered = []
    for (id, before) in previous {
      edit.change(id, before, to: results.place(id, by: arrangement))
    }
    edit.apply()
    guard edit.isConsistent else { return false }
    ordered = edit.ordered
    let isUpdated = { [results] (id: Result.InstanceID) in results.isUpdated(id, since: previous) }
    if arrangement.hasWindow {
      showWindow(of: ordered, isFixed: edit.isFixed, isUpdated: isUpdated)
    } else if let new = edit.sections(from: storedSections) {
      show(new, edit.difference(from: storedSections, to: new, isUpdated: isUpdated))
    } else {
      return false
    }
    return true
  }

  /// Applies a new arrangement.
  func rearrange() {
    guard wasLoaded else { return }
    showWindow(of: arrangedAgain(), isFixed: { _ in true }, isUpdated: { _ in false })
  }

  private func arrangedAgain() -> [PlacedResult<Result>] {
    results.placeAll(by: arrangement).sorted(by: arrangement.precedes)
  }

  private func showWindow(
    of arranged: [PlacedResult<Result>], isFixed: (Result.InstanceID) -> Bool,
    isUpdated: (Result.InstanceID) -> Bool
  ) {
    ordered = arranged
    let new = sections(of: arrangement.window(of: arranged))
    show(
      new,
      ContentChange(from: storedSections, to: new, isFixed: isFixed, isUpdated: isUpdated))
  }

  private func show(
    _ new: [FetchedSection<Result>], _ change: ContentChange<Result>
  ) {
    let isFirst = !wasLoaded
    wasLoaded = true
    guard isFirst || !change.isEmpty else { return }
    controllerWillChangeContent?()
    registrar.withMutation(of: self, keyPath: \.sections) {
      (storedSections, positions) = (new, nil)
    }
    controllerDidChangeResults?(change)
    controllerDidChangeContent?()
  }

  private func sections(
    of window: ArraySlice<PlacedResult<Result>>
  ) -> [FetchedSection<Result>] {
    guard arrangement.sectionName != nil else {
      return [FetchedSection(named: nil, window.map(\.result))]
    }
    var sections: [(name: String, results: [Result])] = []
    for placed in window {
      if sections.last?.name != placed.section { sections.append((placed.section, [])) }
      sections[sections.count - 1].results.append(placed.result)
    }
    return sections.map { FetchedSection(named: $0.name, $0.results) }
  }
}
