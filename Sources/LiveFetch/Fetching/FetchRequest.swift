// What a fetch asks for, as a Swift value. It becomes the body of `POST /v1/fetch`.

/// A fetch request for elements of one type.
///
/// ```swift
/// var request = FetchRequest<City>(
///   where: FetchPredicate("population >= %ld", 1_000_000), sortedBy: [.descending("population")])
/// request.fetchLimit = 50
/// ```
public struct FetchRequest<Element: Fetchable>: Sendable, Hashable {
  /// Beside the element's default predicate, which holds as well.
  public var predicate: FetchPredicate?
  /// Empty: as the element sorts by default.
  public var sortDescriptors: [SortTerm]
  /// The most elements; nil: all. A negative one is refused.
  public var fetchLimit: Int?
  /// How many elements are left out at the beginning. A negative number is refused.
  public var fetchOffset = 0
  /// How many elements a controller makes at a time; 0: all of them at once; a negative number is
  /// refused. See
  /// ``FetchedResultsController/load(_:isolation:)``.
  public var fetchBatchSize = 0
  /// What is selected; nil: what the element says.
  public var propertiesToFetch: [String]?
  /// Relationships, by their key paths, whose objects ``ManagedObjectContext/fetch(_:isolation:)``
  /// brings along: for managed objects alone.
  public var relationshipsToPrefetch: [String] = []
  public var includesSubentities = true
  /// Whether a context's fetch judges objects with unsaved changes as they are in the context, new
  /// ones too; false: everything as the store has it. For managed objects alone.
  public var includesPendingChanges = true
  /// Whether the element's default predicate is left out.
  public var ignoresDefaultPredicate = false

  public init(where predicate: FetchPredicate? = nil, sortedBy terms: [SortTerm] = []) {
    self.predicate = predicate
    sortDescriptors = terms
  }

  /// A request whose predicate the compiler checked.
  public init<Root>(where predicate: TypedPredicate<Root>, sortedBy terms: [SortTerm] = []) {
    self.init(where: FetchPredicate(predicate), sortedBy: terms)
  }

  /// Refuses numbers that count nothing.
  func checkWindow() throws(FetchError) {
    let numbers = [
      ("fetchLimit", fetchLimit ?? 0), ("fetchOffset", fetchOffset),
      ("fetchBatchSize", fetchBatchSize),
    ]
    for (name, number) in numbers where number < 0 {
      throw .store(
        .refused(.badRequest("bad-parameter", "`\(name)`: \(number) is negative.")))
    }
  }

  /// The predicate that the store is given.
  var effectivePredicate: FetchPredicate? {
    let standard = ignoresDefaultPredicate ? nil : Element.defaultPredicate
    guard let standard else { return predicate }
    return predicate.map { standard && $0 } ?? standard
  }

  /// What a controller follows: ids alone where it makes its elements in batches.
  func followedBody(section: SortTerm?) -> [JSON.Member] {
    body(section: section, as: fetchBatchSize > 0 ? "ids" : nil)
  }

  /// The objects with these ids, as this request selects them.
  func body(ids: [ObjectID]) -> [JSON.Member] {
    var request = withoutWindow
    request.predicate = .ids(ids)
    request.ignoresDefaultPredicate = true
    return request.body()
  }

  /// Leaves out what `other` does not mean.
  mutating func narrow(to other: FetchPredicate) {
    predicate = predicate.map { $0 && other } ?? other
  }

  /// The same request for everything that it means.
  var withoutWindow: FetchRequest {
    var request = self
    (request.fetchLimit, request.fetchOffset) = (nil, 0)
    return request
  }

  /// The body of `POST /v1/fetch` without `since`.
  func body(section: SortTerm? = nil, as shape: String? = nil) -> [JSON.Member] {
    var body: [JSON.Member] = [.init(name: "entity", value: .string(Element.entityName))]
    if let predicate = effectivePredicate {
      body.append(.init(name: "where", value: .string(predicate.format)))
      if !predicate.arguments.isEmpty {
        body.append(.init(name: "arguments", value: .array(predicate.arguments)))
      }
    }
    let terms = sortDescriptors.isEmpty ? Element.defaultSortDescriptors : sortDescriptors
    if let section { body.append(.init(name: "section", value: .string(section.text))) }
    if !terms.isEmpty {
      body.append(.init(name: "sort", value: .array(terms.map { .string($0.text) })))
    }
    if let fetchLimit { body.append(.init(name: "limit", value: .number(String(fetchLimit)))) }
    if fetchOffset != 0 {
      body.append(.init(name: "offset", value: .number(String(fetchOffset))))
    }
    if let select = propertiesToFetch ?? Element.propertiesToFetch {
      body.append(.init(name: "select", value: .array(select.map { .string($0) })))
    }
    if !includesSubentities { body.append(.init(name: "subentities", value: .boolean(false))) }
    if let shape { body.append(.init(name: "as", value: .string(shape))) }
    return body
  }
}
