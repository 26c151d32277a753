// To-many relationships → the SQL that reads and edits their members.
//
//     in the members' columns   UPDATE main."City" SET "country_id" = ? WHERE "id" = ? AND NOT (…)
//     in a join table           INSERT INTO main."post_tag"("post_id", "tag") SELECT ?, ? WHERE …
//
// Each edit skips rows that already have the requested values, so that they do not count as
// changed.

import FetchModel

/// The statements of one to-many relationship. `o` denotes the values that refer to its owner.
package struct MemberStatements {
  package let statements: SaveStatements
  package let owner: SaveTable
  package let member: SaveTable
  package let relationship: Int

  package init(statements: SaveStatements, owner: SaveTable, member: SaveTable, relationship: Int) {
    self.statements = statements
    self.owner = owner
    self.member = member
    self.relationship = relationship
  }

  private func text(_ kind: SaveStatements.Kind, _ compose: () -> String) -> String {
    statements.text(kind, of: owner, [relationship], compose)
  }

  private func tableName(_ join: JoinTable) -> String {
    owner.key.dialect.qualifier + join.quotedName
  }

  /// The operator by which NULL equals NULL.
  private var same: String { owner.key.dialect.isSame }

  /// The join table's row between two objects whose values are bound.
  private static func links(_ source: ForeignKey, _ destination: ForeignKey) -> String {
    "\(source.refersToBound()) AND \(destination.refersToBound())"
  }

  // MARK: Relationships in the members' columns

  /// Selects the ids of the members. Binds o.
  package func members(_ key: ForeignKey) -> String {
    text(.members) {
      let presence = member.key.presenceCondition(nil).map { " AND \($0)" } ?? ""
      return """
        SELECT \(member.key.idExpression(nil)) FROM \(member.source) \
        WHERE \(key.refersToBound())\(presence)
        """
    }
  }

  /// Adds a member. Binds o, the member's key, o.
  package func add(_ key: ForeignKey) -> String {
    text(.addMember) {
      let assignments = key.columns.map { "\(quoted($0)) = ?" }.joined(separator: ", ")
      return """
        UPDATE \(member.source) SET \(assignments) \
        WHERE \(member.lookup) AND NOT (\(key.refersToBound(nil, same)))
        """
    }
  }

  /// Removes a member. Binds the member's key, o.
  package func remove(_ link: SaveTable.Link) -> String {
    text(.removeMember) {
      let nils = link.clearable.map { "\(quoted(member.columns[$0].name)) = NULL" }
      return """
        UPDATE \(member.source) SET \(nils.joined(separator: ", ")) \
        WHERE \(member.lookup) AND \(link.key.refersToBound(nil, same))
        """
    }
  }

  /// Returns a row if the object is a member. Binds the member's key, o.
  package func has(_ key: ForeignKey) -> String {
    text(.hasMember) {
      "SELECT 1 FROM \(member.source) WHERE \(member.lookup) AND \(key.refersToBound(nil, same))"
    }
  }

  // MARK: Relationships in a join table

  /// Selects the ids of the members. Binds o.
  package func members(_ join: JoinTable, from source: ForeignKey, to destination: ForeignKey)
    -> String
  {
    text(.members) {
      let (ids, from) = linked(join, destination)
      return "SELECT \(ids) FROM \(from) WHERE \(source.refersToBound("j"))"
    }
  }

  /// SQL for the ids of the members that rows `j` of a join table refer to, and the FROM clause.
  private func linked(_ join: JoinTable, _ destination: ForeignKey) -> (ids: String, from: String) {
    let from = "\(tableName(join)) AS j"
    let columns = destination.columns.map { qualified($0, "j") }
    guard !destination.referencesKey else {
      return (member.key.idExpression(ofParts: columns), from)
    }
    let joinCondition = destination.parentCondition("m", childValues: columns)
    return (member.key.idExpression("m"), "\(from) JOIN \(member.source) AS m ON \(joinCondition)")
  }

  /// Adds a member. Binds o, the values that refer to the member, and both again.
  package func add(_ join: JoinTable, from source: ForeignKey, to destination: ForeignKey) -> String
  {
    text(.addMember) {
      let columns = source.columns + destination.columns
      return """
        INSERT INTO \(tableName(join))(\(columns.map(quoted).joined(separator: ", "))) \
        SELECT \(columns.map { _ in "?" }.joined(separator: ", ")) WHERE NOT EXISTS \
        (SELECT 1 FROM \(tableName(join)) WHERE \(Self.links(source, destination)))
        """
    }
  }

  /// Removes a member. Binds o, the values that refer to the member.
  package func remove(_ join: JoinTable, from source: ForeignKey, to destination: ForeignKey)
    -> String
  {
    text(.removeMember) {
      "DELETE FROM \(tableName(join)) WHERE \(Self.links(source, destination))"
    }
  }

  // MARK: Ordered relationships

  /// Reads the members' ids and positions (binds o), and sets one position (binds it, o, and the
  /// values that identify the member). nil if the relationship has no order.
  package func places(
    _ storage: RelationshipStorage, _ schema: Schema
  ) -> (read: String, write: String)? {
    guard let key = storage.ownerKey, let position = key.position.map(quoted) else { return nil }
    switch storage {
    case .foreignKey: return nil
    case .inverse:
      return (
        text(.places) {
          """
          SELECT \(member.key.idExpression(nil)), \(position) FROM \(member.source) \
          WHERE \(key.refersToBound())
          """
        },
        text(.setPlace) {
          """
          UPDATE \(member.source) SET \(position) = ? \
          WHERE \(key.refersToBound()) AND \(member.key.lookupCondition(nil))
          """
        }
      )
    case .joinTable(let index, let source, let destination):
      let join = schema.joinTables[index]
      return (
        text(.places) {
          let (ids, from) = linked(join, destination)
          return """
            SELECT \(ids), j.\(position) FROM \(from) \
            WHERE \(source.refersToBound("j"))
            """
        },
        text(.setPlace) {
          """
          UPDATE \(tableName(join)) SET \(position) = ? \
          WHERE \(Self.links(source, destination))
          """
        }
      )
    }
  }
}
