// A token enters; the differences of a fetch since then leave, once. Nothing is followed.

import FetchModel

extension ObjectStore {
  /// Returns the differences of a fetch between the state at `token` and the present one.
  ///
  /// ```swift
  /// let differences = try await store.differences(from: token, of: request)
  /// for change in differences.change.objects { print(change.type, change.id) }
  /// ```
  ///
  /// - Parameters:
  ///   - token: of a ``LiveSnapshot``, a controller, a save's receipt, or earlier differences, also of
  ///     an earlier run of the program.
  ///   - request: the fetch request. Its `fetchBatchSize` is ignored.
  ///   - section: groups the elements; it precedes the request's sort descriptors.
  /// - Throws: ``FetchError/store(_:)``, with ``ObjectStoreError/tokenExpired`` if the history does not
  ///   reach back to the token: fetch again then.
  public func differences<Element: Fetchable>(
    from token: String, of request: FetchRequest<Element>, section: SortTerm? = nil
  ) async throws(FetchError) -> FetchDifferences {
    try request.checkWindow()
    let feed = PolledFeed(store: self, request: request.body(section: section))
    do throws(ObjectStoreError) {
      let answer = try await feed.next(since: token, hold: 0)
      guard let diff = Diff(json: answer) else { throw .notUnderstood("no diff") }
      return FetchDifferences(diff)
    } catch {
      throw .store(error.isTokenExpired ? .tokenExpired : error)
    }
  }
}

/// The differences of a fetch between two states of its store.
public struct FetchDifferences: Sendable, Hashable {
  /// The changes of sections and objects; applied to the ids of the old content it gives those of the
  /// new one.
  public let change: ContentChange<ObjectID>
  /// By id, the selected values of inserted objects, and those that changed of moved and updated ones.
  public let values: [ObjectID: Item]
  /// The properties of the new content other than its elements, such as `count`.
  public let summary: ResultSummary
  /// The token of the new content, for the next call.
  public let token: String

  init(_ diff: Diff) {
    change = ContentChange(diff)
    summary = diff.summary
    token = diff.to
    var values: [ObjectID: Item] = [:]
    for inserted in diff.inserted { values[inserted.id] = ResultState.item(.inserted(inserted)) }
    for changed in diff.moved + diff.updated {
      values[changed.id] = ResultState.item(.updated(changed, Item(id: changed.id)))
    }
    self.values = values
  }
}
