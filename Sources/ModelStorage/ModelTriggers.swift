// The rules of a model that plain SQL can express, as triggers, so that they apply to every program
// that writes the file. Rules that need LiveFetch's SQL functions are not among them.
//
//     one-to-one inverses         setting one side sets the other
//     positions                   a new member of an ordered relationship becomes the last
//     delete rules                Cascade and Deny of the side that holds the column, and of join tables.
//                                 Foreign keys implement the others; Nullify and Cascade have triggers as
//                                 well, for programs that turn foreign keys off
//     derived attributes          key paths, @count, @sum and now()
//
// They are created before the history's triggers, which therefore record their changes. All their
// names begin with `model_`. So may those of other programs' triggers, which stay.

import FetchModel
import SQLComposer

/// Composes a model's triggers.
package struct ModelTriggers: Sendable {
  package let tables: ModelTables
  var file: ModelFile { tables.file }

  package static let prefix = "model_"

  /// The beginnings of the names after ``prefix``, of every version.
  private static let kinds = [
    "inverse_insert_", "inverse_update_", "mirror_insert_", "mirror_delete_", "position_insert_",
    "position_update_", "members_", "links_", "cascade_", "deny_", "derived_",
  ]

  /// True if a trigger of some model may have this name.
  package static func isName(_ name: String) -> Bool {
    kinds.contains { name.hasPrefix(prefix + $0) }
  }

  /// Returns the refusal of a model that needs the names of other programs' triggers.
  package static func refusal(ofTakenNames names: [String]) -> StoreError {
    .unusable(
      "the model needs the names of triggers that LiveFetch did not make: "
        + names.map { "`\($0)`" }.joined(separator: ", ")
        + " (drop them, or create them under other names)")
  }

  package init(_ tables: ModelTables) { self.tables = tables }

  var dialect: ModelDialect { tables.dialect }
  /// NULL equals NULL.
  var isSame: String { dialect.dialect.isSame }
  var isDifferent: String { dialect.dialect.isDifferent }

  private var cascades: CascadeTriggers { CascadeTriggers(self) }

  /// True for triggers that repeat the action of a foreign key, on tables that have the planned
  /// names.
  package static func isRepetition(_ statement: NamedStatement) -> Bool {
    statement.name.hasPrefix(prefix + "members_") || statement.name.hasPrefix(prefix + "links_")
  }

  package var statements: [NamedStatement] {
    var statements: [NamedStatement] = []
    for entity in file.entities {
      for relationship in entity.relationships {
        let key = PropertyKey(entity: entity.name, property: relationship.name)
        statements += inverseTriggers(relationship, key)
        statements += positionTriggers(relationship, key)
        statements += deleteTriggers(relationship, key)
      }
      for attribute in entity.attributes {
        guard let derivation = attribute.derivation, !attribute.isTransient else { continue }
        let key = PropertyKey(entity: entity.name, property: attribute.name)
        statements += DerivedTriggers(triggers: self, key: key).statements(derivation)
      }
    }
    return statements
  }

  /// Returns the statements that compute the derived attributes of all objects, each after those that it is
  /// derived from. They write only values that differ. O(rows) of the attributes' tables.
  ///
  /// - Parameter isIncluded: Selects attributes.
  package func recomputation(
    where isIncluded: (ModelFile.DeclaredAttribute, Derivation) -> Bool = { _, _ in true }
  ) -> [NamedStatement] {
    file.derivedAttributes.filter { isIncluded($0.attribute, $0.derivation) }.compactMap {
      attribute, derivation in
      let key = PropertyKey(entity: attribute.entity, property: attribute.name)
      return DerivedTriggers(triggers: self, key: key).recomputation(derivation).map {
        NamedStatement(name: "compute \(key.entity).\(key.property)", sql: $0)
      }
    }
  }

  /// Returns the statements that compute the attributes whose derivation is another one than in the model
  /// that the database stores.
  ///
  /// - Parameter stored: nil for rows that other programs wrote.
  package func recomputation(unlike stored: ModelFile?) -> [NamedStatement] {
    recomputation { stored?.derivation(of: $0) != $1 }
  }

  /// Returns a query for each derived attribute, named like `Team.memberCount`: the number of the objects that
  /// have another value than the derived one, and the ids of the first ones, a row each.
  package func derivedDifferences(limit: Int) -> [NamedStatement] {
    file.derivedAttributes.compactMap { attribute, derivation in
      let key = PropertyKey(entity: attribute.entity, property: attribute.name)
      return DerivedTriggers(triggers: self, key: key).differences(derivation, limit: limit).map {
        NamedStatement(name: "\(key.entity).\(key.property)", sql: $0)
      }
    }
  }

  /// - Parameter event: For example `AFTER UPDATE OF "mayor"`.
  func trigger(
    _ name: String, _ event: String, on table: String, when condition: String? = nil,
    _ statements: [String]
  ) -> NamedStatement {
    let name = dialect.name(Self.prefix + name)
    return NamedStatement(
      name: name,
      sql: dialect.trigger(
        ModelDialect.Trigger(
          name: name, event: event, table: table, condition: condition, statements: statements)))
  }

  package static let id = quoted(ModelTables.keyName)

  func tableName(of entity: String) -> String { file.root(of: entity) }
}

// MARK: - Inverses

extension ModelTriggers {
  /// Setting one side of a one-to-one relationship sets the other, and clears the previous
  /// partner's.
  private func inverseTriggers(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey
  ) -> [NamedStatement] {
    if relationship.isToMany { return mirrorTriggers(relationship, key) }
    guard let inverse = file.inverse(of: relationship), !inverse.isToMany,
      let own = tables.columnNames[key],
      let other = tables.columnNames[
        PropertyKey(entity: relationship.destination, property: inverse.name)]
    else { return [] }
    let table = tableName(of: key.entity)
    let far = tableName(of: relationship.destination)
    let (column, back) = (quoted(own), quoted(other))
    let free = """
      UPDATE \(quoted(table)) SET \(column) = NULL \
      WHERE \(column) = NEW.\(column) AND \(Self.id) <> NEW.\(Self.id)
      """
    let link = """
      UPDATE \(quoted(far)) SET \(back) = NEW.\(Self.id) \
      WHERE \(Self.id) = NEW.\(column) AND \(back)\(isDifferent)NEW.\(Self.id)
      """
    let unlink = """
      UPDATE \(quoted(far)) SET \(back) = NULL \
      WHERE \(Self.id) = OLD.\(column) AND \(Self.id)\(isDifferent)NEW.\(column) \
      AND \(back) = OLD.\(Self.id)
      """
    return [
      trigger(
        "inverse_insert_\(table)_\(own)", "AFTER INSERT", on: table,
        when: "NEW.\(column) IS NOT NULL", [free, link]),
      trigger(
        "inverse_update_\(table)_\(own)", "AFTER UPDATE OF \(column)", on: table,
        when: "OLD.\(column)\(isDifferent)NEW.\(column)", [unlink, free, link]),
    ]
  }

  /// A relationship that is its own inverse stores each link in both directions.
  private func mirrorTriggers(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey
  ) -> [NamedStatement] {
    guard relationship.inverse == relationship.name, relationship.destination == key.entity,
      case .join(let table, let source, let destination)? = tables.links[key]
    else { return [] }
    let (from, to) = (quoted(source), quoted(destination))
    return [
      trigger(
        "mirror_insert_\(table)", "AFTER INSERT", on: table,
        [
          """
          INSERT INTO \(quoted(table))(\(from), \(to)) VALUES (NEW.\(to), NEW.\(from)) \
          ON CONFLICT DO NOTHING
          """
        ]),
      trigger(
        "mirror_delete_\(table)", "AFTER DELETE", on: table,
        ["DELETE FROM \(quoted(table)) WHERE \(from) = OLD.\(to) AND \(to) = OLD.\(from)"]),
    ]
  }
}

// MARK: - Positions

extension ModelTriggers {
  /// The distance between neighbouring positions. It leaves room for members inserted between them.
  package static let positionStep = PositionAssigner.step

  /// A new member of an ordered relationship becomes the last.
  private func positionTriggers(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey
  ) -> [NamedStatement] {
    guard relationship.isOrdered, let position = tables.positions[key],
      let place = memberColumn(of: key)
    else { return [] }
    let (table, owner, column) = (place.table, quoted(place.owner), quoted(position))
    // A new link has no position yet; a member may have one from its previous owner.
    let (others, new) =
      place.member.map { member in
        ("", "\(owner) = NEW.\(owner) AND \(quoted(member)) = NEW.\(quoted(member))")
      } ?? (" AND \(Self.id) <> NEW.\(Self.id)", "\(Self.id) = NEW.\(Self.id)")
    let append = """
      UPDATE \(quoted(table)) SET \(column) = (SELECT coalesce(max(\(column)), 0) + \
      \(Self.positionStep) FROM \(quoted(table)) WHERE \(owner) = NEW.\(owner)\(others)) \
      WHERE \(new)
      """
    let insert = trigger(
      "position_insert_\(table)_\(position)", "AFTER INSERT", on: table,
      when: "NEW.\(owner) IS NOT NULL AND NEW.\(column) IS NULL", [append])
    guard !place.isJoin else { return [insert] }
    return [
      insert,
      trigger(
        "position_update_\(table)_\(position)", "AFTER UPDATE OF \(owner)", on: table,
        when: "NEW.\(owner)\(isDifferent)OLD.\(owner) AND NEW.\(owner) IS NOT NULL", [append]),
    ]
  }

  /// Returns the table whose rows are the members of a to-many relationship or links to them, and
  /// its column that refers to the owner.
  func memberColumn(
    of key: PropertyKey
  ) -> (table: String, owner: String, member: String?, isJoin: Bool)? {
    switch tables.links[key] {
    case .members(let inverse)?:
      guard let column = tables.columnNames[inverse] else { return nil }
      return (tableName(of: inverse.entity), column, nil, false)
    case .join(let table, let source, let destination)?: return (table, source, destination, true)
    case .column?, nil: return nil
    }
  }
}

// MARK: - Delete rules

extension ModelTriggers {
  /// The prefix of the message of a refused delete; the relationship's name follows.
  private static let denyPrefix = "deny:"

  /// Returns the relationship whose rule refused a delete with this message; nil for another message.
  package static func denied(_ message: String) -> String? {
    message.hasPrefix(denyPrefix) ? String(message.dropFirst(denyPrefix.count)) : nil
  }

  private func deleteTriggers(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey
  ) -> [NamedStatement] {
    switch tables.links[key] {
    case .column(let column)?: columnDeleteTriggers(relationship, key, column)
    case .join(let table, let source, let destination)?:
      (relationship.deleteRule == .cascade
        ? [joinCascade(relationship, key, join: table, source: source, destination: destination)]
        : [])
        + linkTriggers(relationship, key, join: table, source: source)
    case .members?: memberDeleteTriggers(relationship, key)
    case nil: []
    }
  }

  /// Repeats the foreign key's delete rule, for programs that turn foreign keys off.
  private func memberDeleteTriggers(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey
  ) -> [NamedStatement] {
    guard let place = memberColumn(of: key) else { return [] }
    let table = tableName(of: key.entity)
    let members = "FROM \(quoted(place.table)) WHERE \(quoted(place.owner)) = OLD.\(Self.id)"
    let isOwner = "EXISTS (SELECT 1 \(members))"
    let name = "members_\(key.entity)_\(relationship.name)"
    switch relationship.deleteRule {
    case .cascade:
      let deletion = cascades.deletion(
        of: "\(Self.id) \(members)", from: table, to: place.table, when: isOwner)
      return [
        trigger(name, "AFTER DELETE", on: table, when: deletion.condition, deletion.statements)
      ]
    case .nullify:
      let update = """
        UPDATE \(quoted(place.table)) SET \(quoted(place.owner)) = NULL \
        WHERE \(quoted(place.owner)) = OLD.\(Self.id)
        """
      return [trigger(name, "AFTER DELETE", on: table, when: isOwner, [update])]
    case .deny, .noAction: return []
    }
  }

  /// Deletes the links of a deleted object, also for programs that turn foreign keys off.
  private func linkTriggers(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey, join: String, source: String
  ) -> [NamedStatement] {
    guard relationship.deleteRule != .deny else { return [] }
    let table = tableName(of: key.entity)
    let links = "FROM \(quoted(join)) WHERE \(quoted(source)) = OLD.\(Self.id)"
    return [
      trigger(
        "links_\(key.entity)_\(relationship.name)", "AFTER DELETE", on: table,
        when: "EXISTS (SELECT 1 \(links))", ["DELETE \(links)"])
    ]
  }

  private func columnDeleteTriggers(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey, _ column: String
  ) -> [NamedStatement] {
    let table = tableName(of: key.entity)
    let far = quoted(tableName(of: relationship.destination))
    let old = "OLD.\(quoted(column))"
    switch relationship.deleteRule {
    case .cascade:
      let deletion = cascades.deletion(
        of: old, from: table, to: tableName(of: relationship.destination),
        when: "\(old) IS NOT NULL")
      return [
        trigger(
          "cascade_\(table)_\(column)", "AFTER DELETE", on: table, when: deletion.condition,
          deletion.statements)
      ]
    case .deny:
      // An object that the same cascade deletes denies nothing.
      let going = """
        SELECT 1 FROM \(CascadeTriggers.table) \
        WHERE entity = \(literal(tableName(of: relationship.destination))) AND id = \(old)
        """
      return [
        trigger(
          "deny_\(table)_\(column)", "AFTER DELETE", on: table,
          when: "EXISTS (SELECT 1 FROM \(far) WHERE \(Self.id) = \(old))"
            + (cascades.needsTable ? " AND NOT EXISTS (\(going))" : ""),
          [dialect.refusal(Self.denyPrefix + relationship.name)])
      ]
    case .nullify, .noAction: return []
    }
  }

  /// A link that is deleted because its owner was deleted also deletes the object at its other end.
  private func joinCascade(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey, join table: String, source: String,
    destination: String
  ) -> NamedStatement {
    let owner = quoted(tableName(of: key.entity))
    let deletion = cascades.deletion(
      of: "OLD.\(quoted(destination))", from: tableName(of: key.entity),
      to: tableName(of: relationship.destination),
      when: "NOT EXISTS (SELECT 1 FROM \(owner) WHERE \(Self.id) = OLD.\(quoted(source)))")
    return trigger(
      "cascade_\(table)_\(source)", "AFTER DELETE", on: table, when: deletion.condition,
      deletion.statements)
  }
}
