// FetchPlan + Schema → the SELECT statements of a fetch, each with the layout of its rows.
//
//     where=population >= 1000000  sort=-population  limit=50
//     SELECT "t0"."id", "t0"."name", … FROM "City" AS "t0" WHERE "t0"."population" >= ?
//       ORDER BY "t0"."population" DESC, "t0"."id" LIMIT ?

import FetchModel

/// A SELECT with its bindings and the meaning of its columns.
package struct FetchStatement: Sendable {
  package let sql: String
  package private(set) var bindings: [SQLValue]
  package let layout: RowLayout
  /// The parameters among the bindings, with their indexes there.
  private var parameters: [(binding: Int, parameter: PlanParameter)] = []
  /// The bindings of the one object's id, with their indexes among those of the id.
  private var idBindings: [(binding: Int, index: Int)] = []
  /// The tables of which it reads past values.
  package var overlays: [HistoryLayout] = []

  package init(
    sql: String, bindings: [SQLValue], layout: RowLayout, overlays: [HistoryLayout] = []
  ) {
    self.sql = sql
    self.bindings = bindings
    self.layout = layout
    self.overlays = overlays
  }

  /// Makes the statement of a fragment.
  package init(_ fragment: SQLFragment, layout: RowLayout, overlays: [HistoryLayout] = []) {
    self.init(sql: fragment.text, bindings: fragment.values, layout: layout, overlays: overlays)
    for (place, binding) in fragment.bindings.enumerated() {
      switch binding {
      case .value: break
      case .parameter(let parameter): parameters.append((place, parameter))
      case .id(_, let index): idBindings.append((place, index))
      }
    }
  }

  /// Returns the same statement for another object with a key of the same columns. For an id that cannot
  /// be one of that key it reads nothing.
  package func binding(_ id: ObjectID, of key: Key) -> FetchStatement {
    let own = IDRestriction(key: key, ids: [id]).bindings
    var statement = self
    for (binding, index) in idBindings {
      statement.bindings[binding] = own.indices.contains(index) ? own[index] : .null
    }
    return statement
  }

  /// Returns the statement with `values` bound to its parameters.
  package func bound(to values: PlanValues) -> FetchStatement {
    var statement = self
    for (binding, parameter) in parameters {
      statement.bindings[binding] = SQLValue(values[parameter] ?? .null, nil)
    }
    return statement
  }
}

/// The place from which rows take the values of their items: the same statement, or a separate one.
package enum ItemPlace { case inRows, separate }

/// Composes the statements of fetches. Composing cannot fail and runs no query.
package struct FetchComposer {
  package let model: Model
  package let schema: Schema
  /// The columns that hold only values in their standard encoding; see ``HomogeneousColumns``.
  package var homogeneousColumns: Set<EntityAttribute> = []
  /// True if the history overlays are materialized as tables; see ``MaterializedHistory``.
  package var isPastMaterialized = false

  package init(
    model: Model, schema: Schema, homogeneousColumns: Set<EntityAttribute> = [],
    isPastMaterialized: Bool = false
  ) {
    self.model = model
    self.schema = schema
    self.homogeneousColumns = homogeneousColumns
    self.isPastMaterialized = isPastMaterialized
  }

  /// The rows of a plan's window, in order.
  ///
  /// - Parameters:
  ///   - extra: The number of rows beyond the limit, which show whether more exist.
  ///   - items: `.inRows` if the rows hold the items' values; `.separate` for ids and order values only.
  ///   - order: `.terms` if the reader of the rows puts ties in order.
  ///   - hasSpareColumn: True for one more column than the layout has, which is NULL, for a store that
  ///     adds a row of its own.
  package func window(
    of plan: FetchPlan, extra: Int = 0, items: ItemPlace = .inRows,
    order: FetchQuery.RowOrder = .total, hasSpareColumn: Bool = false
  ) -> FetchStatement {
    var query = FetchQuery(composer: self, definition: plan.definition)
    if items == .inRows, plan.shape == .objects {
      query.select(plan)
    } else {
      query.formatID(plan)
    }
    query.restrict(after: plan.window.after)
    return query.statement(
      order, limit: plan.window.limit.map { $0 + extra }, offset: plan.window.offset,
      hasSpareColumn: hasSpareColumn)
  }

  /// The order keys of a result, strictly after `after`.
  package func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?
  ) -> FetchStatement {
    var query = FetchQuery(composer: self, definition: definition)
    query.restrict(after: after)
    return query.statement(.total, limit: limit, offset: 0)
  }

  /// The number of objects in a result.
  package func total(of definition: ResultDefinition) -> FetchStatement {
    let query = FetchQuery(composer: self, definition: definition, needsOrder: false)
    return query.countStatement()
  }

  /// Those of `ids` that are in the result at `position`, in no particular order.
  package func rows(of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition)
    -> FetchStatement
  {
    var query = FetchQuery(
      composer: self, definition: plan.definition, position: position, ids: ids)
    query.select(plan)
    return query.statement(.none, limit: nil, offset: 0)
  }
}

extension FetchComposer {
  /// ` AND "entity" IN ('Hero')`: selects an entity's rows of its table; empty if all rows are its
  /// own.
  package func restriction(to entity: Int) -> String {
    EntityTable.restriction(to: entity, model, schema).map { " AND \($0)" } ?? ""
  }
}

extension EntityTable {
  /// A condition over unqualified columns that selects an entity's rows; nil if all rows are its
  /// own.
  package static func restriction(to entity: Int, _ model: Model, _ schema: Schema) -> String? {
    guard let names = model.storedNames(of: entity),
      let discriminator = model.entities[entity].inheritance.discriminator
    else { return nil }
    let column = schema.entities[entity].column(ofAttribute: discriminator).name
    return "\(quoted(column)) IN (\(names.map(literal).joined(separator: ", ")))"
  }
}
