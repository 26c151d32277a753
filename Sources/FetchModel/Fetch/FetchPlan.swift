// A fetch request resolved against the model: the input of stores and the live engine. Everything a
// client can get wrong was refused during resolution.

/// One term of an order.
public struct OrderTerm: Sendable, Hashable {
  /// The part of a value that a term uses.
  public enum Derivation: String, Sendable, Hashable {
    /// The whole value.
    case value
    /// The first letter of a text, uppercased, without diacritics.
    case initial
    /// The day of a date, in UTC.
    case day
    /// The month of a date, with its year, in UTC.
    case month
    /// The year of a date, in UTC.
    case year
  }

  /// The key path of the value, over to-one relationships only.
  public let path: PropertyPath
  /// The function that is applied to the value before it is compared.
  public let derivation: Derivation
  /// The direction of the order.
  public let direction: Direction
  /// The place of nil relative to other values.
  public let nils: NilPlace
  /// The differences that the comparison of texts ignores.
  public let options: StringOptions

  /// Makes an order term.
  public init(
    path: PropertyPath, derivation: Derivation = .value, direction: Direction = .ascending,
    nils: NilPlace? = nil, options: StringOptions = []
  ) {
    self.path = path
    self.derivation = derivation
    self.direction = direction
    self.nils = nils ?? (direction == .ascending ? .first : .last)
    self.options = options
  }
}

/// Selects, orders and groups objects: everything that determines a result except its window and
/// the shape of its items. Fetches with equal definitions share their ordered keys.
public struct ResultDefinition: Sendable, Hashable {
  /// The index of the entity.
  public let entity: Int
  /// The condition that selects the objects.
  public let predicate: ResolvedPredicate
  /// The section's term, which precedes `order`; nil without sections.
  public let section: OrderTerm?
  /// The terms after the section's. The id, ascending, follows implicitly.
  public let order: [OrderTerm]
  /// The access rules that restrict what the fetch reads; nil without any. The predicate and the
  /// order see only objects that the rules allow; the rules see all objects.
  public var access: ReadRules?

  /// Makes a result definition.
  public init(
    entity: Int, predicate: ResolvedPredicate, section: OrderTerm? = nil, order: [OrderTerm] = [],
    access: ReadRules? = nil
  ) {
    self.access = access
    self.entity = entity
    self.predicate = predicate
    self.section = section
    self.order = order
  }

  /// Every key path on which membership or order depends.
  public var paths: [PropertyPath] {
    predicate.paths + (section.map { [$0.path] } ?? []) + order.map(\.path)
      + (access?.paths ?? [])
  }
}

/// The part of a result that a client sees.
public struct Window: Sendable, Hashable {
  /// The number of objects to skip; 0 begins with the first one.
  public let offset: Int
  /// The maximum number of objects; nil for no limit.
  public let limit: Int?
  /// The order key after which `offset` begins to count.
  public let after: OrderKey?

  /// Makes a window.
  public init(offset: Int = 0, limit: Int? = nil, after: OrderKey? = nil) {
    self.offset = offset
    self.limit = limit
    self.after = after
  }
}

/// One value of an item, other than its id.
public struct SelectedValue: Sendable, Hashable {
  /// The origin of a selected value.
  public enum Source: Sendable, Hashable {
    /// An attribute or a to-one relationship, over to-one steps.
    case path(PropertyPath)
    /// The ids, ascending, at the end of a path whose last step is to-many.
    case ids(PropertyPath)
    /// The hash of the object's stored values.
    case etag
  }

  /// The key under which an item shows it.
  public let key: String
  /// The origin of the value.
  public let source: Source

  /// Makes a selected value.
  public init(key: String, source: Source) {
    self.key = key
    self.source = source
  }
}

/// The content of a snapshot's sections.
public enum ResultShape: String, Sendable, Hashable, CaseIterable {
  case objects, ids, count, dictionaries
}

/// A resolved fetch.
public struct FetchPlan: Sendable, Hashable {
  /// The objects of the result and their order.
  public var definition: ResultDefinition
  /// The part of the result that is sent.
  public var window: Window
  /// True if ``Window/limit`` is the server's `--max-items` rather than the client's own.
  public var isCapped: Bool
  /// The form of the items.
  public var shape: ResultShape
  /// The values of each item, in order; the id is implicit.
  public var selection: [SelectedValue]
  /// Relationship paths whose objects are sent along in `included`.
  public var expansion: [PropertyPath]
  /// True to send the number of objects without a window.
  public var withTotal: Bool
  /// True to send the digest of the items, see ``Digest``.
  public var withDigest: Bool
  /// True if integers beyond ±2^53 are sent as strings.
  public var integersAsStrings: Bool
  /// The grouping and aggregates of dictionaries; nil unless the shape is
  /// ``ResultShape/dictionaries``.
  public var groupedQuery: GroupedQuery?

  /// Makes a fetch plan.
  public init(
    definition: ResultDefinition, window: Window = Window(), isCapped: Bool = false,
    shape: ResultShape = .objects, selection: [SelectedValue] = [],
    expansion: [PropertyPath] = [], withTotal: Bool = false, withDigest: Bool = false,
    integersAsStrings: Bool = false, groupedQuery: GroupedQuery? = nil
  ) {
    self.definition = definition
    self.window = window
    self.isCapped = isCapped
    self.shape = shape
    self.selection = selection
    self.expansion = expansion
    self.withTotal = withTotal
    self.withDigest = withDigest
    self.integersAsStrings = integersAsStrings
    self.groupedQuery = groupedQuery
  }

  /// True if the plan contains the time of the request, so that its result changes without a save.
  public var isNondeterministic: Bool {
    definition.predicate.isNondeterministic || groupedQuery?.isNondeterministic ?? false
  }

  /// Every key path that the response depends on.
  public var paths: [PropertyPath] {
    definition.paths + expansion + (groupedQuery?.paths ?? [])
      + selection.compactMap { value in
        switch value.source {
        case .path(let path), .ids(let path): path
        case .etag: nil
        }
      }
  }
}

extension FetchPlan {
  /// Every key path that the response depends on, with the to-one relationships of expanded objects
  /// whose ids may change although the object's row does not.
  public func paths(in model: Model) -> [PropertyPath] {
    paths + expansion.flatMap { foundReferences(along: $0, in: model) }
  }

  private func foundReferences(along path: PropertyPath, in model: Model) -> [PropertyPath] {
    var entity = path.root
    return path.steps.indices.flatMap { index in
      entity = model.entities[entity].relationships[path.steps[index]].destination
      let relationships = model.entities[entity].relationships
      return relationships.indices.filter { !relationships[$0].isStoredAsID }.map {
        PropertyPath(root: path.root, steps: path.steps[...index] + [$0], target: .object)
      }
    }
  }

  /// The indexes of every entity that the response depends on.
  public func dependencies(in model: Model) -> Set<Int> {
    dependencies(over: relationships(in: model))
  }

  private func dependencies(over relationships: [Relationship]) -> Set<Int> {
    Set([definition.entity] + relationships.map(\.destination))
  }

  /// The relationships that the response depends on.
  private func relationships(in model: Model) -> [Relationship] {
    paths(in: model).flatMap { model.walk($0).relationships }
  }

  /// The name of an entity or a join table that the response depends on, and whose changes are not
  /// recorded; nil without one.
  public func unrecordedTable(in model: Model) -> String? {
    let relationships = relationships(in: model)
    let entities = dependencies(over: relationships).sorted().map { model.entities[$0] }
    return entities.first { !$0.isObservable }?.name
      ?? relationships.lazy.compactMap(\.unrecordedTable).first
  }
}
