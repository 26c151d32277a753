// One object of an ordered relationship (`[FIRST]`, `[LAST]`, `[3]`) → a scalar subquery. Members
// are ordered by position, members without a position follow, and ties are ordered by id.
//
//     heroes[FIRST].name    (SELECT t1."name" FROM "Hero" AS t1 WHERE t1."team" = t0."id"
//                             ORDER BY t1."position" IS NULL, t1."position", t1."id" LIMIT 1)

import FetchModel

extension ConditionWriter {
  mutating func element(_ element: OrderedElement) -> SQLOperand {
    var value = SQLColumn(sql: "", type: .integer)
    var id = SQLColumn(sql: "", type: .integer)
    var position: String?
    let source = source(element.collection, element.condition) { writer in
      let last = writer.scopes.count - 1
      value = writer.scopes[last].column(element.value)
      let root = element.collection.destination
      id = writer.scopes[last].column(PropertyPath(root: root, target: .object))
      position = writer.scopes[last].position
    }
    let terms =
      (position.map { ["\($0) IS NULL", $0] } ?? []) + [id.sql + dialect.collation(id.type)]
    let suffix = element.place == .last ? " DESC" : ""
    var sql = SQLFragment("(SELECT \(value.comparable)")
    sql.append(source)
    sql.append(" ORDER BY " + terms.map { $0 + suffix }.joined(separator: ", ") + " LIMIT 1")
    if case .position(let offset) = element.place {
      sql.append(" OFFSET ")
      sql.bind(.integer(offset))
    }
    sql.append(")")
    var operand = SQLOperand(
      sql: sql, mayBeNull: true,
      isBinaryCollated: value.isComparableBinary || value.type.isNumeric,
      dateFormat: value.dateFormat,
      isInteger: value.type == .integer || value.type == .boolean,
      ownPrecision: Precision(of: value.type))
    operand.encoding = value.encoding
    return operand
  }
}
