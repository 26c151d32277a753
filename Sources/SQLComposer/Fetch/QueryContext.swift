// A query under construction: unique aliases, and the source of each table at a past position.
//
// A query of the present reads tables. A query of the past reads each table's rows that have not
// changed since, and the old values of those that have. The old values are in one common table
// expression for each table (its "history overlay"). Join conditions are repeated inside both
// halves of the UNION ALL, so that the table's indexes serve.
//
// If a table has no suitable index, SQLite builds an automatic one if it expects that to pay; for
// the only table of a subquery it assumes a single scan. If a query looks up related rows for many
// rows, a one-row CROSS JOIN makes SQLite consider an automatic index there.

import FetchModel

/// The shared state of a query's parts under construction.
package final class QueryContext {
  let model: Model
  let schema: Schema
  let position: ReadPosition
  /// The columns that hold only values in their standard encoding.
  let homogeneousColumns: Set<EntityAttribute>
  /// True if the history overlays are materialized as tables.
  private let isPastMaterialized: Bool
  /// True if subqueries run for many rows.
  private let looksUpMany: Bool
  private var aliasCount = 0
  private(set) var overlays: [HistoryLayout] = []
  /// By table, the number of FROM items that read its overlay.
  private var overlayUses: [String: Int] = [:]
  /// By table, the condition of the FROM item that reads its overlay.
  private var overlayConditions: [String: SQLFragment] = [:]
  /// The common table expressions of the tables that access rules restrict.
  private var readableTables: [(name: String, rows: SQLFragment)] = []
  private var restrictedNames: Set<String> = []
  /// The names in ``readableTables`` whose rows are all tested before other conditions.
  private var materializedNames: Set<String> = []
  /// True while a rule is composed, which sees all rows.
  private var isComposingRule = false

  package convenience init(
    composer: FetchComposer, position: ReadPosition = .now, looksUpMany: Bool = false
  ) {
    self.init(
      model: composer.model, schema: composer.schema, position: position,
      homogeneousColumns: composer.homogeneousColumns,
      isPastMaterialized: composer.isPastMaterialized, looksUpMany: looksUpMany)
  }

  package init(
    model: Model, schema: Schema, position: ReadPosition = .now,
    homogeneousColumns: Set<EntityAttribute> = [],
    isPastMaterialized: Bool = false, looksUpMany: Bool = false
  ) {
    self.homogeneousColumns = homogeneousColumns
    self.isPastMaterialized = isPastMaterialized
    self.looksUpMany = looksUpMany
    self.model = model
    self.schema = schema
    self.position = position
  }

  var isPast: Bool { position != .now }

  /// An alias that this query has not used yet.
  package func nextAlias() -> String {
    defer { aliasCount += 1 }
    return "t\(aliasCount)"
  }

  /// `WITH …` for every overlay that the query reads, unless the overlays are materialized, and for
  /// every table that access rules restrict; empty if there are none.
  package func withClause() -> SQLFragment {
    var expressions: [SQLFragment] = []
    if case .past(let past) = position, !isPastMaterialized {
      expressions = overlays.map { overlay in
        // The overlay needs only these keys if nothing else reads it.
        let condition = overlayUses[overlay.table] == 1 ? overlayConditions[overlay.table] : nil
        return overlay.overlayExpression(at: past, where: condition)
      }
    }
    expressions += readableTables.map { table in
      let hint = materializedNames.contains(table.name) ? "" : "NOT "
      return SQLFragment("\(table.name) AS \(hint)MATERIALIZED (") + table.rows + ")"
    }
    guard !expressions.isEmpty else { return SQLFragment() }
    return SQLFragment("WITH ") + expressions.joined() + " "
  }

  /// Returns the rows of `table` at this query's position that satisfy `condition`, as a FROM item.
  ///
  /// - Parameter condition: Over unqualified names of the key's columns; nil for every row.
  func source(_ table: TableInfo, alias: String, where condition: SQLFragment?) -> SQLFragment {
    let columns = table.columnNames.map(quoted).joined(separator: ", ")
    let layout = overlay(table)
    if !layout.hasRowid { overlayConditions[table.name] = condition }
    let joinCondition = condition.map { " AND \($0.text)" } ?? ""
    let bindings = condition?.bindings ?? []
    let text = """
      (SELECT \(columns) FROM \(currentRows(table)) WHERE \(layout.isUnchanged(nil))\(joinCondition) \
      UNION ALL SELECT \(columns) FROM \(pastRows(layout)) WHERE livefetch_existed\(joinCondition)) \
      AS \(alias)
      """
    return SQLFragment(text, bindings: bindings + bindings)
  }

  /// Returns the rows that satisfy `joinCondition` as a FROM item. `joinCondition` returns the join condition between a
  /// row of an alias, or unqualified columns, and a row of the outer query.
  ///
  /// With a second FROM item an unqualified `"rowid"` would be a string instead of a column.
  func source(_ table: TableInfo, alias: String, joinedBy joinCondition: (String?) -> String)
    -> String
  {
    let layout = overlay(table)
    let rows = table.columnNames.map { qualified($0, alias) }.joined(separator: ", ")
    let images = table.columnNames.map(quoted).joined(separator: ", ")
    return """
      (SELECT \(rows) FROM \(lookUpRow())\(currentRows(table)) AS \(quoted(alias)) \
      WHERE \(layout.isUnchanged(alias)) AND \(joinCondition(alias)) \
      UNION ALL SELECT \(images) FROM \(pastRows(layout)) \
      WHERE \(joinCondition(nil)) AND livefetch_existed) AS \(quoted(alias))
      """
  }

  /// The one-row FROM item before a table that columns of the outer query look up; empty if few
  /// rows are looked up.
  func lookUpRow() -> String {
    guard looksUpMany else { return "" }
    return "(SELECT 1 AS livefetch_one) AS \(quoted(nextAlias())) CROSS JOIN "
  }

  /// The position of an object in an order that its link stores.
  static let place = "livefetch_place"

  /// Returns the objects of `table` at this query's position that links refer to, as a FROM item.
  ///
  ///     (SELECT m."id", … FROM <links> CROSS JOIN main.<table> AS m ON m."id" = <link>."tag"
  ///         WHERE m."id" NOT IN (SELECT … <overlay>)
  ///       UNION ALL SELECT m."id", … FROM <links> CROSS JOIN <overlay> AS m ON …
  ///         WHERE m.livefetch_existed)
  ///
  /// - Parameters:
  ///   - links: The links as a FROM item without bindings.
  ///   - object: The alias of the table inside.
  ///   - joinCondition: The join condition between both.
  ///   - place: SQL for ``place`` if there is an order.
  func source(
    _ table: TableInfo, alias: String, over links: String, as object: String,
    on joinCondition: String,
    place: String?
  ) -> String {
    let layout = overlay(table)
    let place = place.map { ["\($0) AS \(quoted(Self.place))"] } ?? []
    let join = schema.dialect.orderedJoin
    let columns = (table.columnNames.map { qualified($0, object) } + place)
      .joined(separator: ", ")
    return """
      (SELECT \(columns) FROM \(links) \(join) \(currentRows(table)) \
      AS \(quoted(object)) ON \(joinCondition) WHERE \(layout.isUnchanged(object)) \
      UNION ALL SELECT \(columns) FROM \(links) \(join) \(pastRows(layout)) \
      AS \(quoted(object)) ON \(joinCondition) WHERE \(qualified(HistoryLayout.existed, object))) \
      AS \(quoted(alias))
      """
  }

  /// Returns one column of the row of `table` that satisfies `condition` at this query's position.
  func scalar(_ column: String, of table: TableInfo, where condition: String) -> String {
    let layout = overlay(table)
    return """
      (SELECT \(quoted(column)) FROM \(currentRows(table)) \
      WHERE \(layout.isUnchanged(nil)) AND \(condition) \
      UNION ALL SELECT \(quoted(column)) FROM \(pastRows(layout)) \
      WHERE \(condition) AND livefetch_existed)
      """
  }

  /// A step of a chain: the table that it reaches, the foreign key that refers to a row of it from
  /// the previous values, and the columns that the next step starts from.
  typealias ChainStep = (table: TableInfo, key: ForeignKey, columns: [String])

  /// Returns the last step's only column after several steps. Each step occurs once in the SQL, so
  /// that its size is linear, and looks rows up in tables that are computed once for the whole
  /// query.
  ///
  ///     (SELECT … FROM (SELECT 1) AS x
  ///       LEFT JOIN <overlay> AS s ON s."id" = <start> AND s.livefetch_existed
  ///       LEFT JOIN main.<table> AS m ON m."id" = <start> AND m."id" NOT IN (SELECT … <overlay>)
  ///       LEFT JOIN …)
  ///
  /// - Parameter start: SQL for the values that refer to the first step's row.
  func chain(_ steps: [ChainStep], from start: [String]) -> String {
    var values = start
    var from = "(SELECT 1) AS \(quoted(nextAlias()))"
    for step in steps {
      let layout = overlay(step.table)
      let (old, same) = (nextAlias(), nextAlias())
      let joinCondition = { (alias: String) in
        step.key.parentCondition(alias, childValues: values)
      }
      let existed = qualified(HistoryLayout.existed, old)
      from += """
         LEFT JOIN \(pastRows(layout)) AS \(quoted(old)) ON \(joinCondition(old)) AND \(existed) \
        LEFT JOIN \(currentRows(step.table)) AS \(quoted(same)) ON \(joinCondition(same)) \
        AND \(layout.isUnchanged(same))
        """
      values = step.columns.map { column in
        """
        CASE WHEN \(existed) IS NULL THEN \(qualified(column, same)) \
        ELSE \(qualified(column, old)) END
        """
      }
    }
    return "(SELECT \(values.first ?? "NULL") FROM \(from))"
  }

  private func overlay(_ table: TableInfo) -> HistoryLayout {
    overlayUses[table.name, default: 0] += 1
    if let known = overlays.first(where: { $0.table == table.name }) { return known }
    let layout = HistoryLayout(of: table)
    overlays.append(layout)
    return layout
  }
}

// MARK: - Access rules

extension QueryContext {
  /// Restricts every table of `rules` to the rows that the rules allow, at this query's position. A
  /// table expression takes the place of the table:
  ///
  ///     WITH "Note" AS NOT MATERIALIZED (SELECT … FROM main."Note" AS "t0" WHERE "t0"."owner" = ?)
  package func restrict(to rules: ReadRules) {
    for (entity, rule) in rules.conditions.sorted(by: { $0.key < $1.key }) {
      let table = TableInfo(schema.entities[entity])
      let alias = nextAlias()
      isComposingRule = true
      var scope = JoinBuilder(
        context: self, entity: entity, alias: alias,
        source: "\(currentRows(table)) AS \(quoted(alias))")
      let condition = PredicateCompiler.condition(of: rule, in: &scope)
      isComposingRule = false
      let columns = table.selectedColumns(alias)
      if isPast {
        let layout = overlay(table)
        let old = "\(layout.overlayName) AS \(quoted(alias))"
        let history = layout.historyColumns.map { qualified($0, alias) } + columns
        add(readableRows(table), columns: columns, from: scope.from, where: condition)
        add(readablePastRows(table), columns: history, from: old, where: condition)
      } else {
        add(quoted(table.name), columns: columns, from: scope.from, where: condition)
      }
      restrictedNames.insert(table.name)
    }
  }

  /// True if rules restrict tables of the query, and not while a rule is composed.
  var isRestricted: Bool { !isComposingRule && !restrictedNames.isEmpty }

  /// SQL that is true if the row of `table` under `alias` is readable, or if there is none; nil if no
  /// rule restricts the table.
  ///
  /// A database may test a rule after other conditions, whatever the order in the SQL. A condition that
  /// may take long or fail would show what an unreadable row holds.
  ///
  ///     ("t1"."id" IS NULL OR EXISTS (SELECT 1 FROM "Note" AS "t2" WHERE "t2"."id" = "t1"."id"))
  func readability(of table: TableInfo, alias: String) -> String? {
    guard isRestricted(table.name) else { return nil }
    guard table.key.kind != .hash, let first = table.key.columns.first else {
      // Nothing identifies the rows of a view without a key: they are all tested first.
      materializedNames.insert(quoted(table.name))
      return nil
    }
    let sources =
      isPast ? [readableRows(table), readablePastRows(table)] : [presentRows(table.name)]
    let tests = sources.map { source in
      let other = nextAlias()
      let isSame = table.key.columns.map { "\(qualified($0, other)) = \(qualified($0, alias))" }
      return "EXISTS (SELECT 1 FROM \(source) AS \(quoted(other)) "
        + "WHERE \(isSame.joined(separator: " AND ")))"
    }
    let parts = ["\(qualified(first, alias)) IS NULL"] + tests
    return "(\(parts.joined(separator: " OR ")))"
  }

  private func add(
    _ name: String, columns: [String], from: String, where condition: SQLFragment
  ) {
    var rows = SQLFragment("SELECT \(columns.joined(separator: ", ")) FROM \(from)")
    if !condition.text.isEmpty {
      rows.append(" WHERE ")
      rows.append(condition)
    }
    readableTables.append((name, rows))
  }

  /// The name under which a query of the present reads a table.
  func presentRows(_ name: String) -> String {
    isComposingRule ? schema.dialect.qualifier + quoted(name) : quoted(name)
  }

  /// The rows of a table as they are now, for a query of the past or for a rule.
  private func currentRows(_ table: TableInfo) -> String {
    isRestricted(table.name) ? readableRows(table) : schema.dialect.qualifier + quoted(table.name)
  }

  /// The old values of the rows that have changed since this query's position.
  private func pastRows(_ layout: HistoryLayout) -> String {
    isRestricted(layout.table) ? readablePastRows(layout.tableInfo) : layout.overlayName
  }

  private func isRestricted(_ name: String) -> Bool {
    !isComposingRule && restrictedNames.contains(name)
  }

  private func readableRows(_ table: TableInfo) -> String {
    boundedName("livefetch_readable_", of: table.name)
  }

  private func readablePastRows(_ table: TableInfo) -> String {
    boundedName("livefetch_past_", of: table.name)
  }
}

extension TableInfo {
  /// Every column, and the rowid if it is the key.
  fileprivate func selectedColumns(_ alias: String) -> [String] {
    let columns = columnNames.map { qualified($0, alias) }
    guard case .rowid(let name) = key.kind, !columnNames.contains(name) else { return columns }
    return columns + ["\(qualified(name, alias)) AS \(quoted(name))"]
  }
}
