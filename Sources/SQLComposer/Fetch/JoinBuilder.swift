// An object of a query → the SQL of the values that key paths read from it, and the joins that
// these values need.
//
//     population             "t0"."population"
//     country.continent      "t1"."continent" with LEFT JOIN "Country" AS t1 ON …
//     country                "t0"."country", no join: the foreign key is the id
//
// In a query of the past a to-one step is a correlated scalar subquery, because SQLite could not
// use an index for a join there. A path of many steps is one such subquery.

import FetchModel

package struct JoinBuilder: SQLScope {
  package let context: QueryContext
  package let entity: Int
  package let alias: String
  package let correlation: String
  package let mayRepeat: Bool
  /// SQL for the object's position in the ordered relationship that reached it; nil without an
  /// order.
  package let position: String?
  /// The tables that are joined so far, which access rules may restrict.
  private var tables: [JoinedTable]
  private let source: String
  /// The to-one paths with an object at their end in every row of the result.
  private let required: Set<[Int]>
  private var joins: [[Int]: String] = [:]
  private var joinText = ""

  /// Creates the scope of a query's own objects.
  package init(
    context: QueryContext, entity: Int, alias: String, source: String, required: Set<[Int]> = []
  ) {
    self.init(
      context: context, entity: entity, alias: alias, source: source, correlation: "",
      mayRepeat: false, position: nil, required: required)
    tables = [JoinedTable(table: TableInfo(context.schema.entities[entity]), alias: alias)]
  }

  private init(
    context: QueryContext, entity: Int, alias: String, source: String, correlation: String,
    mayRepeat: Bool, position: String?, required: Set<[Int]> = [], tables: [JoinedTable] = []
  ) {
    self.required = required
    self.tables = tables
    self.context = context
    self.entity = entity
    self.alias = alias
    self.source = source
    self.correlation = correlation
    self.mayRepeat = mayRepeat
    self.position = position
  }

  package var from: String { source + joinText }

  package var isRestricted: Bool { context.isRestricted }

  package var readabilities: [String] {
    tables.compactMap { context.readability(of: $0.table, alias: $0.alias) }
  }

  /// SQL for the id of this scope's object.
  package var idExpression: String { table.key.idExpression(alias) }

  private var table: EntityTable { context.schema.entities[entity] }

  package mutating func column(_ path: PropertyPath) -> SQLColumn {
    let end = context.model.walk(path).end
    let endTable = context.schema.entities[end]
    switch path.target {
    case .attribute(let index):
      let column = endTable.column(ofAttribute: index)
      var result = SQLColumn(
        sql: columns([column.name], at: path.steps)[0], type: column.type,
        dateFormat: column.dateFormat,
        // The null of JSON is nil too.
        mayBeNull: !column.isNotNull || !path.steps.isEmpty || column.encoding == .json
          || column.type == .json,
        isBinaryCollated: column.isBinaryCollated)
      result.encoding = column.encoding
      result.isUntyped = column.isUntyped && !dialect.hasTypedColumns
      // PostgreSQL stores generated columns.
      result.isGenerated = column.isGenerated && !dialect.hasTypedColumns
      if let double = dialect.double(result.sql, column) {
        result.sectioned = double
        // A double that is stored in another form is compared and calculated with as it is shown.
        if column.type == .double {
          result.ordered = result.sql
          result.sql = double
        }
      }
      if column.output != .stored { result.output = dialect.output(result.sql, column.output) }
      result.isHomogeneous =
        !context.isPast && !column.takesTextForNumbers
        && context.homogeneousColumns.contains(EntityAttribute(entity: end, attribute: index))
      result.comparisonKey = dialect.comparisonKey(result)
      result.lookup = dialect.lookup(result, column.affinity)
      return result
    case .object:
      let held = idColumns(at: path.steps, endTable)
      var result = SQLColumn(
        sql: objectID(at: path.steps, key: endTable.key), type: endTable.key.idType,
        mayBeNull: !path.steps.isEmpty, isBinaryCollated: held.allSatisfy(\.isBinaryCollated))
      result.comparisonKey = dialect.comparisonKey(result)
      if endTable.key.isPlain || endTable.key.isUUID, let column = held.first {
        var value = result
        value.sql = idParts(at: path.steps, endTable.key)[0]
        result.lookup = dialect.lookup(value, column.affinity)
      }
      return result
    }
  }

  package var dialect: Dialect { context.schema.dialect }

  /// Returns the columns that hold the id at the end of `steps`.
  private func idColumns(at steps: [Int], _ endTable: EntityTable) -> [Column] {
    var (names, table) = (endTable.key.columns, endTable)
    if let last = steps.last {
      let holder = Array(steps.dropLast())
      if case .foreignKey(let key) = storage(of: last, at: holder), key.referencesKey {
        (names, table) = (key.columns, self.table(at: holder))
      }
    }
    return table.columns.filter { names.contains($0.name) }
  }

  /// Returns the table of the object that to-one `steps` reach.
  private func table(at steps: [Int]) -> EntityTable {
    let path = PropertyPath(root: entity, steps: steps, target: .object)
    return context.schema.entities[context.model.walk(path).end]
  }

  /// Returns SQL for the id of the object that to-one `steps` reach.
  private mutating func objectID(at steps: [Int], key: Key) -> String {
    steps.isEmpty ? idExpression : key.idExpression(ofParts: idParts(at: steps, key))
  }

  /// Returns SQL for the columns that hold that id.
  private mutating func idParts(at steps: [Int], _ key: Key) -> [String] {
    if let last = steps.last {
      let holder = Array(steps.dropLast())
      if case .foreignKey(let foreignKey) = storage(of: last, at: holder),
        foreignKey.referencesKey
      {
        return columns(foreignKey.columns, at: holder)
      }
    }
    return columns(key.columns, at: steps)
  }

  private func storage(of step: Int, at steps: [Int]) -> RelationshipStorage {
    table(at: steps).relationships[step]
  }

  /// Returns SQL for columns of the object that to-one `steps` reach.
  mutating func columns(_ names: [String], at steps: [Int]) -> [String] {
    if steps.isEmpty { return names.map { qualified($0, alias) } }
    if context.isPast { return names.map { pastColumn($0, at: steps) } }
    let joined = join(steps)
    return names.map { qualified($0, joined) }
  }

  private mutating func join(_ steps: [Int]) -> String {
    if let known = joins[steps] { return known }
    let alias = context.nextAlias()
    let (target, condition) = toOneJoinCondition(steps, alias: alias)
    let kind = required.contains(steps) ? "JOIN" : "LEFT JOIN"
    joinText +=
      " \(kind) \(context.presentRows(target.name)) AS \(quoted(condition.alias)) ON \(condition.sql)"
    joins[steps] = condition.alias
    tables.append(JoinedTable(table: TableInfo(target), alias: condition.alias))
    return condition.alias
  }

  private mutating func pastColumn(_ name: String, at steps: [Int]) -> String {
    if steps.count > 2 { return pastChain(to: name, at: steps) }
    let (target, condition) = toOneJoinCondition(steps, alias: nil)
    return context.scalar(name, of: TableInfo(target), where: condition.sql)
  }

  /// The maximum number of steps of one chain. SQLite joins at most 64 tables, and a step takes two.
  private static let maxChained = 24

  /// Returns SQL for a column after many steps, where nested subqueries would double in size with
  /// each step.
  private mutating func pastChain(to name: String, at steps: [Int]) -> String {
    let keys = steps.indices.compactMap { index -> ForeignKey? in
      let holder = Array(steps[..<index])
      if case .foreignKey(let key) = storage(of: steps[index], at: holder) { return key }
      return nil
    }
    guard keys.count == steps.count else { return "NULL" }
    let first = (steps.count - 1) / Self.maxChained * Self.maxChained
    let chain = (first..<steps.count).map { index in
      (
        table: TableInfo(table(at: Array(steps[...index]))), key: keys[index],
        columns: index + 1 < keys.count ? keys[index + 1].columns : [name]
      )
    }
    return context.chain(chain, from: columns(keys[first].columns, at: Array(steps[..<first])))
  }

  /// Returns the join condition between the object at the end of to-one `steps` and the previous
  /// one.
  private mutating func toOneJoinCondition(
    _ steps: [Int], alias: String?
  ) -> (table: EntityTable, condition: (alias: String, sql: String)) {
    let holder = Array(steps.dropLast())
    let end = context.model.walk(PropertyPath(root: entity, steps: steps, target: .object)).end
    let table = context.schema.entities[end]
    guard case .foreignKey(let key) = storage(of: steps[steps.count - 1], at: holder) else {
      return (table, (alias ?? "", context.schema.dialect.never))
    }
    let isReferenced = key.parentCondition(alias, childValues: columns(key.columns, at: holder))
    let conditions = [isReferenced, table.key.presenceCondition(alias)].compactMap { $0 }
    return (table, (alias ?? "", conditions.joined(separator: " AND ")))
  }
}

// MARK: - To-many steps

extension JoinBuilder {
  package func isAggregate(_ path: PropertyPath) -> Bool { false }

  package mutating func over(_ steps: [Int]) -> JoinBuilder { walk(steps, to: .objects).scope }

  /// The rows at which a walk over to-many steps ends.
  enum WalkEnd {
    case objects
    /// The rows of the last step's join table, which may refer to a deleted object. If such a row
    /// does not hold the id, the walk continues to the objects.
    case links
    /// The rows of the last step's join table, even if they do not hold the id. The scope's alias
    /// is that of the join table.
    case everyLink
  }

  /// Returns a scope over the objects that `steps` reach, and SQL for their ids.
  mutating func walk(_ steps: [Int], to end: WalkEnd) -> (scope: JoinBuilder, id: String) {
    let relationships = context.model.walk(
      PropertyPath(root: entity, steps: steps, target: .object)
    ).relationships
    let first = relationships.firstIndex(where: \.isToMany) ?? 0
    let prefix = Array(steps[..<first])
    var chain = Chain(context: context)
    var holder = context.model.walk(
      PropertyPath(root: entity, steps: prefix, target: .object)
    ).end
    for (index, step) in steps.enumerated().dropFirst(first) {
      let storage = context.schema.entities[holder].relationships[step]
      holder = context.model.entities[holder].relationships[step].destination
      let table = context.schema.entities[holder]
      let previous = chain.alias
      let isLast = index == steps.count - 1
      // In a query of the past a step's result is a subquery.
      let areColumns = index > first || prefix.isEmpty || !context.isPast
      chain.append(
        storage, to: table, end: isLast ? end : .objects, areColumns: areColumns
      ) { names in
        index == first
          ? columns(names, at: prefix) : names.map { qualified($0, previous) }
      }
    }
    let scope = JoinBuilder(
      context: context, entity: holder, alias: chain.alias, source: chain.from,
      correlation: chain.correlation,
      mayRepeat: relationships.count(where: \.isToMany) > 1 || chain.mayRepeat,
      position: chain.position, tables: chain.tables)
    return (scope, chain.linkedID ?? scope.idExpression)
  }
}

/// A table in a FROM clause.
private struct JoinedTable {
  let table: TableInfo
  let alias: String
}

/// The tables along to-many steps, joined to each other; the first is joined to an outer query.
private struct Chain {
  let context: QueryContext
  private(set) var alias = ""
  private(set) var from = ""
  private(set) var correlation = ""
  /// SQL for the id in a row of the join table, if the chain ends there.
  private(set) var linkedID: String?
  /// SQL for the position in the last step, if it has an order.
  private(set) var position: String?
  /// True if several rows of a join table may link the same objects.
  private(set) var mayRepeat = false
  private(set) var tables: [JoinedTable] = []

  init(context: QueryContext) { self.context = context }

  /// - Parameters:
  ///   - areColumns: True if `holder` lists columns rather than expressions.
  ///   - holder: SQL for columns of the object that the step starts from.
  mutating func append(
    _ storage: RelationshipStorage, to table: EntityTable, end: JoinBuilder.WalkEnd,
    areColumns: Bool, holder: ([String]) -> [String]
  ) {
    switch storage {
    case .inverse(let key):
      let owner = holder(key.referenced)
      add(TableInfo(table)) { key.childCondition($0, parentValues: owner, areColumns: areColumns) }
      position = key.position.map { qualified($0, alias) }
    case .foreignKey(let key):
      position = nil
      let values = holder(key.columns)
      add(TableInfo(table)) { key.parentCondition($0, childValues: values) }
    case .joinTable(let index, let source, let destination):
      let owner = holder(source.referenced)
      let isComplete = append(
        Link(table: context.schema.joinTables[index], source: source, destination: destination),
        to: table, end: end
      ) { source.childCondition($0, parentValues: owner, areColumns: areColumns) }
      if !isComplete { return }
    }
    if let presence = table.key.presenceCondition(alias) {
      correlation += correlation.isEmpty ? presence : " AND \(presence)"
    }
  }

  /// A join table with its two foreign keys, seen from one of its relationships.
  private struct Link {
    let table: JoinTable
    let source: ForeignKey
    let destination: ForeignKey
  }

  /// Appends a join table, and the table of its objects unless `end` needs only the links.
  ///
  /// - Parameter joinCondition: A condition over the row of a link.
  /// - Returns: True if the step ends at the objects.
  private mutating func append(
    _ link: Link, to table: EntityTable, end: JoinBuilder.WalkEnd,
    joinCondition: (String?) -> String
  ) -> Bool {
    let (source, destination) = (link.source, link.destination)
    if link.table.mayRepeat { mayRepeat = true }
    let needsObjects = end == .objects || end == .links && !destination.referencesKey
    if context.isPast, from.isEmpty, needsObjects {
      addLinked(
        table, TableInfo(link.table), destination, place: source.position,
        joinCondition: joinCondition)
      return true
    }
    add(TableInfo(link.table), joinCondition: joinCondition)
    let links = alias
    position = source.position.map { qualified($0, links) }
    if end == .everyLink { return false }
    let values = destination.columns.map { qualified($0, links) }
    guard needsObjects else {
      linkedID = table.key.idExpression(ofParts: values)
      return false
    }
    add(TableInfo(table)) { destination.parentCondition($0, childValues: values) }
    return true
  }

  /// Records the table under the current alias.
  private mutating func record(_ table: TableInfo) {
    tables.append(JoinedTable(table: table, alias: alias))
  }

  /// - Parameter joinCondition: Returns the join condition for a row of an alias, or for unqualified columns
  ///   if the alias is nil.
  private mutating func add(_ table: TableInfo, joinCondition: (String?) -> String) {
    let isFirst = from.isEmpty
    alias = context.nextAlias()
    record(table)
    switch (isFirst, context.isPast) {
    case (true, true): from = context.source(table, alias: alias, joinedBy: joinCondition)
    case (true, false):
      from = context.lookUpRow() + "\(context.presentRows(table.name)) AS \(quoted(alias))"
      correlation = joinCondition(alias)
    case (false, true):
      from +=
        " JOIN \(context.source(table, alias: alias, where: nil).text) ON \(joinCondition(alias))"
    case (false, false):
      from +=
        " JOIN \(context.presentRows(table.name)) AS \(quoted(alias)) ON \(joinCondition(alias))"
    }
  }

  /// Adds a first step of the past over a join table as a single subquery. A join to the links
  /// would read the past values of all objects.
  ///
  /// - Parameters:
  ///   - place: The column of the links that orders them.
  ///   - joinCondition: A condition over the row of a link.
  private mutating func addLinked(
    _ table: EntityTable, _ link: TableInfo, _ destination: ForeignKey, place: String?,
    joinCondition: (String?) -> String
  ) {
    let (links, objects) = (context.nextAlias(), context.nextAlias())
    alias = context.nextAlias()
    record(TableInfo(table))
    from = context.source(
      TableInfo(table), alias: alias,
      over: context.source(link, alias: links, joinedBy: joinCondition), as: objects,
      on: destination.parentCondition(
        objects, childValues: destination.columns.map { qualified($0, links) }),
      place: place.map { qualified($0, links) })
    position = place.map { [alias] _ in qualified(QueryContext.place, alias) }
  }
}
