// The relation of a controller to its store.

/// The state of a ``FetchedResultsController`` or of a ``DataStoreResultsController``.
public enum ResultsState<Unreachable: Error, Failure: Error>: Sendable {
  /// Nothing was fetched yet, or the controller was stopped.
  case initial
  /// The store was asked. A content is the previous one, or that of an ``OfflineStore``'s storage.
  case loading
  /// The content is up to date and followed.
  case following
  /// The store cannot be reached. The content is the last known one, and the store is asked again
  /// without a call.
  case offline(Unreachable)
  /// The fetch failed; `performFetch` starts again.
  case failed(Failure)
}
