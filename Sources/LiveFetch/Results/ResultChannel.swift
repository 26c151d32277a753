// Delivers a controller's contents to one reader. Only the newest content is buffered; a slow
// reader gets one change that combines those it missed.

/// Delivers contents to one reader, possibly in another isolation domain.
final class ResultChannel: Sendable {
  struct Delivery: Sendable {
    /// The content that the reader had.
    let old: ResultState?
    let new: ResultState
    /// The change from `old` to `new`, if it was a single one.
    let change: ContentChange<ObjectID>?
    /// The objects that changed in place although the contents hold only their ids.
    let changed: Set<ObjectID>
  }

  private struct Content: EventBufferContent {
    var seen: ResultState?
    var newest: ResultState?
    var change: ContentChange<ObjectID>?
    /// The objects that changed in place since ``seen`` and of which the newest content holds only the ids.
    var changed: Set<ObjectID> = []
    var hasNews: Bool
    /// True for a reader of changes: the first content is none.
    var isForChanges = false
    var isFinished = false

    mutating func take() -> Delivery? {
      guard hasNews, let newest else { return nil }
      defer { (seen, hasNews, change, changed) = (newest, false, nil, []) }
      return Delivery(old: seen, new: newest, change: change, changed: changed)
    }
  }

  private let box: EventBuffer<Content>

  init(_ content: ResultState?) {
    box = EventBuffer(Content(newest: content, hasNews: content != nil))
  }

  var isFinished: Bool { box.isFinished }

  func send(_ state: ResultState, _ change: ContentChange<ObjectID>?) {
    box.put { content in
      content.change = content.hasNews ? nil : change
      content.newest = state
      for object in change?.objects ?? [] where object.type == .update || object.type == .move {
        // Where the content holds the values, these are compared.
        if let position = object.newPosition, state[position]?.names.count == 1 {
          content.changed.insert(object.id)
        }
      }
      if content.isForChanges, content.seen == nil {
        content.seen = state
      } else {
        content.hasNews = true
      }
    }
  }

  /// Ends the channel after its buffered content.
  func finish() { box.finish() }

  /// Marks the current content as read, or the first one if there is none yet.
  func skipPresent() {
    box.withLock { content in
      content.seen = content.newest
      (content.hasNews, content.isForChanges) = (false, true)
    }
  }

  /// The next content; nil after the end or if the task is cancelled.
  func next() async -> Delivery? { await box.next() }
}

/// A weak reference to a channel, which lives as long as a sequence or iterator reads it.
struct WeakChannel {
  weak var channel: ResultChannel?

  /// True if no sequence or iterator reads the channel any more.
  var isUnread: Bool { channel?.isFinished ?? true }
}

/// The contents of a controller, or their changes, as a sequence.
public struct ResultsSequence<Element: Sendable>: AsyncSequence, Sendable {
  let channel: ResultChannel
  /// The element of a delivery; nil for one that is left out.
  let element: @Sendable (ResultChannel.Delivery) -> Element?

  public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

  /// Iterates over the contents or changes.
  public struct Iterator: AsyncIteratorProtocol {
    let sequence: ResultsSequence

    public mutating func next() async -> Element? {
      while let delivery = await sequence.channel.next() {
        if let element = sequence.element(delivery) { return element }
      }
      return nil
    }
  }
}

extension ResultChannel.Delivery {
  /// The change since the reader's last content; nil if it had none.
  var contentChange: ContentChange<ObjectID>? {
    change ?? old.map { ContentChange(from: $0, to: new, changed: changed) }
  }
}
