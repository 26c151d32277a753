// One reader of a controller's content. It holds the newest content alone, so a slow reader costs
// no more than a fast one; what it missed it gets as one change.

import Synchronization

/// Takes contents from a controller to one reader, in another isolation domain if it likes.
final class ResultChannel: Sendable {
  struct Delivery: Sendable {
    /// The content that the reader had.
    let old: ResultState?
    let new: ResultState
    /// What leads from one to the other where that was one step.
    let change: ContentChange?
  }

  private struct State {
    var seen: ResultState?
    var newest: ResultState?
    var change: ContentChange?
    var hasNews: Bool
    var isFinished = false
    var reader: CheckedContinuation<Delivery?, Never>?
  }

  // Guards what is on its way; never held while the reader is resumed.
  private let state: Mutex<State>

  init(_ content: ResultState?) {
    state = Mutex(State(newest: content, hasNews: content != nil))
  }

  var isFinished: Bool { state.withLock { $0.isFinished } }

  func send(_ content: ResultState, _ change: ContentChange?) {
    resumeReader { state in
      state.change = state.hasNews ? nil : change
      state.newest = content
      state.hasNews = true
    }
  }

  /// No more will come; what has come is still read.
  func finish() { resumeReader { $0.isFinished = true } }

  /// Takes the present content for read.
  func skipPresent() {
    state.withLock { state in
      state.seen = state.newest
      state.hasNews = false
    }
  }

  /// The next content; nil when there will be none, or the task is cancelled.
  func next() async -> Delivery? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let delivery: Delivery?? = state.withLock { state in
          if let delivery = Self.take(&state) { return delivery }
          if state.isFinished || state.reader != nil || Task.isCancelled { return .some(nil) }
          state.reader = continuation
          return nil
        }
        if let delivery { continuation.resume(returning: delivery) }
      }
    } onCancel: {
      finish()
    }
  }

  private func resumeReader(after change: (inout State) -> Void) {
    let resumption: (CheckedContinuation<Delivery?, Never>, Delivery?)? = state.withLock { state in
      change(&state)
      guard let reader = state.reader else { return nil }
      let delivery = Self.take(&state)
      guard delivery != nil || state.isFinished else { return nil }
      state.reader = nil
      return (reader, delivery)
    }
    resumption.map { $0.resume(returning: $1) }
  }

  private static func take(_ state: inout State) -> Delivery? {
    guard state.hasNews, let newest = state.newest else { return nil }
    defer {
      state.seen = newest
      state.hasNews = false
      state.change = nil
    }
    return Delivery(old: state.seen, new: newest, change: state.change)
  }
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
