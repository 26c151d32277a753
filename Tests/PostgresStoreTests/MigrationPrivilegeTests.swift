// Owners and privileges of the tables that a migration of a model rebuilds.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: privileges and migrations", .mayBlock)
struct MigrationPrivilegeTests {
  private struct Database {
    let target: String
    let connection: PostgresConnection
    /// A role of this test.
    let role = "reader_" + UUID().uuidString.prefix(8).lowercased()

    init(_ model: String) throws {
      target = try PostgresServer.shared().newDatabase()
      var options = PostgresStoreOptions()
      options.model = try ModelFile(parsing: Array(model.utf8))
      try PostgresStore(target, options: options).close()
      connection = try PostgresConnection(target)
      try connection.execute("CREATE ROLE \(role)")
    }

    func migrate(
      to model: String, _ options: MigrationOptions = .init()
    ) throws -> MigrationPlan {
      try PostgresStore.migrate(
        target, to: try ModelFile(parsing: Array(model.utf8)), options: options)
    }

    /// The owner of a table, and the entries of its access control list.
    func privileges(_ table: String) throws -> [String] {
      let rows = try connection.query(
        """
        SELECT relowner::regrole::text FROM pg_class WHERE relname = $1
        UNION ALL
        SELECT * FROM (SELECT unnest(relacl)::text FROM pg_class WHERE relname = $1 ORDER BY 1) AS a
        """, [.text(table)])
      return (0..<rows.rowCount).map { rows.text($0, 0) }
    }

    func isAllowed(_ privilege: String, _ table: String) throws -> Bool {
      try connection.query("SELECT has_table_privilege('\(role)', '\"\(table)\"', '\(privilege)')")
        .bool(0, 0)
    }
  }

  private static let people = """
    {"entities":[{"name":"Person","attributes":[{"name":"name","type":"String"}],
      "relationships":[{"name":"tags","destination":"Tag","toMany":true,"inverse":"people"}]},
    {"name":"Tag","relationships":[
      {"name":"people","destination":"Person","toMany":true,"inverse":"tags"}]}]}
    """

  @Test("keys, constraints and sequences have the names of a new table after a migration")
  func names() throws {
    let newer = Self.people.replacing(
      #"{"name":"name","type":"String"}"#,
      with: #"{"name":"name","type":"String"},{"name":"age","type":"Integer 16"}"#)
    let database = try Database(Self.people)
    #expect(
      try database.migrate(to: newer).steps.contains("rebuild the table Person from Person"))
    func names(_ connection: PostgresConnection) throws -> [String] {
      let rows = try connection.query(
        """
        SELECT relname::text COLLATE "C" AS name FROM pg_class
        WHERE relnamespace = 'public'::regnamespace
        UNION ALL
        SELECT conname::text FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        ORDER BY name
        """)
      return (0..<rows.rowCount).map { rows.text($0, 0) }
    }
    let found = try names(database.connection)
    let fresh = try names(Database(newer).connection)
    #expect(found == fresh)
    #expect(found.contains("Person_pkey") && found.contains("Person_id_seq"))
  }

  @Test("the names of constraints are shortened as PostgreSQL shortens them")
  func shortenedNames() throws {
    let long = String(repeating: "ä", count: 31)
    try withDatabase(#"CREATE TABLE "\#(long)"(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)"#) {
      connection, _ in
      let rows = try connection.query(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace")
      let names = (0..<rows.rowCount).map { rows.text($0, 0) }
      #expect(names.contains(ObjectName.of(table: long, column: "", label: "pkey")))
      #expect(names.contains(ObjectName.of(table: long, column: "id", label: "seq")))
    }
    #expect(ObjectName.of(table: "Person", column: "id", label: "seq") == "Person_id_seq")
    #expect(ObjectName.of(table: "Person", column: "", label: "pkey") == "Person_pkey")
  }

  @Test("a rebuilt table keeps its owner and its privileges, and gets no other ones")
  func rebuilt() throws {
    let database = try Database(Self.people)
    let (role, owner) = (database.role, "owner_of_" + database.role)
    try database.connection.execute(
      """
      CREATE ROLE \(owner); GRANT CREATE ON SCHEMA public TO \(owner);
      INSERT INTO "Person"(name) VALUES ('a');
      ALTER TABLE "Person" OWNER TO \(owner);
      GRANT SELECT, INSERT ON "Person" TO \(role);
      GRANT UPDATE ON "Person" TO \(role) WITH GRANT OPTION;
      GRANT TRUNCATE ON "Person" TO PUBLIC;
      GRANT SELECT ON "Tag" TO \(role);
      ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT DELETE ON TABLES TO \(role);
      """)
    let before = try database.privileges("Person")
    #expect(before.count == 4 && before.first == owner)
    let older = Self.people.replacing(
      #"{"name":"name","type":"String"}"#,
      with: #"{"name":"name","type":"String"},{"name":"age","type":"Integer 16"}"#)
    let plan = try database.migrate(to: older)
    #expect(plan.losses == [])
    #expect(plan.steps.contains("rebuild the table Person from Person"))
    #expect(try database.privileges("Person") == before)
    let allowed = try ["SELECT", "INSERT", "UPDATE", "DELETE"].filter {
      try database.isAllowed($0, "Person")
    }
    #expect(allowed == ["SELECT", "INSERT", "UPDATE"])
    #expect(try database.isAllowed("SELECT", "Tag"))
    let renamed = older.replacing(
      #"{"name":"Person","#, with: #"{"name":"Human","renamingIdentifier":"Person","#
    ).replacing(#""destination":"Person""#, with: #""destination":"Human""#)
    #expect(try database.migrate(to: renamed).losses == [])
    #expect(try database.privileges("Human") == before)
    let names = try database.connection.query(#"SELECT string_agg(name, ',') FROM "Human""#)
    #expect(names.text(0, 0) == "a")
  }

  @Test("a rebuilt table without rows gives 1 as its first id, and one with a row the next id")
  func firstID() throws {
    let database = try Database(Self.people)
    try database.connection.execute(#"INSERT INTO "Tag" DEFAULT VALUES"#)
    let name = #"{"name":"name","type":"String"}"#
    let older = Self.people.replacing(name, with: name + #",{"name":"age","type":"Integer 16"}"#)
      .replacing(#"{"name":"Tag","#, with: #"{"name":"Tag","attributes":[\#(name)],"#)
    let plan = try database.migrate(to: older)
    #expect(plan.steps.contains("rebuild the table Person from Person"))
    #expect(plan.steps.contains("rebuild the table Tag from Tag"))
    for (table, id) in [("Person", 1), ("Tag", 2)] {
      let row = try database.connection.query(
        "INSERT INTO \"\(table)\" DEFAULT VALUES RETURNING id::text")
      #expect(row.text(0, 0) == "\(id)", "\(table)")
    }
  }

  @Test("privileges that one of several tables has, and those of columns, are lost")
  func losses() throws {
    let attributes = [#"[{"name":"x","type":"String"}]"#, #"[{"name":"y","type":"String"}]"#]
    let database = try Database(
      #"""
      {"entities":[{"name":"A","attributes":\#(attributes[0])},
      {"name":"B","attributes":\#(attributes[1])}]}
      """#)
    try database.connection.execute(
      """
      GRANT SELECT ON "A" TO \(database.role); GRANT SELECT, INSERT ON "B" TO \(database.role);
      GRANT UPDATE (x) ON "A" TO \(database.role);
      """)
    let joined = #"""
      {"entities":[{"name":"P","abstract":true},
      {"name":"A","parent":"P","attributes":\#(attributes[0])},
      {"name":"B","parent":"P","attributes":\#(attributes[1])}]}
      """#
    let losses = [
      "the privileges of \(database.role) on the column A.x",
      "the privilege INSERT of \(database.role) on the table B",
    ]
    #expect(
      throws: StoreError.unusable(losses.map { "would lose \($0)" }.joined(separator: "\n"))
    ) {
      try database.migrate(to: joined)
    }
    var options = MigrationOptions()
    options.allowsLoss = true
    #expect(try database.migrate(to: joined, options).losses == losses)
    #expect(try database.isAllowed("SELECT", "P"))
    #expect(try !database.isAllowed("INSERT", "P"))
    #expect(try database.privileges("P").first == "tester")
  }
}
