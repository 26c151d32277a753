// `as=dictionaries` after it was looked up in the model: what each dictionary holds, how the
// objects are grouped, which groups are meant and in which order.
//
// Aggregates over a group are attributes to expressions: those with an index at or beyond
// `firstAggregate` stand for `aggregates`, counted from there. So every expression of the predicate
// language takes them, and whoever makes SQL of it gives them their column.

/// What is made of the objects that match.
public struct GroupedQuery: Sendable, Hashable {
  /// One value of every dictionary.
  public struct Column: Sendable, Hashable {
    /// The key under which a dictionary shows it.
    public let key: String
    public let value: ResolvedExpression
    public let type: AttributeType
  }

  /// A value made of all objects of a group.
  public struct Aggregate: Sendable, Hashable {
    /// nil: the different values themselves, ascending, as an array.
    public let function: AggregateFunction?
    /// What is taken of each object, over to-one steps; nil: the object itself is counted.
    public let value: PropertyPath?
    /// Whether equal values count once.
    public let isDistinct: Bool
    /// The type of the values taken.
    public let type: AttributeType
  }

  /// One term of the order.
  public struct OrderTerm: Sendable, Hashable {
    public let value: ResolvedExpression
    public let direction: Direction
    public let nils: NilPlace
    public let options: StringOptions
  }

  public let columns: [Column]
  public let aggregates: [Aggregate]
  /// The attribute index that stands for the first of ``aggregates``.
  public let firstAggregate: Int
  /// Objects with the same values of these are one dictionary.
  public let groups: [ResolvedExpression]
  /// Which groups are meant.
  public let having: Condition
  /// Whether equal dictionaries stand once.
  public let isDistinct: Bool
  /// The terms before those that make the order total: the id, or the groups' own values.
  public let order: [OrderTerm]
  /// Every key path to one value that the dictionaries depend on, each once.
  public let values: [PropertyPath]
  /// Every key path over to-many relationships that they depend on, each once.
  public let ways: [PropertyPath]
  /// Whether the time of the request stands in it.
  public let isNondeterministic: Bool

  /// Every key path that the dictionaries depend on.
  public var paths: [PropertyPath] { values + ways }

  /// Whether a dictionary stands for a group of objects and not for one.
  public var isAggregated: Bool { !groups.isEmpty || !aggregates.isEmpty }

  /// Entries of a parser's stack that its deepest part needs.
  var stackEntries: Int {
    let values = groups + columns.map(\.value) + order.map(\.value)
    return max(
      ParserStackBudget.entries(having), values.map(ParserStackBudget.entries).max() ?? 0)
  }

  /// The aggregate that an attribute of the fetched entity stands for; nil for a real attribute.
  public func aggregate(_ path: PropertyPath) -> Aggregate? {
    guard path.steps.isEmpty, case .attribute(let index) = path.target, index >= firstAggregate
    else { return nil }
    return aggregates[index - firstAggregate]
  }
}

/// Dictionaries as a store found them, written as JSON.
public struct GroupedResult: Sendable, Hashable {
  /// How many dictionaries there are.
  public var count = 0
  /// How many there would be without the window, where that was asked for.
  public var total: Int?
  /// Whether the server's own limit cut them.
  public var isTruncated = false
  /// The dictionaries with commas between them.
  public var items: [UInt8] = []

  public init() {}

  /// Appends `"count":2,"sections":[…]`: what a snapshot and a diff both tell.
  public func appendMembers(to json: inout [UInt8]) {
    json.append(json: "\"count\":")
    json.append(json: Int64(count))
    if let total {
      json.append(json: ",\"total\":")
      json.append(json: Int64(total))
    }
    if isTruncated { json.append(json: ",\"truncated\":true") }
    json.append(json: ",\"sections\":[{")
    SectionInfo.unsectioned.appendMembers(to: &json)
    json.append(json: ",\"items\":[")
    json.append(contentsOf: items)
    json.append(json: "]}]")
  }
}
