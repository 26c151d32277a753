// A fetch enters; its content leaves as a sequence of values, first the current one, then one per
// change. No actor is involved: rows are decoded in the reader's task.

import FetchModel

extension ObjectStore {
  /// The result of a fetch, now and after each change, in any isolation domain.
  ///
  /// ```swift
  /// for try await snapshot in store.live(FetchRequest<City>(sortedBy: [.ascending("name")])) {
  ///   print(snapshot.elements.map(\.name))
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - request: the fetch request. Its `fetchBatchSize` is ignored.
  ///   - section: groups the elements; it precedes the request's sort descriptors.
  public func live<Element: Fetchable & Sendable>(
    _ request: FetchRequest<Element>, section: SortTerm? = nil
  ) -> LiveResults<Element> {
    LiveResults(store: self, request: request, section: section)
  }
}

/// The content of a fetch at one token.
public struct LiveSnapshot<Element: Fetchable & Sendable>: Sendable {
  /// Without a section key path there is exactly one section.
  public let sections: [FetchedSection<Element>]
  /// The content by permanent ids, with the items that the change updated.
  public let ids: ResultsSnapshot
  /// The change from the previous snapshot of the same loop; nil for the first one.
  public let change: ContentChange?
  /// The properties of the result other than its elements, such as `total`.
  public let summary: ResultSummary
  /// True if the content is from the storage of an ``OfflineStore``, and the server has not answered
  /// yet.
  public let isStored: Bool
  /// The token of the store's state that this snapshot shows.
  public let token: String
  /// Objects that are left out because their stored values do not fit the element type.
  public let unreadableObjects: [MaterializationError]

  /// Every element in order.
  public var elements: [Element] { sections.flatMap(\.objects) }

  init(_ content: FetchedContent<Element>, _ change: ContentChange?) {
    sections = content.sections
    ids = content.state.snapshot(after: change)
    self.change = change
    summary = content.state.summary
    token = content.state.token
    isStored = content.source.isStored
    unreadableObjects = content.problems.sorted { $0.key < $1.key }.map(\.value)
  }
}

/// The contents of a fetch as a sequence: the current one, then one after each change.
///
/// Each loop fetches and follows by itself, and stops with the loop or its task. A slow reader gets
/// one snapshot with all changes since the one that it had. While the store cannot be reached, the
/// sequence waits and retries. It ends when the task is cancelled or a local store is closed, and
/// throws ``FetchError`` if the store refuses the request or no object is readable.
public struct LiveResults<Element: Fetchable & Sendable>: AsyncSequence, Sendable {
  let store: any ObjectStore
  let request: FetchRequest<Element>
  let section: SortTerm?

  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let request: FetchRequest<Element>
    private let context: ManagedObjectContext
    private var follower: Follower
    private var content: FetchedContent<Element>?
    private var isEnded = false

    init(_ results: LiveResults) {
      request = results.request
      context = ManagedObjectContext(store: results.store)
      follower = Follower(
        store: results.store, request: results.request.body(section: results.section), hold: 25)
    }

    public mutating func next() async throws(FetchError) -> LiveSnapshot<Element>? {
      do throws(FetchError) {
        if content == nil { try request.checkWindow() }
        while !isEnded, !Task.isCancelled {
          if let snapshot = try receive(await follower.next()) { return snapshot }
        }
        return nil
      } catch {
        isEnded = true
        throw error
      }
    }

    /// Returns the next snapshot; nil if the event changed nothing visible.
    private mutating func receive(
      _ event: Follower.Event
    ) throws(FetchError) -> LiveSnapshot<Element>? {
      switch event {
      case .state(let state): return try show(FetchedContent(state, isBatched: false, in: context))
      case .diff(let diff): return try apply(diff)
      case .unreachable: return nil
      case .failed(.cancelled):
        isEnded = true
        return nil
      case .failed(let error): throw .store(error)
      }
    }

    /// A diff that does not lead to the store's state is replaced by a snapshot.
    private mutating func apply(_ diff: Diff) throws(FetchError) -> LiveSnapshot<Element>? {
      guard let old = content, let state = old.source.applying(diff) else {
        follower.token = nil
        return nil
      }
      let new = FetchedContent(state, from: old, by: diff, in: context)
      return try show(new, new.change(by: diff, from: old, in: context))
    }

    private mutating func show(
      _ new: FetchedContent<Element>, _ change: ContentChange? = nil
    ) throws(FetchError) -> LiveSnapshot<Element>? {
      let old = content
      follower.token = new.source.token
      content = new
      if new.state.count == 0, let problem = new.problems.min(by: { $0.key < $1.key })?.value {
        throw .materialization(problem)
      }
      let change = change ?? old.map { ContentChange($0.state.difference(to: new.state)) }
      let isSame =
        change?.isEmpty == true && old?.state.summary == new.state.summary
        && old?.source.isStored == new.source.isStored
      return isSame ? nil : LiveSnapshot(new, change)
    }
  }
}
