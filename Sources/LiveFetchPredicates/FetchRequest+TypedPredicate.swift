// Typed predicates in fetch requests.

import LiveFetch

extension FetchPredicate {
  /// Converts a predicate that the compiler checked.
  public init<Root>(_ predicate: TypedPredicate<Root>) { self.init(predicate.predicate) }
}

extension FetchRequest {
  /// Creates a request with a predicate that the compiler checked.
  public init<Root>(where predicate: TypedPredicate<Root>, sortedBy terms: [SortTerm] = []) {
    self.init(where: FetchPredicate(predicate), sortedBy: terms)
  }
}

extension Fetchable {
  /// The objects that match the default predicate and this one, which the compiler checked, in the
  /// default order.
  public static func sortedFetchRequest<Root>(
    where predicate: TypedPredicate<Root>
  ) -> FetchRequest<Self> {
    sortedFetchRequest(where: FetchPredicate(predicate))
  }
}
