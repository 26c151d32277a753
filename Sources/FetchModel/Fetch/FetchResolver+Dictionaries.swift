// `as=dictionaries` → FetchPlan, and the parameters that each shape allows.

extension FetchResolver {
  /// Refuses parameters that the requested shape does not use.
  func checkShape(of request: FetchRequest) throws(FetchRequestError) {
    guard request.shape == .dictionaries else {
      let misplaced: [(String, Bool)] = [
        ("group", !request.group.isEmpty), ("having", request.having != nil),
        ("distinct", request.isDistinct),
      ]
      if let (name, _) = misplaced.first(where: \.1) {
        throw .badValue(parameter: name, detail: "belongs to `as=dictionaries`")
      }
      return
    }
    let misplaced: [(String, Bool)] = [
      ("section", request.section != nil), ("expand", !request.expand.isEmpty),
      ("after", request.after != nil), ("digest", request.withDigest),
    ]
    if let (name, _) = misplaced.first(where: \.1) {
      throw .badValue(parameter: name, detail: "does not go with `as=dictionaries`")
    }
  }

  func dictionaries(
    _ request: FetchRequest, entity: Int
  ) throws(FetchRequestError) -> FetchPlan {
    let (objects, groups) = try Self.divided(request)
    let predicate = try predicate(of: objects, entity: entity).and(
      model.membership(of: entity, subentities: request.subentities ?? true))
    try checkDepth(of: predicate, atMost: ParserStackBudget.ofGroupedQuery)
    var resolver = GroupedQueryResolver(
      model: model, entity: entity, integersAsStrings: request.integersAsStrings)
    let groupedQuery = try resolver.resolve(
      request, arguments: groups.arguments, variables: groups.variables,
      defaults: defaultSelection(of: entity).map(\.key))
    let isCapped = (request.limit ?? .max) > maxItems
    return FetchPlan(
      definition: ResultDefinition(entity: entity, predicate: predicate),
      window: Window(offset: request.offset, limit: isCapped ? maxItems : request.limit),
      isCapped: isCapped, shape: .dictionaries, withTotal: request.withTotal,
      integersAsStrings: request.integersAsStrings, groupedQuery: groupedQuery)
  }

  /// Splits the request's arguments and variables into those of `where` and those of `having`.
  /// Arguments fill the placeholders of `where` first; both may use the same variable. A variable that neither
  /// uses goes to `where`, or to `having` if there is no `where`.
  private static func divided(
    _ request: FetchRequest
  ) throws(FetchRequestError) -> (objects: FetchRequest, groups: FetchRequest) {
    guard let having = request.having else { return (request, request.taking([], [:])) }
    let ofObjects = try use(of: request.predicate, in: "where")
    let ofGroups = try use(of: having, in: "having")
    let count = min(ofObjects.placeholders, request.arguments.count)
    let objects = request.taking(
      request.arguments.prefix(count),
      request.variables.filter {
        ofObjects.variables.contains($0.key)
          || request.predicate != nil && !ofGroups.variables.contains($0.key)
      })
    let groups = request.taking(
      request.arguments.dropFirst(count),
      request.variables.filter { request.predicate == nil || ofGroups.variables.contains($0.key) })
    return (objects, groups)
  }

  private static func use(
    of text: String?, in parameter: String
  ) throws(FetchRequestError) -> (placeholders: Int, variables: Set<String>) {
    guard let text else { return (0, []) }
    do {
      let (predicate, placeholders) = try Predicate.parse(text)
      return (placeholders, predicate.variables)
    } catch {
      throw .predicate(parameter: parameter, error: error)
    }
  }
}

extension FetchRequest {
  fileprivate func taking(
    _ arguments: some Sequence<PredicateArgument>, _ variables: [String: PredicateArgument]
  ) -> FetchRequest {
    var request = self
    request.arguments = Array(arguments)
    request.variables = variables
    return request
  }
}
