// FetchPlan + Schema → the SELECT statements of a fetch, each with the layout of its rows.
//
//     where=population >= 1000000  sort=-population  limit=50
//     SELECT "t0"."id", "t0"."name", … FROM "City" AS "t0" WHERE "t0"."population" >= ?
//       ORDER BY "t0"."population" DESC, "t0"."id" LIMIT ?

import FetchModel

/// A SELECT with its values and the meaning of its columns.
struct FetchStatement: Sendable {
  let sql: String
  let bindings: [SQLValue]
  let layout: RowLayout
  /// The tables that it reads as they were.
  var shadows: [HistoryLayout] = []
}

/// Where the values of items come from.
enum ItemPlace { case inRows, apart }

/// Composes the statements of fetches. Composing cannot fail.
struct FetchComposer {
  let model: Model
  let schema: Schema
  /// The columns known to hold nothing but values in their form; see ``ColumnForms``.
  var uniform: Set<ColumnPlace> = []
  /// Whether the shadows that queries of the past read stand as tables; see ``GatheredPast``.
  var pastIsGathered = false

  /// The rows of a plan's window, in order.
  ///
  /// - Parameters:
  ///   - extra: rows asked for beyond the limit, to see whether there are more.
  ///   - items: whether the rows hold the items' values, or their ids and order alone.
  ///   - order: `.terms` where whoever reads the rows puts those that tie in order.
  func window(
    of plan: FetchPlan, extra: Int = 0, items: ItemPlace = .inRows,
    order: FetchQuery.RowOrder = .total
  ) -> FetchStatement {
    var query = FetchQuery(composer: self, definition: plan.definition)
    if items == .inRows, plan.shape == .objects {
      query.select(plan)
    } else {
      query.formatID(plan)
    }
    query.restrict(behind: plan.window.after)
    return query.statement(
      order, limit: plan.window.limit.map { $0 + extra }, offset: plan.window.offset)
  }

  /// The order keys of a result, strictly behind `after`.
  func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?
  ) -> FetchStatement {
    var query = FetchQuery(composer: self, definition: definition)
    query.restrict(behind: after)
    return query.statement(.total, limit: limit, offset: 0)
  }

  /// How many objects a result has.
  func total(of definition: ResultDefinition) -> FetchStatement {
    let query = FetchQuery(composer: self, definition: definition, needsOrder: false)
    return query.countStatement()
  }

  /// Those of `ids` that are in the result at `moment`, in no order.
  func rows(of plan: FetchPlan, ids: Set<ObjectID>, at moment: Moment) -> FetchStatement {
    var query = FetchQuery(
      composer: self, definition: plan.definition, moment: moment, ids: ids)
    query.select(plan)
    return query.statement(.none, limit: nil, offset: 0)
  }
}

extension FetchComposer {
  /// ` AND "entity" IN ('Hero')`: which rows of its table are an entity's; empty where all are.
  func restriction(to entity: Int) -> String {
    EntityTable.restriction(to: entity, model, schema).map { " AND \($0)" } ?? ""
  }
}

extension EntityTable {
  /// Which rows of its table are an entity's, over the bare column; nil where all are.
  static func restriction(to entity: Int, _ model: Model, _ schema: Schema) -> String? {
    guard let names = model.storedNames(of: entity),
      let discriminator = model.entities[entity].inheritance.discriminator
    else { return nil }
    let column = schema.entities[entity].column(ofAttribute: discriminator).name
    return "\(quoted(column)) IN (\(names.map(literal).joined(separator: ", ")))"
  }
}
