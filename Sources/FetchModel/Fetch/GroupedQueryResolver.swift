// `select`, `group`, `having`, `distinct` and `sort` of `as=dictionaries` → GroupedQuery. Every
// error of the client in them is refused here, with the parameter's name.
//
//     select=continent,n:@count,people:@sum.population   group=continent   having=n > 3
//     sort=-people
//
// An alias represents its expression wherever it is used: the expression replaces it before names
// are looked up. An aggregate becomes an attribute that the model does not have (see
// `GroupedQuery`).

/// Resolves a request for dictionaries.
struct GroupedQueryResolver {
  /// A column as it was written, its aggregates replaced.
  struct Draft {
    let key: String
    let expression: Expression
    /// The length of its text in bytes.
    let length: Int
  }

  /// A term of `group`.
  struct Group {
    let name: String
    let expression: Expression
  }

  /// Bytes of all columns, and of all aliases that are replaced by them.
  static let maxLength = 16 << 10

  let model: Model
  let entity: Int
  /// True if a JSON string with the digits of an integer may be that integer.
  private let integersAsStrings: Bool
  var aggregates: [GroupedQuery.Aggregate] = []
  var aggregateNames: [String] = []
  private(set) var drafts: [Draft] = []
  private(set) var groups: [Group] = []
  private(set) var paths: [PropertyPath] = []
  private(set) var isNondeterministic = false
  /// The model with the aggregates among the entity's attributes.
  private var extended: Model

  init(model: Model, entity: Int, integersAsStrings: Bool) {
    self.model = model
    self.entity = entity
    self.integersAsStrings = integersAsStrings
    extended = model
  }

  /// - Parameters:
  ///   - arguments: those that `having` takes.
  ///   - defaults: the columns if neither `select` nor `group` names any.
  mutating func resolve(
    _ request: FetchRequest, arguments: [PredicateArgument],
    variables: [String: PredicateArgument], defaults: [String]
  ) throws(FetchRequestError) -> GroupedQuery {
    let chosen = request.select ?? (request.group.isEmpty ? defaults : request.group)
    guard !chosen.isEmpty else {
      throw .badValue(parameter: "select", detail: "takes at least one column")
    }
    guard chosen.reduce(0, { $0 + $1.utf8.count }) <= Self.maxLength else {
      throw .badValue(parameter: "select", detail: "takes at most \(Self.maxLength) bytes")
    }
    for item in chosen { try addColumn(item) }
    for name in request.group { try addGroup(name) }
    let condition = try request.having.map { text throws(FetchRequestError) in
      try havingPredicate(text, request)
    }
    extended = extendedModel
    let columns = try resolvedColumns()
    let groupValues = try resolvedGroups()
    let having = try condition.map { predicate throws(FetchRequestError) in
      try resolved(predicate, arguments, variables)
    }
    let order = try order(of: request, columns)
    let groupedQuery = GroupedQuery(
      columns: columns, aggregates: aggregates, firstAggregate: firstAggregate,
      groups: groupValues, having: having ?? .constant(true), isDistinct: request.isDistinct,
      order: order, values: paths.filter { !model.isToMany($0) },
      toManyPaths: paths.filter { model.isToMany($0) }, isNondeterministic: isNondeterministic)
    if groupedQuery.isAggregated { try checkGrouping(groupedQuery) }
    do throws(PredicateError) {
      try ParserStackBudget.check(
        groupedQuery.stackEntries, atMost: ParserStackBudget.ofGroupedQuery)
    } catch {
      throw refusal(of: "select", error)
    }
    return groupedQuery
  }

  private var firstAggregate: Int { model.entities[entity].attributes.count }

  private var extendedModel: Model {
    let added = zip(aggregateNames, aggregates).map { name, aggregate in
      Attribute(
        name: name, type: resultType(of: aggregate), dateFormat: dateFormat(of: aggregate))
    }
    var entities = model.entities
    entities[entity] = entities[entity].adding(added)
    return Model(entities: entities)
  }
}

// MARK: - Columns and groups

extension GroupedQueryResolver {
  private mutating func addColumn(_ item: String) throws(FetchRequestError) {
    let draft: Draft
    do {
      draft = try self.draft(item)
    } catch {
      throw refusal(of: "select", error)
    }
    guard !drafts.contains(where: { $0.key == draft.key }) else {
      throw .badValue(parameter: "select", detail: "`\(draft.key)` occurs twice")
    }
    drafts.append(draft)
  }

  private mutating func draft(_ item: String) throws(PredicateError) -> Draft {
    var (alias, text) = Self.parts(of: item, isPath: plainPath(item) != nil)
    // Without an alias `founded:month` is its own name.
    if alias != nil, plainPath(text) == nil, part(item) != nil { (alias, text) = (item, item) }
    // The text before it is blanked, so that offsets count from the start of the whole item.
    let blank = String(repeating: " ", count: item.utf8.count - text.utf8.count)
    let written: Expression
    if let value = plainPath(text) ?? part(text) {
      written = value
    } else if let corrected = correctedPart(text) {
      throw PredicateError(
        .unknownKeyPath, at: blank.utf8.count, found: "`\(text)`", expected: "a key path",
        nearest: corrected)
    } else {
      written = try Expression(parsing: blank + text)
    }
    let expression = try replacingAggregates(in: written)
    guard let key = alias ?? (written.isKeyPath || part(text) != nil ? text : nil) else {
      throw PredicateError(
        .syntaxError, at: 0, found: "`\(item)`", expected: "a name for the value",
        advice: "as in `name:\(item)`")
    }
    return Draft(key: key, expression: expression, length: item.utf8.count)
  }

  /// `people:@sum.population` → `people` and the rest.
  private static func parts(of item: String, isPath: Bool) -> (alias: String?, text: String) {
    guard !isPath, let colon = item.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      return (nil, item)
    }
    let alias = item[..<colon]
    guard let first = alias.utf8.first, PredicateLexer.isNameStart(first),
      alias.utf8.allSatisfy(PredicateLexer.isNamePart)
    else { return (nil, item) }
    return (String(alias), String(item[item.utf8.index(after: colon)...]))
  }

  /// A key path written as plain names, whatever characters the names contain.
  func plainPath(_ text: String) -> Expression? {
    guard text != "SELF", let path = try? model.path(text, from: entity) else { return nil }
    let (relationships, end) = model.walk(path)
    var names = relationships.map(\.name)
    if case .attribute(let index) = path.target {
      names.append(model.entities[end].attributes[index].name)
    }
    let range = SourceRange(0..<text.utf8.count)
    return Expression(
      .keyPath(
        base: nil,
        (names.isEmpty ? ["id"] : names).map { KeyPathComponent(.name($0), range: range) }),
      range: range)
  }

  private mutating func addGroup(_ name: String) throws(FetchRequestError) {
    guard !groups.contains(where: { $0.name == name }) else {
      throw .badValue(parameter: "group", detail: "`\(name)` occurs twice")
    }
    if let draft = drafts.first(where: { $0.key == name }) {
      groups.append(Group(name: name, expression: draft.expression))
    } else if let value = plainPath(name) ?? part(name) {
      groups.append(Group(name: name, expression: value))
    } else {
      throw unknown(name, in: "group")
    }
  }

  func unknown(_ name: String, in parameter: String) -> FetchRequestError {
    let entity = model.entities[entity]
    let known = drafts.map(\.key) + entity.propertyNames
    return .unknownKeyPath(
      parameter: parameter,
      error: KeyPathError(
        name: name, entity: entity.name,
        hint: correctedPart(name) ?? nearestName(to: name, among: known)))
  }

  private mutating func resolvedColumns() throws(FetchRequestError) -> [GroupedQuery.Column] {
    var columns: [GroupedQuery.Column] = []
    for draft in drafts {
      let (value, type) = try resolved(draft.expression, of: "select")
      columns.append(GroupedQuery.Column(key: draft.key, value: value, type: type))
    }
    return columns
  }

  private mutating func resolvedGroups() throws(FetchRequestError) -> [ResolvedExpression] {
    var values: [ResolvedExpression] = []
    for group in groups {
      guard !containsAggregate(group.expression) else {
        throw .badValue(
          parameter: "group", detail: "`\(group.name)` is made of the groups themselves")
      }
      let (value, _) = try resolved(group.expression, of: "group")
      guard !values.contains(value) else {
        throw .badValue(parameter: "group", detail: "`\(group.name)` occurs twice")
      }
      values.append(value)
    }
    return values
  }
}

// MARK: - Looking up

extension GroupedQueryResolver {
  private func refusal(of parameter: String, _ error: PredicateError) -> FetchRequestError {
    .predicate(parameter: parameter, error: error)
  }

  mutating func resolved(
    _ expression: Expression, of parameter: String
  ) throws(FetchRequestError) -> (ResolvedExpression, AttributeType) {
    do throws(PredicateError) {
      var resolver = self.resolver()
      let operand = try resolver.operand(expression)
      record(resolver)
      return (operand.expression, type(of: operand))
    } catch {
      throw refusal(of: parameter, error)
    }
  }

  mutating func resolved(
    _ predicate: Predicate, _ arguments: [PredicateArgument],
    _ variables: [String: PredicateArgument]
  ) throws(FetchRequestError) -> Condition {
    do throws(PredicateError) {
      var resolver = self.resolver(arguments, variables)
      let condition = try resolver.resolve(predicate)
      try resolver.refuseUnused()
      record(resolver)
      return condition
    } catch {
      throw refusal(of: "having", error)
    }
  }

  private func resolver(
    _ arguments: [PredicateArgument] = [], _ variables: [String: PredicateArgument] = [:]
  ) -> PredicateResolver {
    PredicateResolver(
      model: extended, entity: entity, arguments: arguments, variables: variables, now: nil,
      integersAsStrings: integersAsStrings)
  }

  /// Records the paths that an expression depends on; for an aggregate, the path of its values.
  private mutating func record(_ resolver: PredicateResolver) {
    isNondeterministic = isNondeterministic || resolver.isNondeterministic
    for path in resolver.paths {
      guard let real = aggregates.represented(by: path, first: firstAggregate) else {
        record(path)
        continue
      }
      if let value = real.value { record(value) }
    }
  }

  private mutating func record(_ path: PropertyPath) {
    if !paths.contains(path) { paths.append(path) }
  }

  private func type(of operand: Operand) -> AttributeType {
    if case .path(let path) = operand.expression { return extended.type(of: path.path) }
    switch operand.kind {
    case .number(let isInteger): return isInteger ? .integer : .double
    case .boolean: return .boolean
    case .date: return .date
    case .binary: return .binary
    case .object(let entity): return model.entities[entity].idType
    case .null, .untyped: return .string
    case .text: return isJSON(operand.expression) ? .json : .string
    }
  }

  /// True if every value of a text expression is one of a JSON attribute.
  private func isJSON(_ expression: ResolvedExpression) -> Bool {
    switch expression {
    case .path(let path): extended.type(of: path.path) == .json
    case .aggregate(let aggregation): model.type(of: aggregation.value) == .json
    case .element(let element): model.type(of: element.value) == .json
    case .conditional(_, let value, let other): areJSON([value, other])
    case .listAggregate(_, let values): areJSON(values)
    case .constant, .parameter, .arithmetic, .function: false
    }
  }

  /// True if some of `expressions` are JSON, and the others nil.
  private func areJSON(_ expressions: [ResolvedExpression]) -> Bool {
    let values = expressions.filter { $0.constant != .null }
    return !values.isEmpty && values.allSatisfy(isJSON)
  }

  /// The predicate of `having` with every alias replaced by its expression.
  private mutating func havingPredicate(
    _ text: String, _ request: FetchRequest
  ) throws(FetchRequestError) -> Predicate {
    guard !request.group.isEmpty else {
      throw .badValue(
        parameter: "having",
        detail: "is about groups, and there is no `group`; `where` is about objects")
    }
    do {
      let predicate = try replacingAliases(in: try Predicate(parsing: text))
      return try replacingAggregates(in: predicate)
    } catch {
      throw refusal(of: "having", error)
    }
  }

  private func replacingAliases(in predicate: Predicate) throws(PredicateError) -> Predicate {
    var length = 0
    return try predicate.rewriting { expression throws(PredicateError) in
      guard let names = expression.names,
        let draft = drafts.first(where: { $0.key == names.joined(separator: ".") })
      else { return nil }
      length += draft.length
      guard length <= Self.maxLength else { throw PredicateError.tooNested }
      return Expression(draft.expression.kind, range: expression.range)
    }
  }
}

extension PredicateError {
  fileprivate static var tooNested: PredicateError {
    PredicateError(
      .tooComplex, at: 0, found: "too many nested calculations", expected: "fewer levels")
  }
}

extension Expression {
  /// The names of a key path from the object itself; nil for everything else.
  var names: [String]? {
    guard case .keyPath(nil, let components) = kind else { return nil }
    var names: [String] = []
    for component in components {
      guard case .name(let name) = component.kind else { return nil }
      names.append(name)
    }
    return names
  }

  fileprivate var isKeyPath: Bool {
    switch kind {
    case .object: true
    case .keyPath(nil, _): true
    default: false
    }
  }
}
