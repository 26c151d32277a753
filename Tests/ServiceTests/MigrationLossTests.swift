// Migrations that would lose or convert values.

import FetchModel
import SQLiteStore
import TestSupport
import Testing

/// A migration that would lose or convert values lists them in its plan and is refused.
@Suite("Losses of migrations", .mayBlock)
struct MigrationLossTests {
  /// Returns the refusals and losses of migrating a file with `saved` objects; they are the same
  /// in a dry run and in a real run.
  private func objections(
    from first: String, to second: String, _ saved: [(entity: String, values: String)]
  ) throws -> [String] {
    let file = try SampleModel.served(text: first)
    for object in saved { _ = try file.insert(object.entity, object.values) }
    file.stop()
    let model = try ModelFile(parsing: Array(second.utf8))
    var options = MigrationOptions()
    options.isDryRun = true
    let plan = try file.migrate(to: model, options: options)
    let reported = plan.refusals + plan.losses.map { "would lose \($0)" }
    do {
      _ = try file.migrate(to: model)
    } catch {
      #expect(error == .unusable(reported.joined(separator: "\n")))
      return reported
    }
    #expect(reported == [])
    return reported
  }

  private static let motto = #"{"name":"motto","type":"String"}"#
  private static let friend = #"{"name":"friend","destination":"Human"}"#

  private static func humans(
    human: String = "", links: String = "", hero: String = "", heroLinks: String = ""
  ) -> String {
    """
    {"entities":[{"name":"Human","attributes":[\(human)],"relationships":[\(links)]},
    {"name":"Hero","parent":"Human","attributes":[\(hero)],"relationships":[\(heroLinks)]},
    {"name":"Villain","parent":"Human"}]}
    """
  }

  @Test("A property that moves to one subentity is lost for the others")
  func movedDown() throws {
    #expect(
      try objections(
        from: Self.humans(human: Self.motto), to: Self.humans(hero: Self.motto),
        [("Hero", #"{"motto":"h"}"#), ("Villain", #"{"motto":"v"}"#)])
        == ["would lose the values of Villain.motto (1)"])
    #expect(
      try objections(
        from: Self.humans(links: Self.friend), to: Self.humans(heroLinks: Self.friend),
        [("Hero", "{}"), ("Villain", #"{"friend":1}"#), ("Hero", #"{"friend":1}"#)])
        == ["would lose the links of Villain.friend (1)"])
    #expect(
      try objections(
        from: Self.humans(human: Self.motto), to: Self.humans(hero: Self.motto),
        [("Hero", #"{"motto":"h"}"#), ("Villain", "{}")]) == [])
  }

  @Test("An inherited property is lost with its ancestor if no entity declares it")
  func removedAncestor() throws {
    #expect(
      try objections(
        from: Self.humans(human: Self.motto),
        to: #"{"entities":[{"name":"Hero","attributes":[\#(Self.motto)]},{"name":"Villain"}]}"#,
        [("Hero", #"{"motto":"h"}"#), ("Villain", #"{"motto":"v"}"#)])
        == ["would lose the values of Villain.motto (1)"])
  }

  @Test("An entity with objects of its own cannot become abstract")
  func becomesAbstract() throws {
    let abstract = Self.humans().replacing(
      #""name":"Human","attr"#, with: #""name":"Human","abstract":true,"attr"#)
    #expect(
      try objections(from: Self.humans(), to: abstract, [("Human", "{}"), ("Hero", "{}")])
        == ["Human is abstract now, and 1 objects of it are there"])
    #expect(try objections(from: Self.humans(), to: abstract, [("Hero", "{}")]) == [])
  }

  @Test("A property of a subentity becomes required if each object has a value, or by its default")
  func requiredBelow() throws {
    let required = #"{"name":"motto","type":"String","optional":false}"#
    let objects: [(entity: String, values: String)] = [
      ("Hero", #"{"motto":"h"}"#), ("Hero", "{}"), ("Villain", "{}"),
    ]
    #expect(
      try objections(
        from: Self.humans(hero: Self.motto), to: Self.humans(hero: required), objects)
        == ["Hero.motto is not optional and has no default, and 1 objects have no value"])
    #expect(
      try objections(
        from: Self.humans(hero: Self.motto),
        to: Self.humans(hero: required.replacing("false", with: #"false,"default":"-""#)), objects)
        == [])
    #expect(
      try objections(
        from: Self.humans(heroLinks: Self.friend),
        to: Self.humans(
          heroLinks: Self.friend.replacing(#""Human""#, with: #""Human","optional":false"#)),
        [("Hero", "{}"), ("Hero", #"{"friend":1}"#)])
        == ["Hero.friend is not optional, and 1 objects have none"])
    let file = try SampleModel.served(text: Self.humans(hero: Self.motto))
    for object in objects { _ = try file.insert(object.entity, object.values) }
    let model = try ModelFile(parsing: Array(Self.humans(hero: required).utf8))
    #expect(
      throws: StoreError.unusable(
        """
        the tables do not match the model:
        Hero.motto is not optional, and 1 rows of `Human` have no value in `motto`
        """)
    ) { try file.restart(model: model) }
  }

  private static func link(to destination: String, more: String = "") -> String {
    """
    {"entities":[{"name":"A","relationships":[{"name":"to","destination":"\(destination)"\(more)}]},
    {"name":"B"},{"name":"C"},{"name":"P"},{"name":"Q","parent":"P"},{"name":"R","parent":"P"}]}
    """
  }

  @Test("A relationship always refers to the same objects as before")
  func otherDestination() throws {
    #expect(
      try objections(
        from: Self.link(to: "B"), to: Self.link(to: "C"),
        [("B", "{}"), ("C", "{}"), ("A", #"{"to":1}"#)])
        == ["A.to refers to 1 objects that are not of entity C in this version"])
    #expect(
      try objections(
        from: Self.link(to: "P"), to: Self.link(to: "Q"), [("R", "{}"), ("A", #"{"to":1}"#)])
        == ["A.to refers to 1 objects that are not of entity Q in this version"])
    #expect(
      try objections(
        from: Self.link(to: "P"), to: Self.link(to: "Q"), [("Q", "{}"), ("A", #"{"to":1}"#)])
        == [])
    #expect(
      try objections(
        from: Self.link(to: "B"), to: Self.link(to: "B", more: #","optional":false"#),
        [("B", "{}"), ("A", #"{"to":1}"#), ("A", "{}")])
        == ["A.to is not optional, and 1 objects have none"])
    #expect(
      try objections(
        from: Self.link(to: "P"),
        to: Self.link(to: "P").replacing(#",{"name":"R","parent":"P"}"#, with: ""),
        [("R", "{}"), ("A", #"{"to":1}"#)])
        == [
          "A.to refers to 1 objects that are not of entity P in this version",
          "would lose every object of R (1)",
        ])
  }

  @Test("A default that would violate a uniqueness constraint is refused in advance")
  func repeatedDefaults() throws {
    let plain = #"{"entities":[{"name":"A","attributes":[{"name":"x","type":"String"}]}]}"#
    let unique = #""uniquenessConstraints":[["y"]]"#
    #expect(
      try objections(
        from: plain,
        to: """
          {"entities":[{"name":"A","attributes":[{"name":"x","type":"String"},
          {"name":"y","type":"Integer 16","default":1}],\(unique)}]}
          """, [("A", "{}"), ("A", "{}")])
        == ["A.y has to be unique, and 1 values occur more than once"])
  }

  /// Both tables have another attribute.
  private static let widened = MigrationTests.first
    .replacing(#"{"name":"note""#, with: #"{"name":"rank","type":"Integer 32"},{"name":"note""#)
    .replacing(#"{"name":"title""#, with: #"{"name":"pages","type":"Integer 32"},{"name":"title""#)

  @Test(
    "Columns, indexes, triggers and checks that the model does not know are lost with a rebuilt table",
    .onlyForFiles)
  func unknownObjects() throws {
    let file = try MigrationTests.file()
    file.stop()
    try file.runExternally(
      """
      ALTER TABLE Author ADD COLUMN extra TEXT DEFAULT 'x' CHECK (extra <> '');
      CREATE INDEX mine ON author(name);
      CREATE TRIGGER own AFTER INSERT ON author BEGIN SELECT 1; END;
      """)
    let model = try ModelFile(parsing: Array(Self.widened.utf8))
    #expect(
      throws: StoreError.unusable(
        """
        would lose the column Author.extra, which is not in the stored model (2)
        would lose the index mine
        would lose the trigger own
        would lose the CHECK constraints of Author
        """)
    ) {
      _ = try file.migrate(to: model)
    }
    var options = MigrationOptions()
    options.before = [
      MigrationScript(
        name: "before.sql",
        sql: "DROP INDEX mine; DROP TRIGGER own; ALTER TABLE Author DROP COLUMN extra")
    ]
    options.after = [
      MigrationScript(name: "after.sql", sql: "CREATE INDEX mine ON Author(name)")
    ]
    #expect(try file.migrate(to: model, options: options).losses == [])
    let again = try ServedFile("", adopting: file)
    #expect(
      try again.ask("/v1/objects/Author/1").text
        == #"{"id":1,"name":"Ann","age":40,"rank":null,"note":"n"}"#)
  }

  @Test(
    "A CHECK constraint is found, and columns whose names contain the word are none", .onlyForFiles,
    arguments: [
      ("CHECK (extra <> '')", ["would lose the CHECK constraints of Author"]),
      ("DEFAULT 'check (1)'", []),
    ])
  func checksBesideNames(_ column: String, _ expected: [String]) throws {
    func checked(_ text: String) -> String {
      text.replacing(#"{"name":"age""#, with: #"{"name":"checkedAt","type":"Date"},{"name":"age""#)
    }
    let file = try SampleModel.served(text: checked(MigrationTests.first))
    file.stop()
    try file.runExternally("ALTER TABLE Author ADD COLUMN extra TEXT \(column)")
    var options = MigrationOptions()
    options.isDryRun = true
    let model = try ModelFile(parsing: Array(checked(Self.widened).utf8))
    let losses = try file.migrate(to: model, options: options).losses
    #expect(
      losses.map { "would lose \($0)" }.filter { $0.contains("CHECK") } == expected, "\(losses)")
  }

  @Test("A table that is not rebuilt keeps what the model does not know", .onlyForFiles)
  func unknownObjectsOfKeptTables() throws {
    let file = try MigrationTests.file()
    file.stop()
    try file.runExternally(
      "ALTER TABLE Author ADD COLUMN extra TEXT; CREATE INDEX mine ON Author(name)")
    let text = MigrationTests.first.replacing(
      #"{"name":"title""#, with: #"{"name":"pages","type":"Integer 32"},{"name":"title""#)
    #expect(try file.migrate(to: ModelFile(parsing: Array(text.utf8))).losses == [])
    // This fails unless both are there.
    try file.runExternally("DROP INDEX mine; ALTER TABLE Author DROP COLUMN extra")
  }

  @Test("A table with other names than the model's is not rebuilt", .onlyForFiles)
  func otherNames() throws {
    let file = try SampleModel.served(
      text: MigrationTests.first,
      sql: """
        CREATE TABLE author(nr INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER, note TEXT);
        CREATE TABLE book(
          id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER REFERENCES author ON DELETE SET NULL);
        INSERT INTO author VALUES (1, 'Ann', 40, 'n');
        """)
    file.stop()
    let model = try ModelFile(parsing: Array(Self.widened.utf8))
    #expect(
      throws: StoreError.unusable(
        """
        `author` cannot be rebuilt: it has other names for `id`
        `book` cannot be rebuilt: it has other names for `author`
        """)
    ) {
      _ = try file.migrate(to: model)
    }
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Author/1?select=name").text == #"{"id":1,"name":"Ann"}"#)
  }
}
