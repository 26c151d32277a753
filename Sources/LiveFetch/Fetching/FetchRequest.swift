// A fetch request as a Swift value; the body of `POST /v1/fetch`.

/// A fetch request for elements of one type.
///
/// ```swift
/// var request = FetchRequest<City>(
///   where: FetchPredicate("population >= %ld", 1_000_000), sortedBy: [.descending("population")])
/// request.fetchLimit = 50
/// ```
public struct FetchRequest<Element: Fetchable>: Sendable, Hashable {
  /// Combined with the element's default predicate.
  public var predicate: FetchPredicate?
  /// If empty, the element's default order applies.
  public var sortDescriptors: [SortTerm]
  /// The maximum number of elements; nil for all. A negative number is refused.
  public var fetchLimit: Int?
  /// The number of elements to skip. A negative number is refused.
  public var fetchOffset = 0
  /// The number of elements that a controller loads at a time; 0 for all at once. A negative number
  /// is refused. See ``FetchedResultsController/load(_:isolation:)``.
  public var fetchBatchSize = 0
  /// The selected properties; nil for the element's default.
  public var propertiesToFetch: [String]?
  /// Key paths of relationships whose objects ``ManagedObjectContext/fetch(_:isolation:)`` fetches
  /// as well. For managed objects only.
  public var relationshipsToPrefetch: [String] = []
  /// True if objects of subentities are fetched too.
  public var includesSubentities = true
  /// True if a context's fetch includes unsaved changes and unsaved new objects; false for saved
  /// values only. For managed objects only.
  public var includesPendingChanges = true
  /// True to ignore the element's default predicate.
  public var ignoresDefaultPredicate = false

  /// - Parameters:
  ///   - predicate: selects the elements; nil for all.
  ///   - terms: the order, most significant first.
  public init(where predicate: FetchPredicate? = nil, sortedBy terms: [SortTerm] = []) {
    self.predicate = predicate
    sortDescriptors = terms
  }

  /// Throws if a limit, offset or batch size is negative.
  ///
  /// - Parameter failure: the error for a store's refusal.
  func checkWindow<Failure: Error>(
    _ failure: (ObjectStoreError) -> Failure = FetchError.store
  ) throws(Failure) {
    let numbers = [
      ("fetchLimit", fetchLimit ?? 0), ("fetchOffset", fetchOffset),
      ("fetchBatchSize", fetchBatchSize),
    ]
    for (name, number) in numbers where number < 0 {
      throw failure(.refused(.badRequest("bad-parameter", "`\(name)`: \(number) is negative.")))
    }
  }

  /// The predicate sent to the store.
  var effectivePredicate: FetchPredicate? {
    let standard = ignoresDefaultPredicate ? nil : Element.effectivePredicate
    guard let standard else { return predicate }
    return predicate.map { standard && $0 } ?? standard
  }

  /// The request that a controller follows: ids only in batch mode.
  func followedBody(section: SortTerm?) -> [JSON.Member] {
    body(section: section, as: fetchBatchSize > 0 ? "ids" : nil)
  }

  /// The request for the objects with these ids, with this request's selection.
  func body(ids: [ObjectID]) -> [JSON.Member] {
    var request = withoutWindow
    request.predicate = .ids(ids)
    request.ignoresDefaultPredicate = true
    return request.body()
  }

  /// Restricts the request to objects that `other` matches as well.
  mutating func narrow(to other: FetchPredicate) {
    predicate = predicate.map { $0 && other } ?? other
  }

  /// This request without limit and offset.
  var withoutWindow: FetchRequest {
    var request = self
    (request.fetchLimit, request.fetchOffset) = (nil, 0)
    return request
  }

  /// The body of `POST /v1/fetch`, without `since`.
  func body(section: SortTerm? = nil, as shape: String? = nil) -> [JSON.Member] {
    var body: [JSON.Member] = [.init(name: "entity", value: .string(Element.entityName))]
    if let predicate = effectivePredicate {
      body.append(.init(name: "where", value: .string(predicate.format)))
      if !predicate.arguments.isEmpty {
        body.append(.init(name: "arguments", value: .array(predicate.arguments)))
      }
    }
    let terms = sortDescriptors.isEmpty ? Element.effectiveSortDescriptors : sortDescriptors
    if let section { body.append(.init(name: "section", value: .string(section.text))) }
    if !terms.isEmpty {
      body.append(.init(name: "sort", value: .array(terms.map { .string($0.text) })))
    }
    if let fetchLimit { body.append(.init(name: "limit", value: .number(String(fetchLimit)))) }
    if fetchOffset != 0 {
      body.append(.init(name: "offset", value: .number(String(fetchOffset))))
    }
    if let select = propertiesToFetch ?? Element.effectiveSelection {
      body.append(.init(name: "select", value: .array(select.map { .string($0) })))
    }
    if !includesSubentities { body.append(.init(name: "subentities", value: .boolean(false))) }
    if let shape { body.append(.init(name: "as", value: .string(shape))) }
    return body
  }
}
