// Statements that go along relationships: from objects back to the roots that reach them, and from
// roots to the objects that are sent along with them.

import FetchModel

extension FetchComposer {
  /// The ids of `entity` from which one of `ids` is reached over `steps`.
  ///
  ///     SELECT "t0"."id" FROM "City" AS "t0" WHERE "t0"."country" IN (…)
  func roots(of entity: Int, reaching ids: Set<ObjectID>, over steps: [Int]) -> SQLFragment {
    let way = way(from: entity, over: steps)
    let restriction = IDRestriction(key: schema.entities[way.end].key, ids: ids)
    var fragment = SQLFragment("SELECT DISTINCT \(way.rootID) FROM \(way.from) WHERE ")
    if !way.tie.isEmpty { fragment.append("\(way.tie) AND ") }
    fragment.append(restriction.condition(ofID: way.endID))
    fragment.bindings += restriction.idBindings
    return fragment
  }

  /// The ids of `entity` whose link at the end of `steps` names what a row touched after `position`
  /// held before; nil where links name the id itself.
  ///
  ///     SELECT "t0"."id" FROM "City" AS "t0" WHERE "t0"."flag" IN
  ///       (SELECT "code" FROM "livefetch_history_Country" WHERE livefetch_position > ? AND …)
  func roots(
    of entity: Int, reachingFormerly steps: [Int], after position: Int64
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
    let way =
      if case .joinTable = storage {
        way(from: entity, over: steps, readingLinks: key.columns)
      } else {
        way(from: entity, over: holder, reading: key.columns)
      }
    let layout = HistoryLayout(of: TableShape(schema.entities[target]))
    let referenced = key.referenced.map(quoted).joined(separator: ", ")
    let tie = way.tie.isEmpty ? "" : "\(way.tie) AND "
    return SQLFragment(
      """
      SELECT DISTINCT \(way.rootID) FROM \(way.from) WHERE \(tie)\
      (\(key.comparables(way.columns).joined(separator: ", "))) IN (SELECT \(referenced) \
      FROM main.\(layout.quotedName) WHERE \(HistoryLayout.position) > ? \
      AND \(HistoryLayout.existed))
      """, bindings: [.integer(position)])
  }

  /// For each of the roots `ids` as they were at `moment`, the ids that `path` reaches, as a JSON
  /// array.
  ///
  ///     SELECT json_array("t0"."country") FROM "City" AS "t0" WHERE "t0"."id" = ?
  func reached(
    from ids: Set<ObjectID>, over path: PropertyPath, at moment: Moment
  ) -> SQLFragment {
    let name = "reached"
    var query = FetchQuery(
      composer: self,
      definition: ResultDefinition(entity: path.root, predicate: .everything),
      moment: moment, ids: ids, needsOrder: false)
    let steps = model.walk(path).relationships
    let isToMany = steps.contains(where: \.isToMany)
    query.selectOnly(
      SelectedValue(key: name, source: isToMany ? .ids(path) : .path(path)),
      asArray: !isToMany)
    let statement = query.statement(.none, limit: nil, offset: 0)
    return SQLFragment(statement.sql, bindings: statement.bindings)
  }

  /// A way over relationships as joined tables.
  private struct Way {
    let from: String
    let tie: String
    let rootAlias: String
    let rootID: String
    let end: Int
    let endID: String
    /// The columns of the object at the end that were asked for.
    let columns: [String]
  }

  /// The same up to the rows between two entities at the end of `steps`, whether or not what they
  /// lead to is there.
  private func way(from entity: Int, over steps: [Int], readingLinks names: [String]) -> Way {
    var root = start(of: entity)
    let (link, id) = root.walk(steps, to: .everyLink)
    return Way(
      from: "\(root.from) JOIN \(link.from)", tie: link.correlation, rootAlias: root.alias,
      rootID: root.idExpression, end: link.entity, endID: id,
      columns: names.map { qualified($0, link.alias) })
  }

  private func start(of entity: Int) -> TableScope {
    let context = QueryContext(composer: self)
    let alias = context.nextAlias()
    return TableScope(
      context: context, entity: entity, alias: alias,
      source: "\(schema.entities[entity].quotedName) AS \(quoted(alias))")
  }

  private func way(from entity: Int, over steps: [Int], reading names: [String] = []) -> Way {
    var root = start(of: entity)
    let alias = root.alias
    let path = PropertyPath(root: entity, steps: steps, target: .object)
    let end = model.walk(path).end
    guard let lastToMany = model.walk(path).relationships.lastIndex(where: \.isToMany) else {
      let endID = root.column(path).sql
      let columns = root.columns(names, at: steps)
      return Way(
        from: root.from, tie: "", rootAlias: alias, rootID: root.idExpression, end: end,
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
    return Way(
      from: "\(root.from) JOIN \(inner.from)", tie: inner.correlation, rootAlias: alias,
      rootID: root.idExpression, end: end, endID: endID, columns: columns)
  }
}

extension RelationshipStorage {
  /// The foreign key that leads to the objects at the end; nil where these hold it themselves.
  fileprivate var leadingKey: ForeignKey? {
    switch self {
    case .foreignKey(let key): key
    case .joinTable(_, _, let destination): destination
    case .inverse: nil
    }
  }
}
