// Statements along relationships: from objects back to the root objects that reach them, and from
// root objects to the related objects in a response.

import FetchModel

extension FetchComposer {
  /// Selects the ids of `entity` from which `steps` reach one of `ids`.
  ///
  ///     SELECT "t0"."id" FROM "City" AS "t0" WHERE "t0"."country" IN (…)
  package func roots(of entity: Int, reaching ids: Set<ObjectID>, over steps: [Int]) -> SQLFragment
  {
    let join = joinPath(from: entity, over: steps)
    let restriction = IDRestriction(key: schema.entities[join.end].key, ids: ids)
    var fragment = SQLFragment("SELECT DISTINCT \(join.rootID) FROM \(join.from) WHERE ")
    if !join.joinCondition.isEmpty { fragment.append("\(join.joinCondition) AND ") }
    fragment.append(restriction.condition(ofID: join.endID))
    fragment.bindings += restriction.idBindings.map(SQLBinding.value)
    return fragment
  }

  /// Selects the ids of `entity` whose link at the end of `steps` refers to the value at `position`
  /// of a row changed since; nil if links hold the id itself.
  ///
  ///     SELECT "t0"."id" FROM "City" AS "t0" WHERE "t0"."flag" IN
  ///       (SELECT "code" FROM "livefetch_shadow_Country" WHERE livefetch_existed)
  package func roots(
    of entity: Int, previouslyReaching steps: [Int], after position: HistoryPosition
  ) -> SQLFragment? {
    guard let last = steps.last else { return nil }
    let holder = Array(steps.dropLast())
    let path = PropertyPath(root: entity, steps: holder, target: .object)
    let (storage, target) = (
      schema.entities[model.walk(path).end].relationships[last],
      model.entities[model.walk(path).end].relationships[last].destination
    )
    guard let key = storage.leadingKey, !key.referencesKey, schema.entities[target].isObservable
    else { return nil }
    let join =
      if case .joinTable = storage {
        joinPath(from: entity, over: steps, readingLinks: key.columns)
      } else {
        joinPath(from: entity, over: holder, reading: key.columns)
      }
    let layout = HistoryLayout(of: TableInfo(schema.entities[target]))
    let referenced = key.referenced.map(quoted).joined(separator: ", ")
    let joinCondition = join.joinCondition.isEmpty ? "" : "\(join.joinCondition) AND "
    return SQLFragment("WITH ") + layout.overlayExpression(at: position)
      + """
       SELECT DISTINCT \(join.rootID) FROM \(join.from) WHERE \(joinCondition)\
      (\(key.comparables(join.columns).joined(separator: ", "))) IN (SELECT \(referenced) \
      FROM \(layout.overlayName) WHERE \(HistoryLayout.existed))
      """
  }

  /// Selects, for each of the root objects `ids` as they were at `position`, the ids that `path`
  /// reaches, as a JSON array.
  ///
  ///     SELECT json_array("t0"."country") FROM "City" AS "t0" WHERE "t0"."id" = ?
  package func reached(
    from ids: Set<ObjectID>, over path: PropertyPath, at position: ReadPosition,
    access: ReadRules? = nil
  ) -> SQLFragment {
    let name = "reached"
    var query = FetchQuery(
      composer: self,
      definition: ResultDefinition(
        entity: path.root, predicate: .everything, access: access),
      position: position, ids: ids, needsOrder: false)
    let steps = model.walk(path).relationships
    let isToMany = steps.contains(where: \.isToMany)
    query.selectOnly(
      SelectedValue(key: name, source: isToMany ? .ids(path) : .path(path)),
      asArray: !isToMany)
    let statement = query.statement(.none, limit: nil, offset: 0)
    return SQLFragment(statement.sql, bindings: statement.bindings)
  }

  /// A path over relationships as joined tables.
  private struct JoinPath {
    let from: String
    let joinCondition: String
    let rootAlias: String
    let rootID: String
    let end: Int
    let endID: String
    /// The requested columns of the object at the end.
    let columns: [String]
  }

  /// Joins up to the rows of the join table at the end of `steps`, even if the objects that these
  /// rows refer to do not exist.
  private func joinPath(from entity: Int, over steps: [Int], readingLinks names: [String])
    -> JoinPath
  {
    var root = start(of: entity)
    let (link, id) = root.walk(steps, to: .everyLink)
    return JoinPath(
      from: "\(root.from), \(link.from)", joinCondition: link.correlation,
      rootAlias: root.alias,
      rootID: root.idExpression, end: link.entity, endID: id,
      columns: names.map { qualified($0, link.alias) })
  }

  private func start(of entity: Int) -> JoinBuilder {
    let context = QueryContext(composer: self)
    let alias = context.nextAlias()
    return JoinBuilder(
      context: context, entity: entity, alias: alias,
      source: "\(schema.entities[entity].quotedName) AS \(quoted(alias))")
  }

  private func joinPath(from entity: Int, over steps: [Int], reading names: [String] = [])
    -> JoinPath
  {
    var root = start(of: entity)
    let alias = root.alias
    let path = PropertyPath(root: entity, steps: steps, target: .object)
    let end = model.walk(path).end
    guard let lastToMany = model.walk(path).relationships.lastIndex(where: \.isToMany) else {
      let endID = root.column(path).sql
      let columns = root.columns(names, at: steps)
      return JoinPath(
        from: root.from, joinCondition: "", rootAlias: alias, rootID: root.idExpression, end: end,
        endID: endID, columns: columns)
    }
    let isEnd = lastToMany == steps.count - 1 && names.isEmpty
    var (inner, endID) = root.walk(
      Array(steps[...lastToMany]), to: isEnd ? .links : .objects)
    if !isEnd {
      let rest = Array(steps[(lastToMany + 1)...])
      endID = inner.column(PropertyPath(root: inner.entity, steps: rest, target: .object)).sql
    }
    let columns = inner.columns(names, at: Array(steps[(lastToMany + 1)...]))
    return JoinPath(
      from: "\(root.from), \(inner.from)", joinCondition: inner.correlation, rootAlias: alias,
      rootID: root.idExpression, end: end, endID: endID, columns: columns)
  }
}

extension RelationshipStorage {
  /// The foreign key that refers to the objects at the end; nil if these objects hold it
  /// themselves.
  fileprivate var leadingKey: ForeignKey? {
    switch self {
    case .foreignKey(let key): key
    case .joinTable(_, _, let destination): destination
    case .inverse: nil
    }
  }
}
