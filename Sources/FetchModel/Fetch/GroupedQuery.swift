// `as=dictionaries` resolved against the model: the values of each dictionary, the grouping of the
// objects, the condition that groups must fulfil, and the order.
//
// Expressions see aggregates over a group as attributes: the attribute with index `firstAggregate +
// n` represents `aggregates[n]`. So every expression of the predicate language works with
// aggregates, and the SQL compiler maps these attributes to the aggregates' columns.

/// The query of dictionaries, which are made of the matching objects.
public struct GroupedQuery: Sendable, Hashable {
  /// One value of every dictionary.
  public struct Column: Sendable, Hashable {
    /// The key under which a dictionary shows it.
    public let key: String
    /// The expression whose value is shown.
    public let value: ResolvedExpression
    /// The type of the value, which determines its JSON.
    public let type: AttributeType
  }

  /// A value computed from all objects of a group.
  public struct Aggregate: Sendable, Hashable {
    /// nil for the distinct values as an array, ascending.
    public let function: AggregateFunction?
    /// The value of each object, over to-one steps; nil counts the object itself.
    public let value: PropertyPath?
    /// True if equal values count once.
    public let isDistinct: Bool
    /// The type of the values taken.
    public let type: AttributeType
  }

  /// One term of the order.
  public struct OrderTerm: Sendable, Hashable {
    /// The expression by whose value the dictionaries are ordered.
    public let value: ResolvedExpression
    /// The direction of the order.
    public let direction: Direction
    /// The place of nil relative to other values.
    public let nils: NilPlace
    /// The differences that the comparison of texts ignores.
    public let options: StringOptions
  }

  /// The values of every dictionary, in order.
  public let columns: [Column]
  /// The aggregates that the expressions use.
  public let aggregates: [Aggregate]
  /// The attribute index that represents the first of ``aggregates``.
  public let firstAggregate: Int
  /// Objects with the same values of these are one dictionary.
  public let groups: [ResolvedExpression]
  /// The condition that groups must fulfil.
  public let having: Condition
  /// True if equal dictionaries are merged into one.
  public let isDistinct: Bool
  /// The requested order. The store adds terms that make it total: the id, or the groups' own values.
  public let order: [OrderTerm]
  /// Every key path to one value that the dictionaries depend on, each once.
  public let values: [PropertyPath]
  /// Every key path over to-many relationships that they depend on, each once.
  public let toManyPaths: [PropertyPath]
  /// True if the query contains the time of the request.
  public let isNondeterministic: Bool

  /// Every key path that the dictionaries depend on.
  public var paths: [PropertyPath] { values + toManyPaths }

  /// True if a dictionary represents a group of objects rather than one.
  public var isAggregated: Bool { !groups.isEmpty || !aggregates.isEmpty }

  /// The number of entries of SQLite's parser stack that the deepest expression needs.
  var stackEntries: Int {
    let values = groups + columns.map(\.value) + order.map(\.value)
    return max(
      ParserStackBudget.entries(having), values.map(ParserStackBudget.entries).max() ?? 0)
  }

  /// The aggregate that an attribute of the fetched entity represents; nil for a real attribute.
  public func aggregate(_ path: PropertyPath) -> Aggregate? {
    aggregates.represented(by: path, first: firstAggregate)
  }
}

extension [GroupedQuery.Aggregate] {
  /// The aggregate that an attribute of the fetched entity represents; nil for a real attribute.
  ///
  /// - Parameter first: the index of the attribute that represents the first aggregate.
  func represented(by path: PropertyPath, first: Int) -> GroupedQuery.Aggregate? {
    guard path.steps.isEmpty, case .attribute(let index) = path.target, index >= first
    else { return nil }
    return self[index - first]
  }
}

/// Dictionaries as a store found them, written as JSON.
public struct GroupedResult: Sendable, Hashable {
  /// The number of dictionaries.
  public var count = 0
  /// The number of dictionaries without the window, if it was requested.
  public var total: Int?
  /// True if the server's own limit cut them.
  public var isTruncated = false
  /// The dictionaries with commas between them.
  public var items: [UInt8] = []

  /// Makes a grouped result.
  public init() {}

  /// Appends `"count":2,"sections":[…]`, and `total` and `truncated` where they are known: the members that a
  /// snapshot and a diff have in common.
  public func appendMembers(to json: inout [UInt8]) {
    ResultSummary(count: count, total: total, isTruncated: isTruncated).appendMembers(to: &json)
    json.append(json: ",\"sections\":[{")
    SectionInfo.unsectioned.appendMembers(to: &json)
    json.append(json: ",\"items\":[")
    json.append(contentsOf: items)
    json.append(json: "]}]")
  }
}
