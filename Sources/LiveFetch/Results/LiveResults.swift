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
  public let change: ContentChange<ObjectID>?
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

  init(_ content: FetchedContent<Element>, _ change: ContentChange<ObjectID>?) {
    sections = content.sections
    ids = content.visibleState.snapshot(after: change)
    self.change = change
    summary = content.visibleState.summary
    token = content.visibleState.token
    isStored = content.sourceState.isStored
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

  /// Iterates over the contents of the result.
  public struct Iterator: AsyncIteratorProtocol {
    private let request: FetchRequest<Element>
    private var followed: FollowedContent<Element>
    private var isEnded = false

    init(_ results: LiveResults) {
      request = results.request
      followed = FollowedContent(
        results.store, results.request, section: results.section, hold: 25)
    }

    public mutating func next() async throws(FetchError) -> LiveSnapshot<Element>? {
      do throws(FetchError) {
        if followed.content == nil { try request.checkWindow() }
        while !isEnded, !Task.isCancelled {
          if let snapshot = try receive(await followed.next()) { return snapshot }
        }
        return nil
      } catch {
        isEnded = true
        throw error
      }
    }

    /// Returns the next snapshot; nil if the event changed nothing visible.
    private mutating func receive(
      _ event: FollowedContent<Element>.Event
    ) throws(FetchError) -> LiveSnapshot<Element>? {
      if let problem = followed.content?.solelyUnreadable { throw .materialization(problem) }
      switch event {
      case .changed(let change): return followed.content.map { LiveSnapshot($0, change) }
      case .unchanged, .unreachable, .diffNotApplicable: return nil
      case .failed(.cancelled):
        isEnded = true
        return nil
      case .failed(let error): throw .store(error)
      }
    }
  }
}
