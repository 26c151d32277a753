// A query's own objects with the aggregates over them as columns, so that expressions over groups
// are composed like expressions over objects.
//
//     @count                                    count(*)
//     @sum.population                           livefetch_sum("t0"."population")
//     @distinctUnionOfObjects.continent.@count  count(DISTINCT "t1"."continent")

import FetchModel

struct GroupedQueryScope: SQLScope {
  var objects: JoinBuilder
  /// The grouped query; nil inside a subquery, which has no groups.
  private let groupedQuery: GroupedQuery?
  /// The columns of the paths so far. PostgreSQL takes two expressions for equal only if their aliases are.
  private var columns: [PropertyPath: SQLColumn] = [:]

  init(_ objects: JoinBuilder, _ groupedQuery: GroupedQuery?) {
    self.objects = objects
    self.groupedQuery = groupedQuery
  }

  var dialect: Dialect { objects.dialect }
  var from: String { objects.from }
  var correlation: String { objects.correlation }
  var mayRepeat: Bool { objects.mayRepeat }
  var position: String? { objects.position }
  var readabilities: [String] { objects.readabilities }
  /// Groups consist of readable objects; a subquery tests its own ones.
  var isRestricted: Bool { groupedQuery == nil && objects.isRestricted }

  func isAggregate(_ path: PropertyPath) -> Bool { groupedQuery?.aggregate(path) != nil }

  mutating func over(_ steps: [Int]) -> GroupedQueryScope {
    GroupedQueryScope(objects.over(steps), nil)
  }

  mutating func column(_ path: PropertyPath) -> SQLColumn {
    if let known = columns[path] { return known }
    let column = newColumn(path)
    columns[path] = column
    return column
  }

  private mutating func newColumn(_ path: PropertyPath) -> SQLColumn {
    guard let aggregate = groupedQuery?.aggregate(path) else { return objects.column(path) }
    guard let value = aggregate.value else {
      return SQLColumn(sql: "count(*)", type: .integer, mayBeNull: false)
    }
    return column(aggregate, objects.column(value))
  }

  private func column(_ aggregate: GroupedQuery.Aggregate, _ value: SQLColumn) -> SQLColumn {
    let isCalculated = aggregate.function == .sum || aggregate.function == .average
    var argument = isCalculated ? value.sql : value.comparable
    if !value.isComparableBinary && !value.type.isNumeric { argument += " COLLATE BINARY" }
    if aggregate.isDistinct && aggregate.function != nil { argument = "DISTINCT " + argument }
    let isDecimal = aggregate.type == .decimal
    switch aggregate.function {
    case .count: return SQLColumn(sql: "count(\(argument))", type: .integer, mayBeNull: false)
    case .sum:
      return SQLColumn(
        sql: "\(isDecimal ? "livefetch_decimal_sum" : "livefetch_sum")(\(argument))",
        type: isDecimal ? .decimal : value.type == .double ? .double : .integer, mayBeNull: false)
    case .average:
      let function = isDecimal ? "livefetch_decimal_average" : "livefetch_average"
      return SQLColumn(sql: "\(function)(\(argument))", type: .double)
    case .min: return picked("min(\(argument))", value)
    case .max: return picked("max(\(argument))", value)
    case nil: return picked(dialect.distinctValues(value), value)
    }
  }

  private func picked(_ sql: String, _ value: SQLColumn) -> SQLColumn {
    var column = SQLColumn(sql: sql, type: value.type, dateFormat: value.dateFormat)
    // The selected value already is a comparison key.
    column.encoding = value.encoding
    column.isHomogeneous = true
    return column
  }
}
