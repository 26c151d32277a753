// To-many relationships → the SQL that reads and edits their members.
//
//     in the members' columns   UPDATE main."City" SET "country_id" = ? WHERE "id" = ? AND NOT (…)
//     in a join table           INSERT INTO main."post_tag"("post_id", "tag") SELECT ?, ? WHERE …
//
// Each edit skips rows that already have the requested values, so that they do not count as
// changed.

import FetchModel

/// The statements of one to-many relationship. `o` denotes the values that refer to its owner.
struct MemberStatements {
  let statements: SaveStatements
  let owner: SaveTable
  let member: SaveTable
  let relationship: Int

  private func text(_ kind: SaveStatements.Kind, _ compose: () -> String) -> String {
    statements.text(kind, of: owner, [relationship], compose)
  }

  /// The join table's row between two objects whose values are bound.
  private static func links(_ source: ForeignKey, _ destination: ForeignKey) -> String {
    "\(source.refersToBound()) AND \(destination.refersToBound())"
  }

  // MARK: Relationships in the members' columns

  /// Selects the ids of the members. Binds o.
  func members(_ key: ForeignKey) -> String {
    text(.members) {
      let presence = member.key.presenceCondition(nil).map { " AND \($0)" } ?? ""
      return """
        SELECT \(member.key.idExpression(nil)) FROM \(member.source) \
        WHERE \(key.refersToBound())\(presence)
        """
    }
  }

  /// Adds a member. Binds o, the member's key, o.
  func add(_ key: ForeignKey) -> String {
    text(.addMember) {
      let assignments = key.columns.map { "\(quoted($0)) = ?" }.joined(separator: ", ")
      return """
        UPDATE \(member.source) SET \(assignments) \
        WHERE \(member.lookup) AND NOT (\(key.refersToBound(nil, "IS")))
        """
    }
  }

  /// Removes a member. Binds the member's key, o.
  func remove(_ link: SaveTable.Link) -> String {
    text(.removeMember) {
      let nils = link.clearable.map { "\(quoted(member.columns[$0].name)) = NULL" }
      return """
        UPDATE \(member.source) SET \(nils.joined(separator: ", ")) \
        WHERE \(member.lookup) AND \(link.key.refersToBound(nil, "IS"))
        """
    }
  }

  /// Returns a row if the object is a member. Binds the member's key, o.
  func has(_ key: ForeignKey) -> String {
    text(.hasMember) {
      "SELECT 1 FROM \(member.source) WHERE \(member.lookup) AND \(key.refersToBound(nil, "IS"))"
    }
  }

  // MARK: Relationships in a join table

  /// Selects the ids of the members. Binds o.
  func members(_ join: JoinTable, _ source: ForeignKey, _ destination: ForeignKey) -> String {
    text(.members) {
      let (ids, from) = linked(join, destination)
      return "SELECT \(ids) FROM \(from) WHERE \(source.refersToBound("j"))"
    }
  }

  /// SQL for the ids of the members that rows `j` of a join table refer to, and the FROM clause.
  private func linked(_ join: JoinTable, _ destination: ForeignKey) -> (ids: String, from: String) {
    let from = "main.\(join.quotedName) AS j"
    let columns = destination.columns.map { qualified($0, "j") }
    guard !destination.referencesKey else {
      return (member.key.idExpression(ofParts: columns), from)
    }
    let joinCondition = destination.leads(to: "m", from: columns)
    return (member.key.idExpression("m"), "\(from) JOIN \(member.source) AS m ON \(joinCondition)")
  }

  /// Adds a member. Binds o, the values that refer to the member, and both again.
  func add(_ join: JoinTable, _ source: ForeignKey, _ destination: ForeignKey) -> String {
    text(.addMember) {
      let columns = source.columns + destination.columns
      return """
        INSERT INTO main.\(join.quotedName)(\(columns.map(quoted).joined(separator: ", "))) \
        SELECT \(columns.map { _ in "?" }.joined(separator: ", ")) WHERE NOT EXISTS \
        (SELECT 1 FROM main.\(join.quotedName) WHERE \(Self.links(source, destination)))
        """
    }
  }

  /// Removes a member. Binds o, the values that refer to the member.
  func remove(_ join: JoinTable, _ source: ForeignKey, _ destination: ForeignKey) -> String {
    text(.removeMember) {
      "DELETE FROM main.\(join.quotedName) WHERE \(Self.links(source, destination))"
    }
  }

  // MARK: Ordered relationships

  /// Reads the members' ids and positions (binds o), and sets one position (binds it, o, and the
  /// values that identify the member). nil if the relationship has no order.
  func places(
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
          UPDATE main.\(join.quotedName) SET \(position) = ? \
          WHERE \(Self.links(source, destination))
          """
        }
      )
    }
  }
}
