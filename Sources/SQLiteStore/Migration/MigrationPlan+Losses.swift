// The old version's objects, values and links → those that the new version has no place for.

import FetchModel

extension MigrationPlanner {
  /// What the old version holds and the new one has no place for.
  mutating func findLosses() throws(StoreError) {
    for entity in old.file.entities {
      guard let table = old.table(of: entity.name) else { continue }
      let kinds =
        table.column(.discriminator) == nil
        ? "TRUE" : "\(quoted(ModelTables.discriminatorName)) = \(literal(entity.name))"
      let heirs = match.newEntity(of: entity.name)
      if heirs == nil, !entity.isAbstract {
        try lose("every object of \(entity.name)", "\(quoted(table.name)) WHERE \(kinds)")
      }
      for attribute in entity.attributes where attribute.derivation == nil {
        guard !isKept(attribute, of: entity.name), heirs != nil,
          let column = old.column(attribute.name, of: entity.name)
        else { continue }
        try lose(
          "the values of \(entity.name).\(attribute.name)",
          "\(quoted(table.name)) WHERE \(quoted(column)) IS NOT NULL")
      }
      for relationship in entity.relationships where heirs != nil {
        try findLoss(of: relationship, in: entity.name, table)
      }
    }
  }

  private func isKept(_ attribute: ModelFile.Attribute, of entity: String) -> Bool {
    new.file.entities.contains { candidate in
      guard let before = match.oldEntity(of: candidate.name),
        old.file.isKind(before, of: entity)
      else { return false }
      return new.file.attributes(of: candidate.name).contains {
        match.oldAttribute($0, of: candidate.name)?.name == attribute.name && !$0.isTransient
      }
    }
  }

  private mutating func findLoss(
    of relationship: ModelFile.Relationship, in entity: String, _ table: PlannedTable
  ) throws(StoreError) {
    let isKept = new.file.entities.contains { candidate in
      new.file.relationships(of: candidate.name).contains { now in
        match.oldRelationship(now, of: candidate.name) == relationship
          || new.file.inverse(of: now).map {
            match.oldRelationship($0, of: now.destination) == relationship
          } ?? false
      }
    }
    // An inverse that is kept keeps the links.
    let inverseIsKept =
      old.file.inverse(of: relationship).map { inverse in
        new.file.entities.contains { candidate in
          new.file.relationships(of: candidate.name).contains {
            match.oldRelationship($0, of: candidate.name) == inverse
          }
        }
      } ?? false
    guard !isKept, !inverseIsKept else { return }
    switch old.links[PropertyKey(entity: entity, property: relationship.name)] {
    case .column(let column)?:
      try lose(
        "the links of \(entity).\(relationship.name)",
        "\(quoted(table.name)) WHERE \(quoted(column)) IS NOT NULL")
    case .join(let join, _, _)?:
      try lose("the links of \(entity).\(relationship.name)", quoted(join))
    case .members?, nil: break
    }
  }

  private mutating func lose(_ what: String, _ rows: String) throws(StoreError) {
    let lost = try count("SELECT count(*) FROM \(rows)")
    if lost > 0 { plan.losses.append("\(what) (\(lost))") }
  }
}

// MARK: - Uniqueness

extension MigrationPlanner {
  /// Refuses constraints that the values which are there break already.
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

  /// The columns that values come from; nil where one of them is new.
  private func oldColumns(_ names: [String], of entity: String) -> [String]? {
    guard let oldEntity = match.oldEntity(of: entity) else { return nil }
    let columns = names.compactMap { name -> String? in
      if let attribute = new.file.attributes(of: entity).first(where: { $0.name == name }) {
        let before = match.oldAttribute(attribute, of: entity)
        return before.flatMap { old.column($0.name, of: oldEntity) }
      }
      let relationship = new.file.relationship(name, of: entity)
      let before = relationship.flatMap { match.oldRelationship($0, of: entity) }
      return before.flatMap { $0.isToMany ? nil : old.column($0.name, of: oldEntity) }
    }
    return columns.count == names.count ? columns.map(quoted) : nil
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
      GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1)
      """)
    guard repeated > 0 else { return }
    let property = names.joined(separator: ", ")
    refuse(
      "\(entity).\(property) has to be unique, and \(repeated) values stand more than once there")
  }
}
