// The old version's objects, values and links → those that the new version cannot hold.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  /// Finds everything in the old version that the new version cannot hold.
  mutating func findLosses() throws(StoreError) {
    for entity in old.file.entities {
      guard let table = old.table(of: entity.name) else { continue }
      if !entity.isAbstract { try findLoss(of: entity, table) }
      for attribute in entity.attributes where attribute.derivation == nil {
        guard let column = old.column(attribute.name, of: entity.name) else { continue }
        let subject = { (owner: String) in "the values of \(owner).\(attribute.name)" }
        let entities = losingEntities(entity.name) { isKept(attribute, in: $0) }
        try lose(subject, of: entity.name, entities: entities, table: table) {
          "\(quoted(table.name)) WHERE \(quoted(column)) IS NOT NULL AND \($0)"
        }
      }
      for relationship in entity.relationships {
        try findLoss(of: relationship, in: entity.name, table)
      }
    }
  }

  private mutating func findLoss(
    of entity: ModelFile.Entity, _ table: PlannedTable
  ) throws(StoreError) {
    let rows = "\(quoted(table.name)) WHERE \(kinds([entity.name], table))"
    guard let successor = match.newEntity(of: entity.name) else {
      return try lose("every object of \(entity.name)", rows)
    }
    guard new.file.entity(named: successor)?.isAbstract == true else { return }
    let count = try count("SELECT count(*) FROM \(rows)")
    if count > 0 { refuse("\(successor) is abstract now, and \(count) objects of it are there") }
  }

  /// Returns the condition that selects the rows of these entities in a table of the old version.
  func kinds(_ names: [String], _ table: PlannedTable) -> String {
    guard table.column(.discriminator) != nil else { return names.isEmpty ? "FALSE" : "TRUE" }
    let list = names.map(literal).joined(separator: ", ")
    return "\(quoted(ModelTables.discriminatorName)) IN (\(list))"
  }

  /// Returns `entity` and its subentities that exist in the new version, and those among them for
  /// which `isKept` is false.
  private func losingEntities(
    _ entity: String, _ isKept: (_ successor: String) -> Bool
  ) -> (lost: [String], all: [String]) {
    let all = ([entity] + old.file.subentities(of: entity).map(\.name))
      .filter { match.newEntity(of: $0) != nil }
    return (all.filter { match.newEntity(of: $0).map(isKept) == false }, all)
  }

  private func isKept(_ attribute: ModelFile.Attribute, in successor: String) -> Bool {
    new.file.attributes(of: successor).contains {
      match.oldAttribute($0, of: successor)?.name == attribute.name && !$0.isTransient
        && $0.derivation == nil
    }
  }

  private mutating func findLoss(
    of relationship: ModelFile.Relationship, in entity: String, _ table: PlannedTable
  ) throws(StoreError) {
    let entities = losingEntities(entity) { successor in
      new.file.relationships(of: successor).contains {
        match.oldRelationship($0, of: successor)?.name == relationship.name
      } || isKept(inverseOf: relationship, for: successor)
    }
    let subject = { (owner: String) in "the links of \(owner).\(relationship.name)" }
    switch old.links[PropertyKey(entity: entity, property: relationship.name)] {
    case .column(let column)?:
      try lose(subject, of: entity, entities: entities, table: table) {
        "\(quoted(table.name)) WHERE \(quoted(column)) IS NOT NULL AND \($0)"
      }
    case .join(let join, let source, _)?:
      let id = quoted(ModelTables.keyName)
      try lose(subject, of: entity, entities: entities, table: table) {
        "\(quoted(join)) WHERE \(quoted(source)) IN "
          + "(SELECT \(id) FROM \(quoted(table.name)) WHERE \($0))"
      }
    case .members?, nil: break
    }
  }

  /// True if the new version keeps the inverse, whose destination includes the new entity: it keeps the
  /// links.
  private func isKept(
    inverseOf relationship: ModelFile.Relationship, for successor: String
  ) -> Bool {
    guard let inverse = old.file.inverse(of: relationship) else { return false }
    return new.file.entities.contains { candidate in
      new.file.relationships(of: candidate.name).contains {
        match.oldRelationship($0, of: candidate.name) == inverse
          && new.file.isKind(successor, of: $0.destination)
      }
    }
  }

  /// Reports one loss for the declaring entity if every inheriting entity loses the property;
  /// otherwise one for each entity that does.
  private mutating func lose(
    _ subject: (_ entity: String) -> String, of declarer: String,
    entities: (lost: [String], all: [String]), table: PlannedTable,
    rows: (_ kinds: String) -> String
  ) throws(StoreError) {
    guard !entities.lost.isEmpty else { return }
    guard entities.lost != entities.all else {
      return try lose(subject(declarer), rows(kinds(entities.lost, table)))
    }
    for name in entities.lost {
      try lose(subject(name), rows(kinds([name], table)))
    }
  }

  /// Reports a loss with the number of its rows, if there are any.
  private mutating func lose(_ subject: String, _ rows: String) throws(StoreError) {
    let lost = try count("SELECT count(*) FROM \(rows)")
    if lost > 0 { append(loss: "\(subject) (\(lost))") }
  }
}

// MARK: - Uniqueness

extension MigrationPlanner {
  /// Refuses uniqueness constraints that existing values already violate.
  mutating func checkUniqueness() throws(StoreError) {
    for entity in new.file.entities {
      guard let name = match.oldEntity(of: entity.name) else { continue }
      for names in entity.uniquenessConstraints {
        guard let table = old.table(of: name), let columns = oldColumns(names, of: entity.name)
        else { continue }
        try checkUniqueness(of: names, entity.name, columns, table, of: name)
      }
    }
  }

  /// Returns the old columns that the values come from; nil if one of the columns is new.
  private func oldColumns(_ names: [String], of entity: String) -> [String]? {
    guard let oldEntity = match.oldEntity(of: entity) else { return nil }
    let columns = names.compactMap { name -> String? in
      if let attribute = new.file.attributes(of: entity).first(where: { $0.name == name }) {
        return oldValue(attribute, of: entity, oldEntity)
      }
      let relationship = new.file.relationship(name, of: entity)
      let before = relationship.flatMap { match.oldRelationship($0, of: entity) }
      return before.flatMap { $0.isToMany ? nil : old.column($0.name, of: oldEntity).map(quoted) }
    }
    return columns.count == names.count ? columns : nil
  }

  /// Returns SQL for the values of an attribute: the old column, with the default in place of NULL if
  /// the attribute is not optional; the default of a new attribute; nil for a new one without a default.
  private func oldValue(
    _ attribute: ModelFile.Attribute, of entity: String, _ oldEntity: String
  ) -> String? {
    let column = match.oldAttribute(attribute, of: entity)
      .flatMap { $0.isTransient ? nil : old.column($0.name, of: oldEntity) }
      .map(quoted)
    guard attribute.derivation == nil, let initial = literalDefault(attribute) else {
      return column
    }
    // GROUP BY would take a bare number for the position of a column.
    guard let column else { return "coalesce(NULL, \(initial))" }
    return attribute.isOptional ? column : "coalesce(\(column), \(initial))"
  }

  private mutating func checkUniqueness(
    of names: [String], _ entity: String, _ columns: [String], _ table: PlannedTable,
    of oldEntity: String
  ) throws(StoreError) {
    let kinds =
      table.column(.discriminator) == nil ? "TRUE" : old.membership(of: oldEntity)
    let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let repeated = try count(
      """
      SELECT count(*) FROM (SELECT 1 FROM \(quoted(table.name)) WHERE \(kinds) AND \(present) \
      GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1) AS repeated
      """)
    guard repeated > 0 else { return }
    let property = names.joined(separator: ", ")
    refuse(
      "\(entity).\(property) has to be unique, and \(repeated) values occur more than once")
  }
}
