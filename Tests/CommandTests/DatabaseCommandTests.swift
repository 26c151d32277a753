// The commands `fetch`, `export`, `save`, `status`, `check`, `serve` and `migrate` on a PostgreSQL
// database.

import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite("Commands on a PostgreSQL database", .mayBlock)
struct DatabaseCommandTests {
  private struct Database {
    let target: String
    let folder: Folder
    let connection: PostgresConnection

    init() throws {
      target = try PostgresServer.shared().newDatabase()
      folder = try Folder()
      connection = try PostgresConnection(target)
      try connection.execute(
        """
        CREATE TABLE country(id int PRIMARY KEY, name text);
        CREATE TABLE city(id int PRIMARY KEY, name text NOT NULL, population int,
          country_id int REFERENCES country);
        INSERT INTO country VALUES (1, 'Peru'), (2, 'Norway');
        INSERT INTO city VALUES (1, 'Lima', 7737002, 1), (2, 'Oslo', 580000, 2),
          (3, 'Bergen', NULL, 2);
        """)
    }

    func run(_ command: String, _ more: String..., input: String = "") throws -> Outcome {
      try folder.write(input, to: "input")
      return try folder.run([command, target] + more)
    }
  }

  @Test("`fetch` and `export` read it without adding anything")
  func reading() throws {
    let database = try Database()
    let count = try database.run("fetch", "city", "--where", "country.name == 'Norway'", "--count")
    #expect(count.status == 0, "\(count.errors)")
    #expect(count.output == "2\n")
    let export = try database.run(
      "export", "city", "--select", "name,population,country.name", "--sort", "name")
    #expect(
      export.output == """
        id,name,population,country.name
        3,Bergen,,Norway
        1,Lima,7737002,Peru
        2,Oslo,580000,Norway

        """)
    let schemas = try database.connection.query(
      "SELECT count(*) FROM pg_namespace WHERE nspname = 'livefetch'")
    #expect(try schemas.integer(0, 0) == 0)
  }

  @Test("A database that cannot be reached ends `serve` with 74: a manager tries again")
  func unreachable() throws {
    let run = try Folder().run("serve", "postgres://nobody@127.0.0.1:1/shop", "--port", "0")
    #expect(run.status == 74)
    #expect(run.errors.contains("cannot connect: "), "\(run.errors)")
  }

  @Test("`save` makes a save, and a refused one changes nothing and has status 65")
  func saving() throws {
    let database = try Database()
    try database.folder.write(
      #"[{"update":"city","id":3,"values":{"population":213585}}]"#, to: "changes.json")
    let saved = try database.run("save", "changes.json")
    #expect(saved.status == 0, "\(saved.errors)")
    #expect(saved.output.hasPrefix("0 inserted, 1 updated, 0 deleted\n  token "))
    try database.folder.write(
      #"[{"delete":"city","id":1},{"update":"city","id":3,"values":{"name":null}}]"#,
      to: "changes.json")
    #expect(try database.run("save", "changes.json").status == 65)
    let rows = try database.connection.query(
      "SELECT count(*), count(name), sum(population) FROM city")
    #expect(try rows.rows() == [[3, 3, 8_530_587]])
  }

  @Test("`status` shows the tables and the history, `check` what does not fit")
  func maintaining() throws {
    let database = try Database()
    let before = try database.run("status")
    #expect(before.status == 0, "\(before.errors)")
    #expect(before.output.contains("history         none\n"))
    #expect(before.output.contains("estimated rows  city 0, country 0\n"))
    let store = try PostgresStore(database.target)
    let token = store.newestToken
    store.close()
    let after = try database.run("status", "--json")
    #expect(after.output.contains(#""epoch":"\#(token.epoch)""#))
    #expect(try database.run("check").status == 0)
    try database.connection.execute(
      """
      ALTER TABLE city ADD CONSTRAINT big CHECK (population > 5) NOT VALID;
      ALTER TABLE city DISABLE TRIGGER ALL;
      """)
    let check = try database.run("check")
    #expect(check.status == 65)
    #expect(
      check.output == """
        constraint: big of city is not validated
        history: it does not fit the tables; the next start of a server begins a new one

        """)
  }

  @Test(
    "commands for files say so, and do not show the password",
    arguments: [
      ["backup", "copy.sqlite"], ["restore", "copy.sqlite"],
      ["alter", "CREATE TABLE t(id)"],
    ])
  func refusing(arguments: [String]) throws {
    let folder = try Folder()
    let result = try folder.run(
      [arguments[0], "postgres://ann:secret@localhost/none"] + arguments.dropFirst())
    #expect(result.status == 64)
    #expect(result.errors.hasPrefix("livefetch: postgres://localhost/none: "), "\(result.errors)")
    #expect(!result.errors.contains("secret"))
    #expect(result.errors.contains("pg_dump") == (arguments[0] != "alter"), "\(result.errors)")
  }

  @Test("`access check` lists the rules of a database, and reports one that does not match")
  func accessRules() throws {
    let database = try Database()
    let rule = #"{"city":{"access":{"read":"population > 0"}}}"#
    let rules = #"{"access":{"default":true},"entities":\#(rule)}"#
    try database.folder.write(rules, to: "rules.json")
    let fits = try database.folder.run(
      "access", "check", database.target, "--access", "rules.json")
    #expect(fits.status == 0, "\(fits.errors)")
    #expect(
      fits.output == """
        city read: population > 0
        city insert: true
        city update: true
        city delete: true
        country read: true
        country insert: true
        country update: true
        country delete: true

        """)
    try database.folder.write(
      rules.replacingOccurrences(of: "population", with: "people"), to: "rules.json")
    let wrong = try database.folder.run(
      "access", "check", database.target, "--access", "rules.json")
    #expect(wrong.status == 65)
    #expect(wrong.errors.contains("people"), "\(wrong.errors)")
    let none = try database.folder.run("access", "check", database.target)
    #expect(
      none.output.hasSuffix(": no access rules; every caller may read and change everything\n"))
  }

  @Test("The `model` commands read the model that a database contains")
  func storedModel() throws {
    let database = try Database()
    let without = try database.folder.run("model", "show", database.target)
    #expect(without.status == 65)
    #expect(without.errors.contains("the database contains no model"), "\(without.errors)")
    let target = try PostgresServer.shared().newDatabase()
    let model = #"{"entities":[{"name":"Note","attributes":[{"name":"text","type":"String"}]}]}"#
    try database.folder.write(model, to: "1.json")
    let (server, _) = try database.folder.serve(target, ["--model", "1.json"])
    let shown = try database.folder.run("model", "show", target)
    #expect(shown.output == "Note\n  text: String?\n", "\(shown.errors)")
    let exported = try database.folder.run("model", "export", target)
    try database.folder.write(exported.output, to: "2.json")
    #expect(try database.folder.run("model", "diff", target, "2.json").output == "")
    try database.folder.write(
      model.replacingOccurrences(of: #""name":"text","#, with: #""name":"title","#), to: "3.json")
    let difference = try database.folder.run("model", "diff", target, "3.json")
    #expect(difference.output.contains("title"), "\(difference.output) \(difference.errors)")
    stop(server)
  }

  @Test("`serve --model` creates the tables, and `migrate` changes them with their objects")
  func models() throws {
    let target = try PostgresServer.shared().newDatabase()
    let folder = try Folder()
    try folder.write(MigrateCommandTests.first, to: "one.json")
    try folder.write(MigrateCommandTests.second, to: "two.json")
    try folder.serveOnce(target, ["--model", "one.json"])
    let connection = try PostgresConnection(target)
    try connection.execute(
      """
      INSERT INTO "City"(id) VALUES (1), (2);
      INSERT INTO "Person"(id, name, age, city) VALUES (1, 'Ann', 40, 1), (2, 'Bob', NULL, 1);
      """)
    let early = try folder.run(["serve", target, "--model", "two.json", "--port", "0"])
    #expect(early.status == 65)
    #expect(early.errors.contains("another version of the model"), "\(early.errors)")
    let copied = try folder.run(
      ["migrate", target, "--model", "two.json", "--backup", "copy.sql"])
    #expect(copied.status == 64)
    #expect(copied.errors.contains("pg_dump"), "\(copied.errors)")
    let plan = try folder.run(["migrate", target, "--model", "two.json", "--dry-run"])
    #expect(
      plan.output == """
        rebuild the table Thing from Person
        rebuild the table City from City
        remove the table Person
        compute City.peopleCount

        """, "\(plan.errors)")
    let migrated = try folder.run(["migrate", target, "--model", "two.json"])
    #expect(migrated.status == 0, "\(migrated.errors)")
    let people = try folder.run(
      ["export", target, "Person", "--select", "fullName,age,rank,city", "--sort", "id"])
    #expect(people.output == "id,fullName,age,rank,city\n1,Ann,40,7,1\n2,Bob,,7,1\n")
    let cities = try folder.run(
      ["export", target, "City", "--select", "peopleCount,people", "--sort", "id"])
    #expect(cities.output == "id,peopleCount,people\n1,2,\"[1,2]\"\n2,0,[]\n")
  }

  @Test("`migrate` names what is dropped with a rebuilt table, and needs --allow-loss")
  func unknownObjects() throws {
    let target = try PostgresServer.shared().newDatabase()
    let folder = try Folder()
    try folder.write(MigrateCommandTests.first, to: "one.json")
    try folder.write(
      MigrateCommandTests.first.replacing(
        #"{"name":"age""#, with: #"{"name":"rank","type":"Integer 32"},{"name":"age""#),
      to: "two.json")
    try folder.serveOnce(target, ["--model", "one.json"])
    let connection = try PostgresConnection(target)
    try connection.execute(
      """
      ALTER TABLE "Person" ADD COLUMN extra text DEFAULT 'x' CHECK (extra <> '');
      INSERT INTO "Person"(id, name) VALUES (1, 'Ann');
      CREATE INDEX mine ON "Person"(name);
      CREATE VIEW shown AS SELECT extra FROM "Person";
      CREATE VIEW again AS SELECT extra FROM shown;
      CREATE TABLE visit(person bigint REFERENCES "Person");
      CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER own AFTER UPDATE ON "Person" FOR EACH ROW EXECUTE FUNCTION own();
      CREATE INDEX cities ON "City"(id);
      """)
    let plan = try folder.run(["migrate", target, "--model", "two.json", "--dry-run"])
    #expect(
      plan.output == """
        rebuild the table Person from Person
        loses the column Person.extra, which is not in the stored model (1)
        loses the constraint Person_extra_check on table "Person"
        loses the constraint visit_person_fkey on table visit
        loses the index mine
        loses the trigger own on table "Person"
        loses the view again
        loses the view shown
        refused: the losses need --allow-loss

        """, "\(plan.errors)")
    #expect(plan.status == 65)
    let refused = try folder.run(["migrate", target, "--model", "two.json"])
    #expect(refused.status == 65)
    #expect(refused.errors.contains("would lose the view shown"), "\(refused.errors)")
    #expect(try connection.query("SELECT count(*) FROM again").integer(0, 0) == 1)
    let allowed = try folder.run(["migrate", target, "--model", "two.json", "--allow-loss"])
    #expect(allowed.status == 0, "\(allowed.errors)")
    let people = try folder.run(["export", target, "Person", "--select", "name,rank,age"])
    #expect(people.output == "id,name,rank,age\n1,Ann,,\n")
  }

  @Test("`serve --model` drops no trigger that LiveFetch did not make, and needs its own names")
  func otherTriggers() throws {
    let target = try PostgresServer.shared().newDatabase()
    let folder = try Folder()
    try folder.write(
      """
      {"entities":[{"name":"City","attributes":[{"name":"name","type":"String"},
        {"name":"changed","type":"Date","derivation":"now()"}]}]}
      """, to: "city.json")
    let connection = try PostgresConnection(target)
    try connection.execute(
      """
      CREATE TABLE "City"(id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
        name text COLLATE "C", changed timestamptz);
      CREATE TABLE car(id int PRIMARY KEY);
      CREATE FUNCTION model_links_ai() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RETURN NULL; END';
      CREATE TRIGGER model_links_ai AFTER INSERT ON car FOR EACH ROW
        EXECUTE FUNCTION model_links_ai();
      """)
    func serve() throws {
      try folder.serveOnce(target, ["--model", "city.json"])
    }
    func triggers() throws -> [String] {
      try connection.query(
        "SELECT tgname::text FROM pg_trigger WHERE tgname ^@ 'model_' ORDER BY tgname"
      ).rows().map { $0[0].string ?? "" }
    }
    try serve()
    let made = [
      "model_derived_City_changed_insert", "model_derived_City_changed_update", "model_links_ai",
    ]
    #expect(try triggers() == made)
    // Without the stored model, those of the model are known by their form.
    #expect(try folder.run("detach", target).status == 0)
    try serve()
    #expect(try triggers() == made)
    #expect(try folder.run("detach", target).status == 0)
    try connection.execute(
      """
      CREATE OR REPLACE FUNCTION "model_derived_City_changed_insert"() RETURNS trigger
        LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'
      """)
    let refused = try folder.run("serve", target, "--model", "city.json", "--port", "0")
    #expect(refused.status == 65)
    #expect(
      refused.errors.contains(
        """
        the model needs the names of triggers that LiveFetch did not make: \
        `model_derived_City_changed_insert` (drop them, or create them under other names)
        """), "\(refused.errors)")
    #expect(try triggers() == made)
  }
}
