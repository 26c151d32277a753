// One reader of a controller's content. It holds the newest content alone, so a slow reader costs
// no more than a fast one; what it missed it gets as one change.

/// Takes contents from a controller to one reader, in another isolation domain if it likes.
final class ResultChannel: Sendable {
  struct Delivery: Sendable {
    /// The content that the reader had.
    let old: ResultState?
    let new: ResultState
    /// What leads from one to the other where that was one step.
    let change: ContentChange?
  }

  private struct Content: MailboxContent {
    var seen: ResultState?
    var newest: ResultState?
    var change: ContentChange?
    var hasNews: Bool
    var isFinished = false

    mutating func take() -> Delivery? {
      guard hasNews, let newest else { return nil }
      defer { (seen, hasNews, change) = (newest, false, nil) }
      return Delivery(old: seen, new: newest, change: change)
    }
  }

  private let box: Mailbox<Content>

  init(_ content: ResultState?) {
    box = Mailbox(Content(newest: content, hasNews: content != nil))
  }

  var isFinished: Bool { box.isFinished }

  func send(_ state: ResultState, _ change: ContentChange?) {
    box.put { content in
      content.change = content.hasNews ? nil : change
      content.newest = state
      content.hasNews = true
    }
  }

  /// No more will come; what has come is still read.
  func finish() { box.put { $0.isFinished = true } }

  /// Takes the present content for read.
  func skipPresent() {
    box.withLock { content in
      content.seen = content.newest
      content.hasNews = false
    }
  }

  /// The next content; nil when there will be none, or the task is cancelled.
  func next() async -> Delivery? { await box.next { self.finish() } }
}

/// A channel as its controller knows it: it is gone with the last sequence or iterator that reads it.
struct WeakChannel {
  weak var channel: ResultChannel?

  /// Whether nobody reads it any more.
  var isUnread: Bool { channel?.isFinished ?? true }
}

/// The contents of a controller, one after the other.
public struct ResultsSnapshots: AsyncSequence, Sendable {
  let channel: ResultChannel

  public func makeAsyncIterator() -> Iterator { Iterator(channel: channel) }

  public struct Iterator: AsyncIteratorProtocol {
    let channel: ResultChannel

    public mutating func next() async -> ResultsSnapshot? {
      guard let delivery = await channel.next() else { return nil }
      return delivery.new.snapshot(after: delivery.contentChange)
    }
  }
}

/// The changes of a controller's content, one after the other.
public struct ContentChanges: AsyncSequence, Sendable {
  let channel: ResultChannel

  public func makeAsyncIterator() -> Iterator { Iterator(channel: channel) }

  public struct Iterator: AsyncIteratorProtocol {
    let channel: ResultChannel

    public mutating func next() async -> ContentChange? {
      while let delivery = await channel.next() {
        if let change = delivery.contentChange, !change.isEmpty { return change }
      }
      return nil
    }
  }
}

extension ResultChannel.Delivery {
  /// What changed since the content that the reader had; nil where it had none.
  fileprivate var contentChange: ContentChange? {
    change ?? old.map { ContentChange($0.difference(to: new)) }
  }
}
