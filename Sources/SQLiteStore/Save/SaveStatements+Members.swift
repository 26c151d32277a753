// To-many relationships → the SQL that reads and edits their members.
//
//     kept by the members       UPDATE main."City" SET "country_id" = ? WHERE "id" = ? AND NOT (…)
//     kept by a table between   INSERT INTO main."post_tag"("post_id", "tag") SELECT ?, ? WHERE …
//
// Each edit leaves alone what is so already, so that nothing is touched that does not change.

import FetchModel

/// The statements of one to-many relationship. `o` stands for the values that refer to its owner.
struct MemberStatements {
  let statements: SaveStatements
  let owner: SaveTable
  let member: SaveTable
  let relationship: Int

  private func text(_ kind: SaveStatements.Kind, _ compose: () -> String) -> String {
    statements.text(kind, of: owner, [relationship], compose)
  }

  private static func equal(_ columns: [String], _ test: String = "=") -> String {
    columns.map { "\(quoted($0)) \(test) ?" }.joined(separator: " AND ")
  }

  // MARK: Kept by the members

  /// The ids of the members. Binds o.
  func members(_ key: ForeignKey) -> String {
    text(.members) {
      let presence = member.key.presenceCondition(nil).map { " AND \($0)" } ?? ""
      return """
        SELECT \(member.key.idExpression(nil)) FROM \(member.source) \
        WHERE \(Self.equal(key.columns))\(presence)
        """
    }
  }

  /// Binds o, the member's key, o.
  func add(_ key: ForeignKey) -> String {
    text(.addMember) {
      let assignments = key.columns.map { "\(quoted($0)) = ?" }.joined(separator: ", ")
      return """
        UPDATE \(member.source) SET \(assignments) \
        WHERE \(member.lookup) AND NOT (\(Self.equal(key.columns, "IS")))
        """
    }
  }

  /// Binds the member's key, o.
  func remove(_ link: SaveTable.Link) -> String {
    text(.removeMember) {
      let nils = link.clearable.map { "\(quoted(member.columns[$0].name)) = NULL" }
      return """
        UPDATE \(member.source) SET \(nils.joined(separator: ", ")) \
        WHERE \(member.lookup) AND \(Self.equal(link.key.columns, "IS"))
        """
    }
  }

  /// Gives a row if it is a member. Binds the member's key, o.
  func has(_ key: ForeignKey) -> String {
    text(.hasMember) {
      "SELECT 1 FROM \(member.source) WHERE \(member.lookup) AND \(Self.equal(key.columns, "IS"))"
    }
  }

  // MARK: Kept by a table between

  /// The ids of the members. Binds o.
  func members(_ join: JoinTable, _ source: ForeignKey, _ destination: ForeignKey) -> String {
    text(.members) {
      let ties = source.columns.map { "\(qualified($0, "j")) = ?" }.joined(separator: " AND ")
      guard !destination.referencesKey else {
        let id = member.key.idExpression(ofParts: destination.columns.map { qualified($0, "j") })
        return "SELECT \(id) FROM main.\(join.quotedName) AS j WHERE \(ties)"
      }
      let joined = zip(destination.referenced, destination.columns)
        .map { "\(qualified($0, "m")) = \(qualified($1, "j"))" }.joined(separator: " AND ")
      return """
        SELECT \(member.key.idExpression("m")) FROM main.\(join.quotedName) AS j \
        JOIN \(member.source) AS m ON \(joined) WHERE \(ties)
        """
    }
  }

  /// Binds o, the values that refer to the member, and both again.
  func add(_ join: JoinTable, _ source: ForeignKey, _ destination: ForeignKey) -> String {
    text(.addMember) {
      let columns = source.columns + destination.columns
      return """
        INSERT INTO main.\(join.quotedName)(\(columns.map(quoted).joined(separator: ", "))) \
        SELECT \(columns.map { _ in "?" }.joined(separator: ", ")) WHERE NOT EXISTS \
        (SELECT 1 FROM main.\(join.quotedName) WHERE \(Self.equal(columns)))
        """
    }
  }

  /// Binds o, the values that refer to the member.
  func remove(_ join: JoinTable, _ source: ForeignKey, _ destination: ForeignKey) -> String {
    text(.removeMember) {
      "DELETE FROM main.\(join.quotedName) WHERE \(Self.equal(source.columns + destination.columns))"
    }
  }

  // MARK: Ordered relationships

  /// Reads the members' ids and places (binds o); sets one place (binds it, o, and what tells the
  /// member). nil where the relationship has no order.
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
          WHERE \(Self.equal(key.columns))
          """
        },
        text(.setPlace) {
          """
          UPDATE \(member.source) SET \(position) = ? \
          WHERE \(Self.equal(key.columns)) AND \(member.key.lookupCondition(nil))
          """
        }
      )
    case .joinTable(let index, let source, let destination):
      let join = schema.joinTables[index]
      return (
        text(.places) {
          let id = member.key.idExpression(ofParts: destination.columns.map(quoted))
          return """
            SELECT \(id), \(position) FROM main.\(join.quotedName) \
            WHERE \(Self.equal(source.columns))
            """
        },
        text(.setPlace) {
          """
          UPDATE main.\(join.quotedName) SET \(position) = ? \
          WHERE \(Self.equal(source.columns + destination.columns))
          """
        }
      )
    }
  }
}
