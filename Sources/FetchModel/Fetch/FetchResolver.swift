// FetchRequest + Model → FetchPlan. The last stage that can refuse a fetch.

/// Looks a fetch request up in a model.
public struct FetchResolver: Sendable {
  /// The model in which names are looked up.
  public let model: Model
  /// The maximum number of items of a snapshot.
  public let maxItems: Int
  /// The maximum number of relationships that an access rule goes over.
  private let ruleRelationships: Int

  /// Makes a fetch resolver.
  public init(model: Model, maxItems: Int) {
    self.model = model
    self.maxItems = maxItems
    ruleRelationships = 0
  }

  /// Prepares a resolver for the fetches of one caller.
  public init(access: CallerAccess, maxItems: Int) {
    model = access.model
    self.maxItems = maxItems
    ruleRelationships = access.ruleRelationships
  }

  /// The plan of `request`.
  ///
  /// - Throws: ``FetchRequestError``, naming the parameter at fault.
  public func resolve(_ request: FetchRequest) throws(FetchRequestError) -> FetchPlan {
    try checkTermCounts(of: request)
    try checkShape(of: request)
    let entity = try entityIndex(named: request.entity)
    if request.shape == .dictionaries {
      return try checked(try dictionaries(request, entity: entity))
    }
    let section = try request.section.map { text throws(FetchRequestError) in
      try OrderTermParser(model: model, entity: entity, parameter: "section").parse(text)
    }
    let definition = ResultDefinition(
      entity: entity,
      predicate: try predicate(of: request, entity: entity).and(
        model.membership(of: entity, subentities: request.subentities ?? true)),
      section: section,
      order: try order(of: request, entity: entity, section: section))
    let selection = try selection(of: request, entity: entity)
    let expansion = try expansion(of: request, entity: entity)
    let isCapped = (request.limit ?? .max) > maxItems
    return try checked(
      FetchPlan(
        definition: definition,
        window: Window(
          offset: request.offset,
          limit: isCapped ? maxItems : request.limit,
          after: try cursor(request.after, definition)),
        isCapped: isCapped,
        shape: request.shape,
        selection: request.shape == .count ? [] : selection,
        expansion: request.shape == .objects ? expansion : [],
        withTotal: request.withTotal,
        withDigest: request.withDigest,
        integersAsStrings: request.integersAsStrings))
  }

  /// Refuses lists that are too long, before anything in them is looked up.
  private func checkTermCounts(of request: FetchRequest) throws(FetchRequestError) {
    let counts = [
      ("sort", request.sort.count, FetchRequest.maxSortTerms),
      ("select", request.select?.count ?? 0, FetchRequest.maxSelectedColumns),
      ("expand", request.expand.count, FetchRequest.maxRelatedPaths),
      ("group", request.group.count, FetchRequest.maxRelatedPaths),
    ]
    if let (name, _, limit) = counts.first(where: { $0.1 > $0.2 }) {
      throw .tooManyTerms(parameter: name, limit: limit)
    }
  }

  /// Refuses more relationships than a store can join.
  private func checked(_ plan: FetchPlan) throws(FetchRequestError) -> FetchPlan {
    let count = joinedCount(plan.paths)
    guard count > maxRelationships else { return plan }
    let isPredicate = joinedCount(plan.definition.predicate.paths) > maxRelationships
    throw .badValue(
      parameter: isPredicate ? "where" : "select",
      detail: "the fetch goes over \(count) relationships, and \(maxRelationships) are the most")
  }

  /// True if the plan goes over no more relationships than a store can join.
  public func admits(_ plan: FetchPlan) -> Bool { joinedCount(plan.paths) <= maxRelationships }

  /// The number of relationships whose tables are joined: the id of a related object is in the row that
  /// refers to it.
  private func joinedCount(_ paths: [PropertyPath]) -> Int {
    paths.map { path in
      guard path.target == .object, let last = model.walk(path).relationships.last,
        !last.isToMany, last.isStoredAsID
      else { return path }
      return PropertyPath(root: path.root, steps: Array(path.steps.dropLast()), target: .object)
    }.relationshipCount
  }

  /// SQLite joins 64 tables, among them those of an access rule.
  private var maxRelationships: Int { 60 - ruleRelationships }

  /// The index of the entity called `name`.
  public func entityIndex(named name: String) throws(FetchRequestError) -> Int {
    guard let index = model.entityIndex(named: name) else {
      throw .unknownEntity(
        name: name, hint: nearestName(to: name, among: model.entities.map(\.name)))
    }
    return index
  }

  /// The predicate of a batch.
  public func batchPredicate(
    of request: FetchRequest
  ) throws(FetchRequestError) -> ResolvedPredicate {
    let predicate = try resolve(request).definition.predicate
    try checkDepth(of: predicate, atMost: ParserStackBudget.ofBatch)
    return predicate
  }

  func checkDepth(
    of predicate: ResolvedPredicate, atMost limit: Int
  ) throws(FetchRequestError) {
    do throws(PredicateError) {
      try ParserStackBudget.check(
        ParserStackBudget.entries(predicate.condition), atMost: limit)
    } catch {
      throw .predicate(parameter: "where", error: error)
    }
  }

  func predicate(
    of request: FetchRequest, entity: Int
  ) throws(FetchRequestError) -> ResolvedPredicate {
    guard let text = request.predicate else {
      guard request.arguments.isEmpty else {
        throw .badValue(parameter: "arg", detail: "arguments belong to a `where`")
      }
      if let name = request.variables.keys.min() {
        throw .badValue(parameter: "var.\(name)", detail: "variables belong to a `where`")
      }
      return .everything
    }
    do {
      return try ResolvedPredicate(
        parsing: text, arguments: request.arguments, variables: request.variables,
        entity: entity, model: model, integersAsStrings: request.integersAsStrings)
    } catch {
      throw .predicate(parameter: "where", error: error)
    }
  }

  private func order(
    of request: FetchRequest, entity: Int, section: OrderTerm?
  ) throws(FetchRequestError) -> [OrderTerm] {
    let parser = OrderTermParser(model: model, entity: entity, parameter: "sort")
    var terms: [OrderTerm] = []
    guard !request.sort.isEmpty else { return defaultOrder(of: entity, section: section) }
    for text in request.sort { terms.append(try parser.parse(text)) }
    guard let section, section.derivation == .value, let first = terms.first,
      first.path == section.path
    else { return terms }
    guard first == section else {
      throw .badValue(
        parameter: "sort",
        detail: "begins with the section's key path, so its direction and options must be the same")
    }
    return Array(terms.dropFirst())
  }

  /// The model's own order of an entity, for requests that name none.
  private func defaultOrder(of entity: Int, section: OrderTerm?) -> [OrderTerm] {
    let parser = OrderTermParser(model: model, entity: entity, parameter: "sort")
    let texts = model.file?.defaultSort(of: model.entities[entity].name) ?? []
    return texts.compactMap { try? parser.parse($0) }.filter { $0.path != section?.path }
  }

  private func cursor(
    _ text: String?, _ definition: ResultDefinition
  ) throws(FetchRequestError) -> OrderKey? {
    guard let text else { return nil }
    guard let key = CursorCoder(of: definition, in: model).decode(text) else { throw .badCursor }
    return key == .beginning ? nil : key
  }
}
