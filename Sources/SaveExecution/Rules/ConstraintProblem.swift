// A constraint that refused a statement → a problem for the client: a code, the property by its
// name in the model, and a sentence without SQL or stored values.

import FetchModel
import SQLComposer

package struct ConstraintProblem {
  package let code: ChangeProblem.Code
  package let property: String?
  package let detail: String

  /// - Parameters:
  ///   - columns: The columns that the constraint is about; nil if it belongs to another table,
  ///     reached by a trigger or a delete rule. Then the problem names no property.
  ///   - table: The table of the change.
  package init(_ constraint: Constraint, columns: [Int]?, on table: SaveTable) {
    let name = columns?.first.map { table.propertyNames[$0] }
    switch constraint.kind {
    case .unique:
      guard let columns, !columns.isEmpty else {
        self.init(.notUnique, nil, "another object has the same values")
        return
      }
      self.init(notUnique: columns, of: table)
    case .notNull:
      self.init(
        .notOptional, name, "may not be nil", else: "something would be left without a value")
    case .check: self.init(check: Substring(constraint.subject), on: table)
    case .type:
      self.init(
        .wrongType, name, "does not take such a value",
        else: "a property does not take such a value")
    case .trigger: self.init(.refused, nil, "a rule of the store: \(constraint.message)")
    case .foreignKey:
      self.init(.noSuchObject, nil, "a relationship refers to an object that does not exist")
    case .depth:
      self.init(.refused, nil, "its delete rules cascade more than 1,000 objects deep")
    case .other: self.init(.refused, nil, "the table cannot work with these values")
    }
  }

  /// A CHECK with the text, or the name, `expression`.
  init(check expression: Substring, on table: SaveTable) {
    let name = Self.checkedColumn(expression, table).map { table.propertyNames[$0] }
    self.init(
      .checkFailed, name, "is not what the table allows",
      else: "the values are not what the table allows")
  }

  /// Columns whose combination of values another object already has.
  init(notUnique columns: [Int], of table: SaveTable) {
    let entity = table.entity.name
    guard let first = columns.first, !columns.allSatisfy(table.keyColumns.contains) else {
      self.init(.notUnique, "id", "there is a \(entity) with this id already")
      return
    }
    let names = columns.map { "`\(table.propertyNames[$0])`" }.joined(separator: " and ")
    self.init(
      .notUnique, table.propertyNames[first], "another \(entity) has the same \(names)")
  }

  /// - Parameter predicate: The statement about the property; `other` replaces it if no property is
  ///   known.
  private init(
    _ code: ChangeProblem.Code, _ property: String?, _ predicate: String, else other: String
  ) {
    self.init(code, property, property.map { "`\($0)` \(predicate)" } ?? other)
  }

  private init(_ code: ChangeProblem.Code, _ property: String?, _ detail: String) {
    self.code = code
    self.property = property
    self.detail = detail
  }

  /// Returns the only column that a CHECK's text names; nil for none or several.
  private static func checkedColumn(_ expression: Substring, _ table: SaveTable) -> Int? {
    let named = columnsNamed(in: expression, table)
    return named.count == 1 ? named[0] : nil
  }

  /// Returns the columns whose names occur in an SQL text.
  static func columnsNamed(in expression: Substring, _ table: SaveTable) -> [Int] {
    let words = Set(
      expression.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "$") }
        .map { folded(String($0)) })
    return table.columns.indices.filter { words.contains(folded(table.columns[$0].name)) }
  }
}
