// The owners and privileges of tables → the statements that give them to the tables with which a
// migration replaces these.

import SQLComposer

/// The owner of a table, and what other roles may do with it.
struct TablePrivileges {
  private struct Grant: Hashable {
    /// For example `SELECT`.
    let privilege: String
    /// The role as SQL, or PUBLIC.
    let role: String
    let isGrantable: Bool

    func statement(_ table: String) -> String {
      "GRANT \(privilege) ON \(quoted(table)) TO \(role)"
        + (isGrantable ? " WITH GRANT OPTION" : "")
    }
  }

  /// The role as SQL.
  private let owner: String
  private var grants: Set<Grant> = []

  private init(owner: String) { self.owner = owner }

  /// Reads the privileges of tables, by their names.
  static func read(
    of tables: [String], on connection: PostgresConnection
  ) throws(PostgresError) -> [String: TablePrivileges] {
    let rows = try connection.query(
      """
      SELECT c.relname::text, c.relowner::regrole::text, a.privilege_type, \(role), a.is_grantable
      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        LEFT JOIN LATERAL aclexplode(c.relacl) AS a ON a.grantee <> c.relowner
      WHERE n.nspname = $1::text AND c.relname = ANY ($2::text[]) AND c.relkind IN ('r', 'p')
      """, [.text(Catalog.schema), arrayText(tables)]
    ).rows()
    var found: [String: TablePrivileges] = [:]
    for row in rows {
      guard let table = row[0].string, let owner = row[1].string else { continue }
      var privileges = found[table] ?? TablePrivileges(owner: owner)
      if let privilege = row[2].string, let role = row[3].string {
        privileges.grants.insert(
          Grant(privilege: privilege, role: role, isGrantable: row[4] == true))
      }
      found[table] = privileges
    }
    return found
  }

  /// SQL for the role that an entry `a` of an access control list names.
  static let role = "CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END"

  /// Returns the statements that give `table` the owner and the privileges that the tables which it
  /// replaces have in common, and the losses: those that only some of them have.
  ///
  /// - Parameters:
  ///   - all: the privileges of all old tables, by name.
  ///   - origins: the names of the tables that `table` replaces.
  static func moves(
    _ all: [String: TablePrivileges], from origins: [String], to table: String
  ) -> (statements: [String], losses: [String]) {
    let known = origins.compactMap { name in all[name].map { (name: name, privileges: $0) } }
    guard let first = known.first else { return ([], []) }
    let common = known.reduce(first.privileges.grants) { $0.intersection($1.privileges.grants) }
    var losses: [String] = []
    for (name, privileges) in known {
      losses += privileges.grants.subtracting(common).map {
        "the privilege \($0.privilege) of \($0.role) on the table \(name)"
      }.sorted()
    }
    var statements: [String] = []
    if let other = known.first(where: { $0.privileges.owner != first.privileges.owner }) {
      losses.append("the owner of the table \(first.name), which is not that of \(other.name)")
    } else {
      statements.append("ALTER TABLE \(quoted(table)) OWNER TO \(first.privileges.owner)")
    }
    statements.append(revocation(of: table))
    statements += common.map { $0.statement(table) }.sorted()
    return (statements, losses)
  }

  /// Returns the statement that removes what ALTER DEFAULT PRIVILEGES has given to a new table.
  private static func revocation(of table: String) -> String {
    "DO \(literal(revocationBlock(where: "c.oid = \(literal(quoted(table)))::regclass")))"
  }

  /// The block of PL/pgSQL that removes what ALTER DEFAULT PRIVILEGES has given to new tables and sequences.
  ///
  /// - Parameter condition: SQL over `c`, a row of `pg_class`.
  static func revocationBlock(where condition: String) -> String {
    """
    DECLARE found record; BEGIN
      FOR found IN SELECT DISTINCT c.oid::regclass AS name, c.relkind, \(role) AS role
        FROM pg_class AS c, aclexplode(c.relacl) AS a
        WHERE \(condition) AND a.grantee <> c.relowner
      LOOP
        EXECUTE format('REVOKE ALL ON %s %s FROM %s',
          CASE found.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, found.name, found.role);
      END LOOP;
    END
    """
  }
}
