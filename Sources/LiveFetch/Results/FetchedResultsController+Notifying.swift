// Reports changes: first observers, then sequences, then the delegate.

extension FetchedResultsController {
  /// Sets the content and reports it; `change` is nil for the first content.
  func notify(_ content: FetchedContent<Element>, _ change: ContentChange<ObjectID>?) {
    let old = storedContent
    // Report objects that changed in place after the content shows them.
    defer { context.processChangesOfTree() }
    show(content)
    defer { reportUnreadable(in: content) }
    guard old == nil || change?.isEmpty == false else { return }
    channels.removeAll { $0.isUnread }
    for entry in channels { entry.channel?.send(content.visibleState, change) }
    guard let delegate else { return }
    pending = PendingChange(old: old, new: content, change: change)
    defer { pending = nil }
    delegate.controller(self, didChangeContentWith: content.visibleState.snapshot(after: change))
  }

  /// Sets the content, and reports the change from the old one if it is visible.
  func show(
    _ content: FetchedContent<Element>, _ change: ContentChange<ObjectID>,
    from old: FetchedContent<Element>
  ) {
    if change.isEmpty, old.visibleState.summary == content.visibleState.summary {
      (storedContent, storedPositions) = (content, nil)
      reportUnreadable(in: content)
    } else {
      notify(content, change)
    }
  }

  /// Sets the content without notifying the delegate.
  private func show(_ content: FetchedContent<Element>) {
    registrar.withMutation(of: self, keyPath: \.sections) {
      storedContent = content
      storedPositions = nil
      let known = unreadable
      if content.isBatched, !known.isEmpty {
        unreadable = known.filter { position(of: $0.key) != nil }
      } else {
        unreadable = content.problems.filter { known[$0.key] == $0.value }
      }
    }
  }

  /// Reports each unreadable object to the delegate once.
  func reportUnreadable(in content: FetchedContent<Element>) {
    if !content.problems.isEmpty { reportUnreadable(content.problems) }
  }

  func reportUnreadable(_ problems: [ObjectID: MaterializationError]) {
    let new = problems.filter { unreadable[$0.key] != $0.value }
    guard !new.isEmpty else { return }
    registrar.withMutation(of: self, keyPath: \.sections) { unreadable.merge(new) { $1 } }
    for (_, problem) in new.sorted(by: { $0.key < $1.key }) {
      delegate?.controller(self, didFailWith: .materialization(problem))
    }
  }

  func report(_ state: State, _ error: FetchError) {
    setState(state)
    delegate?.controller(self, didFailWith: error)
  }

  func setState(_ state: State) {
    if case (.following, .following) = (storedState, state) { return }
    registrar.withMutation(of: self, keyPath: \.state) { storedState = state }
    stateDidChange?(state)
  }

  /// For a delegate that does not receive snapshots.
  func reportDifference<Delegate: FetchedResultsControllerDelegate<Element>>(to delegate: Delegate)
  {
    guard let pending else { return }
    let new = pending.new.visibleState
    let difference =
      if let old = pending.old?.visibleState {
        (pending.change ?? ContentChange(from: old, to: new)).difference(from: old, to: new)
      } else {
        CollectionDifference(
          pending.new.ids.enumerated().map {
            .insert(offset: $0, element: $1, associatedWith: nil)
          })
      }
    // Nil only for offsets that occur twice.
    guard let difference else { return }
    relay(to: delegate).controller(self, didChangeContentWith: difference)
  }

  /// For a delegate that receives neither snapshots nor differences.
  func reportEachChange<Delegate: FetchedResultsControllerDelegate<Element>>(to delegate: Delegate)
  {
    guard let pending, let old = pending.old, let change = pending.change else { return }
    let delegate = relay(to: delegate)
    (storedContent, storedPositions) = (old, nil)
    delegate.controllerWillChangeContent(self)
    (storedContent, storedPositions) = (pending.new, nil)
    for section in change.sections {
      let content = section.type == .delete ? old : pending.new
      delegate.controller(
        self, didChange: content.section(at: section.index), atSectionIndex: section.index,
        for: section.type)
    }
    for object in change.objects { notify(object, from: old, to: pending.new, delegate) }
    delegate.controllerDidChangeContent(self)
  }

  private func notify(
    _ object: ObjectChange<ObjectID>, from old: FetchedContent<Element>,
    to new: FetchedContent<Element>,
    _ delegate: any FetchedResultsControllerDelegate<Element>
  ) {
    let element =
      if let position = object.newPosition { new[position] } else {
        object.oldPosition.flatMap { old[$0] }
      }
    if let element {
      delegate.controller(
        self, didChange: element, at: object.oldPosition, for: object.type,
        newIndexPath: object.newPosition)
    } else {
      delegate.controller(
        self, didChangeObjectWithID: object.id, at: object.oldPosition, for: object.type,
        newIndexPath: object.newPosition)
    }
  }

  /// The controller's own delegate, if it forwards its calls to `delegate`.
  private func relay(
    to delegate: any FetchedResultsControllerDelegate<Element>
  ) -> any FetchedResultsControllerDelegate<Element> {
    guard let own = self.delegate, let relay = own as? any ResultsRelay,
      relay.passesOn(to: delegate)
    else { return delegate }
    return own
  }
}

/// A delegate that forwards its calls to another one.
protocol ResultsRelay: AnyObject {
  func passesOn(to delegate: AnyObject) -> Bool
}

// MARK: - Sequences

extension FetchedResultsController {
  /// The content by ids: the current one, then every later one. A slow reader gets the newest
  /// content with all changes since the one that it had. Leaving the loop, by `break`, an error or
  /// cancellation, releases the sequence. It ends with ``stop()`` and with the controller.
  public var snapshots: ResultsSequence<ResultsSnapshot> {
    ResultsSequence(channel: openChannel()) { $0.new.snapshot(after: $0.contentChange) }
  }

  /// Every change from now on. A slow reader gets one change that combines all since its last one.
  /// The sequence ends with ``stop()`` and with the controller.
  public var changes: ResultsSequence<ContentChange<ObjectID>> {
    let channel = openChannel()
    channel.skipPresent()
    return ResultsSequence(channel: channel) { delivery in
      delivery.contentChange.flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  private func openChannel() -> ResultChannel {
    let channel = ResultChannel(storedContent?.visibleState)
    channels.removeAll { $0.isUnread }
    channels.append(WeakChannel(channel: channel))
    return channel
  }

  /// Ends the sequences after their buffered elements.
  func endSequences() {
    for entry in channels { entry.channel?.finish() }
    channels = []
  }
}
