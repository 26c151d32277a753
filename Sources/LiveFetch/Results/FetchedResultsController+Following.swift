// How a controller fetches, follows, and tells what changed.

extension FetchedResultsController {
  /// Fetches, and follows what is saved from then on, until the controller is gone.
  ///
  /// Called again, it fetches anew; what differs from the content so far is told as a change. Of
  /// several calls at once the last one counts.
  ///
  /// - Throws: ``FetchError``; the content so far is kept, and followed on.
  public func performFetch(
    isolation: isolated any Actor = #isolation
  ) async throws(FetchError) {
    try await fetch(fetchRequest, section, isolation: isolation)
  }

  /// Fetches something else; what differs from the content so far is told as one change.
  ///
  /// - Throws: ``FetchError``; the content and the request are then as before.
  public func update(
    fetchRequest newRequest: FetchRequest<Element>, section newSection: SortTerm? = nil,
    isolation: isolated any Actor = #isolation
  ) async throws(FetchError) {
    try await fetch(newRequest, newSection, isolation: isolation)
  }

  /// Stops following; the content stays as it is.
  public func stop() {
    fetches += 1
    following?.cancel()
    following = nil
    set(.initial)
  }

  private func fetch(
    _ request: FetchRequest<Element>, _ section: SortTerm?, isolation: isolated any Actor
  ) async throws(FetchError) {
    fetches += 1
    let fetch = fetches
    following?.cancel()
    set(.loading)
    let follower = Follower(
      store: context.store, request: request.body(section: section), hold: holdTime)
    let result: Result<ResultState, ObjectStoreError> = await follower.snapshot()
    guard fetch == fetches else { return }
    do throws(FetchError) {
      try replaceContent(with: result)
    } catch {
      set(.failed(error))
      if storedContent != nil { follow(isolation: isolation) }
      throw error
    }
    (fetchRequest, self.section) = (request, section)
    follow(isolation: isolation)
  }

  private func replaceContent(
    with result: Result<ResultState, ObjectStoreError>
  ) throws(FetchError) {
    switch result {
    case .failure(let error): throw .store(error)
    case .success(let state):
      do throws(MaterializationError) {
        try replaceContent(with: state)
      } catch {
        throw .materialization(error)
      }
    }
  }

  /// Takes over a state that no diff led to.
  private func replaceContent(with state: ResultState) throws(MaterializationError) {
    let content = try FetchedContent<Element>(state, in: context)
    let change = storedContent.map { ContentChange($0.state.difference(to: state)) }
    tell(content, change)
  }
}

// MARK: - Following

extension FetchedResultsController {
  private func follow(isolation: isolated any Actor) {
    guard let token = storedContent?.state.token else { return }
    var follower = Follower(
      store: context.store, request: fetchRequest.body(section: section), hold: holdTime,
      token: token)
    set(.following)
    following = Task { [weak self] in
      _ = isolation
      while !Task.isCancelled {
        let event = await follower.next()
        guard let self, !Task.isCancelled else { return }
        switch self.receive(event) {
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

  private func receive(_ event: Follower.Event) -> Step {
    do throws(MaterializationError) {
      switch event {
      case .state(let state):
        try replaceContent(with: state)
        set(.following)
        return .goOn(token: state.token)
      case .diff(let diff): return try receive(diff)
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

  private func receive(_ diff: Diff) throws(MaterializationError) -> Step {
    guard let old = storedContent else { return .fetchAnew }
    var state = old.state
    do throws(DiffApplicationError) {
      try state.apply(diff)
    } catch {
      return .fetchAnew
    }
    guard diff.summary.digest.map({ $0 == state.digest }) ?? true else { return .fetchAnew }
    let content = try FetchedContent(state, from: old, by: diff, in: context)
    if case .following = storedState {} else { set(.following) }
    if diff.isEmpty && old.state.summary == state.summary {
      storedContent = content
    } else {
      tell(content, ContentChange(diff))
    }
    return .goOn(token: state.token)
  }

  private func report(_ state: State, _ error: FetchError) {
    set(state)
    delegate?.controller(self, didFailWith: error)
  }

  private func set(_ state: State) {
    registrar.withMutation(of: self, keyPath: \.state) { storedState = state }
  }
}

// MARK: - Telling

extension FetchedResultsController {
  /// Makes `content` the content and tells everyone; `change` is nil for the first one.
  private func tell(_ content: FetchedContent<Element>, _ change: ContentChange?) {
    let change = change.map { $0.isEmpty ? nil : $0 } ?? change
    let old = storedContent
    registrar.withMutation(of: self, keyPath: \.sections) { storedContent = content }
    guard old == nil || change != nil else { return }
    channels.removeAll { $0.isFinished }
    for channel in channels { channel.send(content.state, change) }
    guard let delegate else { return }
    pending = PendingChange(old: old, new: content, change: change)
    defer { pending = nil }
    delegate.controller(self, didChangeContentWith: content.state.snapshot(after: change))
  }

  /// For a delegate that does not take snapshots.
  func tellDifference<Delegate: FetchedResultsControllerDelegate<Element>>(to delegate: Delegate) {
    guard let pending else { return }
    let difference = pending.new.ids.difference(from: pending.old?.ids ?? [])
    delegate.controller(self, didChangeContentWith: difference.inferringMoves())
  }

  /// For a delegate that takes neither snapshots nor differences.
  func tellEachChange<Delegate: FetchedResultsControllerDelegate<Element>>(to delegate: Delegate) {
    guard let pending, let old = pending.old, let change = pending.change else { return }
    storedContent = old
    delegate.controllerWillChangeContent(self)
    storedContent = pending.new
    for section in change.sections {
      let content = section.type == .delete ? old : pending.new
      let told = FetchedSection(
        content.state.sections[section.index].info, objects: content.elements[section.index])
      delegate.controller(
        self, didChange: told, atSectionIndex: section.index, for: section.type)
    }
    for object in change.objects {
      let element = object.newPosition.map { pending.new[$0] } ?? object.oldPosition.map { old[$0] }
      guard let element = element ?? nil else { continue }
      delegate.controller(
        self, didChange: element, at: object.oldPosition, for: object.type,
        newPosition: object.newPosition)
    }
    delegate.controllerDidChangeContent(self)
  }
}

// MARK: - Sequences

extension FetchedResultsController {
  /// Every content from now on by its ids, the present one first. A reader that is slower than the
  /// store gets the newest one, with what changed since the one it had.
  public var snapshots: ResultsSnapshots {
    ResultsSnapshots(channel: openChannel())
  }

  /// Every change from now on. A reader that is slower than the store gets one change that holds
  /// all since the last one it had.
  public var changes: ContentChanges {
    ContentChanges(channel: openChannel())
  }

  private func openChannel() -> ResultChannel {
    let channel = ResultChannel(storedContent?.state)
    channels.append(channel)
    return channel
  }
}
