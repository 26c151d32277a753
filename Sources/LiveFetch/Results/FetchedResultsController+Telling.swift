// Who is told what, and in which order: observers, sequences, then the delegate in its one way.

extension FetchedResultsController {
  /// Makes `content` the content and tells everyone; `change` is nil for the first one.
  func tell(_ content: FetchedContent<Element>, _ change: ContentChange?) {
    let old = storedContent
    // Objects that the content changed in place are told of once it shows.
    defer { context.processChangesOfTree() }
    show(content)
    guard old == nil || change?.isEmpty == false else { return }
    channels.removeAll { $0.isUnread }
    for entry in channels { entry.channel?.send(content.state, change) }
    guard let delegate else { return }
    pending = PendingChange(old: old, new: content, change: change)
    defer { pending = nil }
    delegate.controller(self, didChangeContentWith: content.state.snapshot(after: change))
  }

  /// Makes `content` the content without a word to the delegate: nothing that it shows differs.
  func show(_ content: FetchedContent<Element>) {
    registrar.withMutation(of: self, keyPath: \.sections) {
      storedContent = content
      storedPositions = nil
    }
  }

  func report(_ state: State, _ error: FetchError) {
    set(state)
    delegate?.controller(self, didFailWith: error)
  }

  func set(_ state: State) {
    registrar.withMutation(of: self, keyPath: \.state) { storedState = state }
    stateDidChange?(state)
  }

  /// For a delegate that does not take snapshots.
  func tellDifference<Delegate: FetchedResultsControllerDelegate<Element>>(to delegate: Delegate) {
    guard let pending else { return }
    let difference = pending.new.ids.difference(from: pending.old?.ids ?? [])
    relay(to: delegate).controller(self, didChangeContentWith: difference.inferringMoves())
  }

  /// For a delegate that takes neither snapshots nor differences.
  func tellEachChange<Delegate: FetchedResultsControllerDelegate<Element>>(to delegate: Delegate) {
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
    for object in change.objects { tell(object, from: old, to: pending.new, delegate) }
    delegate.controllerDidChangeContent(self)
  }

  private func tell(
    _ object: ObjectChange, from old: FetchedContent<Element>, to new: FetchedContent<Element>,
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

  /// The controller's own delegate where that one passes on what it is told to `delegate`.
  private func relay(
    to delegate: any FetchedResultsControllerDelegate<Element>
  ) -> any FetchedResultsControllerDelegate<Element> {
    guard let own = self.delegate, let relay = own as? any ResultsRelay,
      relay.passesOn(to: delegate)
    else { return delegate }
    return own
  }
}

/// A delegate that passes on what it is told to another one.
protocol ResultsRelay: AnyObject {
  func passesOn(to delegate: AnyObject) -> Bool
}

// MARK: - Sequences

extension FetchedResultsController {
  /// Every content from now on by its ids, the present one first. A reader that is slower than the
  /// store gets the newest one, with what changed since the one it had. A loop that is left costs
  /// nothing any more, whether by `break`, by an error or by its task being cancelled. It ends with
  /// ``stop()``, and with the controller.
  public var snapshots: ResultsSnapshots {
    ResultsSnapshots(channel: openChannel())
  }

  /// Every change from now on. A reader that is slower than the store gets one change that holds
  /// all since the last one it had. It ends with ``stop()``, and with the controller.
  public var changes: ContentChanges {
    let channel = openChannel()
    channel.skipPresent()
    return ContentChanges(channel: channel)
  }

  private func openChannel() -> ResultChannel {
    let channel = ResultChannel(storedContent?.state)
    channels.removeAll { $0.isUnread }
    channels.append(WeakChannel(channel: channel))
    if isDetached { channel.finish() }
    return channel
  }

  /// No more is told; what was is still read.
  func endSequences() {
    for entry in channels { entry.channel?.finish() }
    channels = []
  }
}
