// Statements along relationships: from objects back to the root objects that reach them, and from
// root objects to the related objects in a response.

import FetchModel

extension FetchComposer {
  /// Selects the ids of `entity` from which `steps` reach one of `ids`.
  ///
  ///     SELECT DISTINCT "t0"."id" FROM "City" AS "t0" WHERE "t0"."country" IN (…)
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

  /// Selects the ids of `entity` whose foreign key at the end of `steps` holds the values that a row,
  /// changed after `position`, had at `position`. Returns nil if such a statement is not needed, because
  /// the foreign key refers to the id or is in the rows at the end, and if history does not record them.
  ///
  ///     WITH … SELECT DISTINCT "t0"."id" FROM "City" AS "t0" WHERE ("t0"."flag") IN
  ///       (SELECT "code" FROM "livefetch_shadow_Country" WHERE livefetch_existed)
  package func roots(
    of entity: Int, previouslyReaching steps: [Int], after position: HistoryPosition
  ) -> SQLFragment? {
    guard let last = steps.last else { return nil }
    let holderSteps = Array(steps.dropLast())
    let holder = model.walk(PropertyPath(root: entity, steps: holderSteps, target: .object)).end
    let storage = schema.entities[holder].relationships[last]
    let target = model.entities[holder].relationships[last].destination
    guard let key = storage.destinationKey, !key.referencesKey, schema.entities[target].isObservable
    else { return nil }
    let join =
      if case .joinTable = storage {
        joinPath(from: entity, over: steps, readingLinks: key.columns)
      } else {
        joinPath(from: entity, over: holderSteps, reading: key.columns)
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

  /// The tables of a path over relationships, for the FROM and WHERE of a statement.
  private struct JoinPath {
    let from: String
    /// The condition that joins the tables in ``from``; empty if their ON clauses do.
    let joinCondition: String
    /// The id of the root object, as SQL.
    let rootID: String
    /// The index of the entity at the end.
    let end: Int
    /// The id of the object at the end, as SQL.
    let endID: String
    /// The requested columns at the end, as SQL.
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
      rootID: root.idExpression, end: link.entity, endID: id,
      columns: names.map { qualified($0, link.alias) })
  }

  /// Returns the table of the root objects, without joins yet.
  private func start(of entity: Int) -> JoinBuilder {
    let context = QueryContext(composer: self)
    let alias = context.nextAlias()
    return JoinBuilder(
      context: context, entity: entity, alias: alias,
      source: "\(schema.entities[entity].quotedName) AS \(quoted(alias))")
  }

  /// Joins up to the objects at the end of `steps`. If the last step is to-many and no columns are read,
  /// joins only up to the links to these objects.
  private func joinPath(from entity: Int, over steps: [Int], reading names: [String] = [])
    -> JoinPath
  {
    var root = start(of: entity)
    let path = PropertyPath(root: entity, steps: steps, target: .object)
    let end = model.walk(path).end
    guard let lastToMany = model.walk(path).relationships.lastIndex(where: \.isToMany) else {
      let endID = root.column(path).sql
      let columns = root.columns(names, at: steps)
      return JoinPath(
        from: root.from, joinCondition: "", rootID: root.idExpression, end: end, endID: endID,
        columns: columns)
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
      from: "\(root.from), \(inner.from)", joinCondition: inner.correlation,
      rootID: root.idExpression, end: end, endID: endID, columns: columns)
  }
}

extension RelationshipStorage {
  /// The foreign key that refers to the destination's rows; nil if these rows hold the foreign key.
  fileprivate var destinationKey: ForeignKey? {
    switch self {
    case .foreignKey(let key): key
    case .joinTable(_, _, let destination): destination
    case .inverse: nil
    }
  }
}
