// A column of a new table and the old table's rows → the SQL of each row's value, or the reason why
// there is none.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  mutating func value(
    of column: PlannedColumn, in source: MigrationSource, _ pair: (old: String, new: String)
  ) throws(StoreError) -> String {
    switch column.role {
    case .key: return "o.\(ModelTriggers.id)"
    case .discriminator: return literal(pair.new)
    case .field, .end: return "NULL"
    case .position(let key): return try positionValue(key)
    case .property(let key):
      guard new.file.isKind(pair.new, of: key.entity) else { return "NULL" }
      let declarer = new.file.entity(named: key.entity)
      if let attribute = declarer?.attributes.first(where: { $0.name == key.property }) {
        return try attributeValue(attribute, column, source, pair)
      }
      guard let relationship = new.file.relationship(key.property, of: key.entity) else {
        return "NULL"
      }
      return try linkValue(relationship, key, pair)
    }
  }

  private mutating func attributeValue(
    _ attribute: ModelFile.Attribute, _ column: PlannedColumn, _ source: MigrationSource,
    _ pair: (old: String, new: String)
  ) throws(StoreError) -> String {
    let name = "\(pair.new).\(attribute.name)"
    let fallback = literalDefault(attribute) ?? (column.defaultSQL ?? "NULL")
    let before = match.oldAttribute(attribute, of: pair.new)
    guard let before, before.derivation == nil || attribute.derivation != nil,
      !before.isTransient, let stored = old.column(before.name, of: pair.old)
    else {
      if !attribute.isOptional, attribute.derivation == nil, fallback == "NULL",
        try rows(source, pair) > 0
      {
        refuse("\(name) is not optional and has no default for the objects that are there")
      }
      return fallback
    }
    guard before.type.widens(to: attribute.type), before.transformer == attribute.transformer
    else {
      refuse(
        "\(name) was \(before.type.rawValue): no value of it is known to be "
          + attribute.type.withArticle
          + "; give the attribute another name, and copy the values with --sql-before and --sql")
      return "NULL"
    }
    let column = "o.\(quoted(stored))"
    let value =
      before.type == attribute.type ? column : new.dialect.conversion(column, attribute)
    guard !attribute.isOptional, attribute.derivation == nil else { return value }
    guard fallback == "NULL" else { return "coalesce(\(value), \(fallback))" }
    let missing = try rows(source, pair, where: "\(value) IS NULL")
    if before.isOptional, missing > 0 {
      refuse("\(name) is not optional and has no default, and \(missing) objects have no value")
    }
    return value
  }

  private func rows(
    _ source: MigrationSource, _ pair: (old: String, new: String), where condition: String = "TRUE"
  ) throws(StoreError) -> Int64 {
    let kind =
      source.table.column(.discriminator) == nil
      ? "" : " AND o.\(quoted(ModelTables.discriminatorName)) = \(literal(pair.old))"
    return try count(
      "SELECT count(*) FROM \(quoted(source.table.name)) AS o WHERE \(condition)\(kind)")
  }
}

// MARK: - Types

extension ModelFile.AttributeType {
  /// `an Integer 64`
  fileprivate var withArticle: String {
    switch self {
    case .integer16, .integer32, .integer64: "an \(rawValue)"
    default: "a \(rawValue)"
    }
  }

  /// True if every value of this type is also a value of `other`.
  fileprivate func widens(to other: Self) -> Bool {
    if self == other { return true }
    return switch (self, other) {
    case (.integer16, .integer32), (.integer16, .integer64), (.integer32, .integer64),
      (.integer16, .decimal), (.integer32, .decimal), (.integer64, .decimal),
      (.integer16, .float), (.integer16, .double), (.integer32, .double), (.float, .double),
      (.uuid, .string), (.uri, .string):
      true
    default: false
    }
  }
}

extension MigrationPlanner {
  /// The default as SQL, including attributes whose column has none.
  func literalDefault(_ attribute: ModelFile.Attribute) -> String? {
    attribute.isOpaque ? nil : new.dialect.defaultLiteral(attribute)
  }
}
