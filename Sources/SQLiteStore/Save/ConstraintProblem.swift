// A constraint that refused a statement → a problem for the client: a code, the property by its
// name in the model, and a sentence without SQL or stored values.

import FetchModel

struct ConstraintProblem {
  let code: ChangeProblem.Code
  let property: String?
  let detail: String

  /// - Parameter table: The table of the change. If the constraint belongs to another table,
  ///   reached by a trigger or a delete rule, the problem names no property.
  init(_ constraint: Constraint, on table: SaveTable) {
    switch constraint.kind {
    case .unique: self = Self.notUnique(constraint, table)
    case .notNull:
      let name = Self.columns(of: constraint.subject, table)?.first.map { table.propertyNames[$0] }
      self.init(
        .notOptional, name, "may not be nil", else: "something would be left without a value")
    case .check: self.init(check: constraint.subject, on: table)
    case .type:
      let name = Self.typedColumn(constraint.message, table).map { table.propertyNames[$0] }
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

  /// `City.country, City.name`, or `index 'name'`.
  private static func notUnique(_ constraint: Constraint, _ table: SaveTable) -> Self {
    guard let columns = columns(of: constraint.subject, table), !columns.isEmpty else {
      return Self(.notUnique, nil, "another object has the same values")
    }
    return Self(notUnique: columns, of: table)
  }

  /// Returns the columns that a message lists; nil if they are not this table's.
  private static func columns(of subject: Substring, _ table: SaveTable) -> [Int]? {
    if subject.hasPrefix("index '") {
      let name = subject.dropFirst(7).dropLast()
      let index = table.table.uniqueIndexes.first { $0.name == name }
      return index?.parts.compactMap { $0.column.flatMap(table.column(named:)) }
    }
    let prefix = table.table.name + "."
    var columns: [Int] = []
    var rest = subject
    while !rest.isEmpty {
      guard rest.hasPrefix(prefix) else { return nil }
      rest = rest.dropFirst(prefix.count)
      guard let column = table.columnStarting(rest) else { return nil }
      columns.append(column)
      rest = rest.dropFirst(table.columns[column].name.count).dropFirst(2)
    }
    return columns
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

  /// `cannot store TEXT value in INTEGER column City.population`
  private static func typedColumn(_ message: String, _ table: SaveTable) -> Int? {
    guard let range = message.firstRange(of: "column \(table.table.name).") else { return nil }
    return table.columnStarting(message[range.upperBound...])
  }
}

extension SaveTable {
  /// Returns the column whose name `text` begins with, followed by a comma or by nothing.
  fileprivate func columnStarting(_ text: Substring) -> Int? {
    columns.firstIndex { column in
      guard text.hasPrefix(column.name) else { return false }
      let rest = text.dropFirst(column.name.count)
      return rest.isEmpty || rest.hasPrefix(", ")
    }
  }
}
