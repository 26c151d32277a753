// The links between objects in the old version's storage → the new version's: a column, or a join
// table.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  /// Returns SQL for an object's to-one relationship: the only object that it referred to.
  mutating func linkValue(
    _ relationship: ModelFile.Relationship, _ key: PropertyKey, _ pair: (old: String, new: String)
  ) throws(StoreError) -> String {
    let name = "\(pair.new).\(relationship.name)"
    if let before = match.oldRelationship(relationship, of: pair.new), !before.isToMany,
      let column = old.column(before.name, of: pair.old)
    {
      try checkPresence(relationship, pair, "\(quoted(column)) IS NULL")
      return "o.\(quoted(column))"
    }
    guard let links = oldLinks(relationship, of: pair.new) else {
      if !relationship.isOptional, new.file.root(of: key.entity) == key.entity,
        let table = old.table(of: pair.old),
        try count("SELECT count(*) FROM \(quoted(table.name))") > 0
      {
        refuse("\(name) is not optional, and the objects that are there have none")
      }
      return "NULL"
    }
    let several = try count(
      """
      SELECT count(*) FROM (SELECT 1 FROM (\(links)) AS l GROUP BY owner \
      HAVING count(DISTINCT member) > 1) AS several
      """)
    if several > 0 {
      refuse("\(name) is to-one, and \(several) objects have several there")
    }
    try checkPresence(
      relationship, pair, "\(ModelTriggers.id) NOT IN (SELECT owner FROM (\(links)) AS l)")
    return "(SELECT l.member FROM (\(links)) AS l WHERE l.owner = o.\(ModelTriggers.id))"
  }

  /// Refuses a required to-one relationship if objects have none.
  private mutating func checkPresence(
    _ relationship: ModelFile.Relationship, _ pair: (old: String, new: String),
    _ isMissing: String
  ) throws(StoreError) {
    guard !relationship.isOptional, let table = old.table(of: pair.old) else { return }
    let missing = try count(
      "SELECT count(*) FROM \(quoted(table.name)) WHERE \(isMissing) AND \(kinds([pair.old], table))"
    )
    guard missing > 0 else { return }
    refuse("\(pair.new).\(relationship.name) is not optional, and \(missing) objects have none")
  }

  /// Refuses relationships whose objects are not of the destination entity, or no longer exist.
  mutating func checkDestinations() throws(StoreError) {
    for entity in new.file.entities {
      let successors = ([entity] + new.file.subentities(of: entity.name)).map(\.name)
        .filter { match.oldEntity(of: $0) != nil }
      let owners = successors.compactMap(match.oldEntity)
      guard let successor = successors.first, let owner = owners.first else { continue }
      for relationship in entity.relationships {
        guard let before = match.oldRelationship(relationship, of: successor),
          let links = links(before, of: owner, isSwapped: false),
          let table = old.table(of: owner)
        else { continue }
        let living =
          "owner IN (SELECT \(ModelTriggers.id) FROM \(quoted(table.name)) "
          + "WHERE \(kinds(owners, table)))"
        try checkDestination(
          "\(entity.name).\(relationship.name)", before, destination: relationship.destination,
          links: links, isLiving: living)
      }
    }
  }

  private mutating func checkDestination(
    _ name: String, _ before: ModelFile.Relationship, destination: String,
    links: String, isLiving: String
  ) throws(StoreError) {
    let family = [before.destination] + old.file.subentities(of: before.destination).map(\.name)
    let fitting = family.filter { kind in
      match.newEntity(of: kind).map { new.file.isKind($0, of: destination) } ?? false
    }
    guard fitting != family, let table = old.table(of: before.destination) else { return }
    let others = try count(
      """
      SELECT count(DISTINCT member) FROM (\(links)) AS l WHERE \(isLiving) AND member NOT IN \
      (SELECT \(ModelTriggers.id) FROM \(quoted(table.name)) WHERE \(kinds(fitting, table)))
      """)
    guard others > 0 else { return }
    refuse(
      "\(name) refers to \(others) objects that are not of entity \(destination) in this version")
  }

  /// Returns SQL for a member's position: the old one, or else its id.
  func positionValue(_ key: PropertyKey) throws(StoreError) -> String {
    let step = "o.\(ModelTriggers.id) * \(ModelTriggers.positionStep)"
    guard let relationship = new.file.relationship(key.property, of: key.entity),
      let before = match.oldRelationship(relationship, of: key.entity),
      let oldEntity = match.oldEntity(of: key.entity),
      let oldKey = old.file.key(of: before.name, in: oldEntity),
      let position = old.positions[oldKey]
    else { return step }
    switch old.links[oldKey] {
    case .members?: return "coalesce(o.\(quoted(position)), \(step))"
    case .join?:
      guard let links = links(before, of: oldEntity, isSwapped: false) else { return step }
      let place = "SELECT l.position FROM (\(links)) AS l WHERE l.member = o.\(ModelTriggers.id)"
      return "coalesce((\(place)), \(step))"
    default: return step
    }
  }

  /// Returns the relationship that a join table of the new version stores in its first direction.
  private func owner(
    of table: PlannedTable
  ) -> (key: PropertyKey, relationship: ModelFile.Relationship)? {
    let owner = new.links.first { _, link in
      if case .join(table.name, let source, _) = link {
        source == table.columns[0].name
      } else {
        false
      }
    }
    guard let key = owner?.key,
      let relationship = new.file.relationship(key.property, of: key.entity)
    else { return nil }
    return (key, relationship)
  }

  /// True if the links of a join table are those of an old one.
  func isUnchangedJoin(_ table: PlannedTable) -> Bool {
    guard let (key, relationship) = owner(of: table),
      let before = match.oldRelationship(relationship, of: key.entity),
      let oldEntity = match.oldEntity(of: key.entity),
      case .join(table.name, _, _)? = old.links[
        PropertyKey(entity: oldEntity, property: before.name)]
    else { return false }
    return old.tables.contains(table)
  }

  /// Returns the old join tables whose links a join table takes over.
  func origins(ofJoin table: PlannedTable) -> [String] {
    guard let (key, relationship) = owner(of: table),
      let before = match.oldRelationship(relationship, of: key.entity),
      let oldEntity = match.oldEntity(of: key.entity),
      let oldKey = old.file.key(of: before.name, in: oldEntity),
      case .join(let name, _, _)? = old.links[oldKey]
    else { return old.tables.filter { $0.isJoin && $0.name == table.name }.map(\.name) }
    return [name]
  }

  mutating func planJoin(_ table: PlannedTable) throws(StoreError) {
    guard let (key, relationship) = owner(of: table) else { return }
    let draft = draft(table.name)
    rebuild(table.name)
    guard let links = oldLinks(relationship, of: key.entity) else {
      return add("create the table \(table.name)", [creation(table, as: draft)])
    }
    let ends = table.columns.filter { $0.role == .end }.map { quoted($0.name) }
    let positions = table.columns.compactMap { column -> (name: String, value: String)? in
      guard case .position(let ordered) = column.role else { return nil }
      let isForward = ordered == key
      let (old, id) = isForward ? ("position", "member") : ("owner_position", "owner")
      return (
        quoted(column.name), "coalesce(l.\(old), l.\(id) * \(ModelTriggers.positionStep))"
      )
    }
    let columns = ends + positions.map(\.name)
    let values = ["l.owner", "l.member"] + positions.map(\.value)
    add(
      "rebuild the table \(table.name)",
      [
        creation(table, as: draft),
        """
        INSERT INTO \(quoted(draft))(\(columns.joined(separator: ", "))) \
        SELECT \(values.joined(separator: ", ")) FROM (\(links)) AS l WHERE TRUE \
        ON CONFLICT DO NOTHING
        """,
      ])
  }

  // MARK: Links in the old tables

  /// Returns a query for the old links of a relationship, or of its inverse, with the position of the
  /// member among the owner's members, and of the owner among the member's owners (NULL if unordered):
  /// SELECT … AS owner, … AS member, … AS position, … AS owner_position
  private func oldLinks(
    _ relationship: ModelFile.Relationship, of entity: String
  ) -> String? {
    if let before = match.oldRelationship(relationship, of: entity),
      let oldEntity = match.oldEntity(of: entity)
    {
      return links(before, of: oldEntity, isSwapped: false)
    }
    guard let inverse = new.file.inverse(of: relationship),
      let before = match.oldRelationship(inverse, of: relationship.destination),
      let oldEntity = match.oldEntity(of: relationship.destination)
    else { return nil }
    return links(before, of: oldEntity, isSwapped: true)
  }

  private func links(
    _ relationship: ModelFile.Relationship, of entity: String, isSwapped: Bool
  ) -> String? {
    guard let key = old.file.key(of: relationship.name, in: entity) else { return nil }
    let inverse = old.file.inverse(of: relationship)
      .flatMap { old.file.key(of: $0.name, in: relationship.destination) }
    let id = ModelTriggers.id
    let (owner, member) = isSwapped ? ("member", "owner") : ("owner", "member")
    let (place, inversePlace) =
      isSwapped ? ("owner_position", "position") : ("position", "owner_position")
    let positions = """
      \(position(of: key)) AS \(place), \(position(of: inverse)) AS \(inversePlace)
      """
    switch old.links[key] {
    case .column(let column)?:
      return """
        SELECT \(id) AS \(owner), \(quoted(column)) AS \(member), \(positions) \
        FROM \(quoted(old.file.root(of: key.entity))) WHERE \(quoted(column)) IS NOT NULL
        """
    case .members(let inverse)?:
      guard let column = old.columnNames[inverse] else { return nil }
      return """
        SELECT \(quoted(column)) AS \(owner), \(id) AS \(member), \(positions) \
        FROM \(quoted(old.file.root(of: inverse.entity))) WHERE \(quoted(column)) IS NOT NULL
        """
    case .join(let table, let source, let destination)?:
      return """
        SELECT \(quoted(source)) AS \(owner), \(quoted(destination)) AS \(member), \
        \(positions) FROM \(quoted(table))
        """
    case nil: return nil
    }
  }

  /// Returns SQL for the position in an old relationship; NULL if it is unordered.
  private func position(of key: PropertyKey?) -> String {
    key.flatMap { old.positions[$0] }.map(quoted) ?? "CAST(NULL AS \(old.dialect.integer))"
  }
}
