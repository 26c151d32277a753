// Migrations of a file from one version of its model to another.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

@Suite("Migrations", .mayBlock)
struct MigrationTests {
  static let first = """
    {"entities":[
    {"name":"Author","attributes":[{"name":"name","type":"String","optional":false},
      {"name":"age","type":"Integer 16"},{"name":"note","type":"String"}],
     "relationships":[{"name":"books","destination":"Book","toMany":true,"inverse":"author"}]},
    {"name":"Book","attributes":[{"name":"title","type":"String"}],
     "relationships":[{"name":"author","destination":"Author","inverse":"books"}]}]}
    """

  /// Two authors; the first has two books, the second none.
  static func file() throws -> ServedFile {
    let file = try SampleModel.served(text: first)
    _ = try file.insert("Author", #"{"name":"Ann","age":40,"note":"n"}"#)
    _ = try file.insert("Author", #"{"name":"Bob"}"#)
    _ = try file.insert("Book", #"{"title":"One","author":1}"#)
    _ = try file.insert("Book", #"{"title":"Two","author":1}"#)
    return file
  }

  static func migrated(
    _ text: String, _ options: MigrationOptions = .init()
  ) throws -> ServedFile {
    let file = try Self.file()
    file.stop()
    _ = try file.migrate(to: ModelFile(parsing: Array(text.utf8)), options: options)
    return try ServedFile("", adopting: file)
  }

  static func refusal(_ text: String) throws -> String {
    let file = try Self.file()
    file.stop()
    do {
      _ = try file.migrate(to: ModelFile(parsing: Array(text.utf8)))
      return ""
    } catch {
      let again = try ServedFile("", adopting: file)
      #expect(try again.ask("/v1/objects/Author?as=count").json["total"]?.integer == 2)
      guard case .unusable(let reason) = error as? StoreError else { return "\(error)" }
      return reason
    }
  }

  private static func version(
    author: String =
      #"{"name":"name","type":"String","optional":false},{"name":"age","type":"Integer 16"},{"name":"note","type":"String"}"#,
    authorMore: String = "",
    books: String = #"{"name":"books","destination":"Book","toMany":true,"inverse":"author"}"#,
    bookAuthor: String = #"{"name":"author","destination":"Author","inverse":"books"}"#,
    more: String = ""
  ) -> String {
    """
    {"entities":[
    {"name":"Author","attributes":[\(author)],"relationships":[\(books)]\(authorMore)},
    {"name":"Book","attributes":[{"name":"title","type":"String"}],"relationships":[\(bookAuthor)]}\(more)]}
    """
  }

  @Test func anAddedAttributeGetsItsDefault() throws {
    let file = try Self.migrated(
      Self.version(
        author:
          #"{"name":"name","type":"String","optional":false},{"name":"age","type":"Integer 16"},{"name":"note","type":"String"},{"name":"rank","type":"Integer 32","optional":false,"default":7}"#
      ))
    #expect(
      try file.ask("/v1/objects/Author/1").text
        == #"{"id":1,"name":"Ann","age":40,"note":"n","rank":7}"#)
    #expect(try file.ask("/v1/objects/Author/1?select=books").text.contains("[1,2]"))
    // New ids follow the assigned ones.
    #expect(try file.insert("Author", #"{"name":"Cid"}"#) == 3)
  }

  @Test func renamingIdentifiersKeepValues() throws {
    let file = try Self.migrated(
      """
      {"entities":[
      {"name":"Writer","renamingIdentifier":"Author","attributes":[
        {"name":"fullName","type":"String","optional":false,"renamingIdentifier":"name"},
        {"name":"age","type":"Integer 64"},{"name":"note","type":"String"}],
       "relationships":[{"name":"works","destination":"Book","toMany":true,"inverse":"writer","renamingIdentifier":"books"}]},
      {"name":"Book","attributes":[{"name":"title","type":"String"}],
       "relationships":[{"name":"writer","destination":"Writer","inverse":"works","renamingIdentifier":"author"}]}]}
      """)
    #expect(
      try file.ask("/v1/objects/Writer/1?select=fullName,age,works").text
        == #"{"id":1,"fullName":"Ann","age":40,"works":[1,2]}"#)
    #expect(try file.ask("/v1/objects/Author").code == "unknown-entity")
  }

  @Test func lossesAreRefusedUnlessAllowed() throws {
    let without = Self.version(
      author:
        #"{"name":"name","type":"String","optional":false},{"name":"age","type":"Integer 16"}"#)
    #expect(try Self.refusal(without) == "would lose the values of Author.note (1)")
    var options = MigrationOptions()
    options.allowsLoss = true
    let file = try Self.migrated(without, options)
    #expect(try file.ask("/v1/objects/Author/1").json["note"] == nil)
  }

  @Test func impossibleMigrationsAreRefusedWithTheirReason() throws {
    #expect(
      try Self.refusal(
        Self.version(
          author:
            #"{"name":"name","type":"String","optional":false},{"name":"age","type":"Integer 16","optional":false},{"name":"note","type":"String"}"#
        )) == "Author.age is not optional and has no default, and 1 objects have no value")
    #expect(
      try Self.refusal(
        Self.version(
          author:
            #"{"name":"name","type":"Date","optional":false},{"name":"age","type":"Integer 16"},{"name":"note","type":"String"}"#
        )
      ).contains("Author.name was String: no value of it is known to be a Date; give"))
    #expect(
      try Self.refusal(
        Self.version(books: #"{"name":"books","destination":"Book","inverse":"author"}"#)
      ) == "Author.books is to-one, and 1 objects have several there")
    #expect(
      try Self.refusal(
        Self.version(
          author:
            #"{"name":"name","type":"String","optional":false},{"name":"age","type":"Integer 16"},{"name":"note","type":"String"},{"name":"name_age","type":"String"}"#,
          authorMore: #","uniquenessConstraints":[["name_age"],["name","age"]]"#)
      ) == "two tables or indexes would have the name `Author_name_age_unique`")
  }

  @Test func aToOneRelationshipBecomesToManyAndToOneAgain() throws {
    let many = Self.version(
      bookAuthor: #"{"name":"author","destination":"Author","toMany":true,"inverse":"books"}"#)
    let file = try Self.migrated(many)
    #expect(try file.ask("/v1/objects/Book/1?select=author").text.contains(#""author":[1]"#))
    #expect(try file.ask("/v1/objects/Author/1?select=books").text.contains("[1,2]"))
    file.stop()
    _ = try file.migrate(to: ModelFile(parsing: Array(Self.first.utf8)))
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Book/2").json["author"]?.integer == 1)
  }

  @Test func anUnorderedRelationshipBecomesOrderedAndBack() throws {
    let file = try Self.migrated(
      Self.version(
        books:
          #"{"name":"books","destination":"Book","toMany":true,"ordered":true,"inverse":"author"}"#)
    )
    _ = try file.ask("PATCH", "/v1/objects/Author/1", body: #"{"books":[2,1]}"#)
    #expect(try file.ask("/v1/objects/Author/1?select=books").text.contains("[2,1]"))
    file.stop()
    _ = try file.migrate(to: ModelFile(parsing: Array(Self.first.utf8)))
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Author/1?select=books").text.contains("[1,2]"))
  }

  /// A model of groups and their members, both lists in an order of their own. `Group` is the first entity
  /// in the file, so its relationship names the join table.
  private static func groups(
    group: String = #""name":"Group""#, people: String = #""name":"people""#,
    person: String = #""name":"Person""#, groups: String = #""name":"groups""#
  ) -> String {
    func name(_ declaration: String) -> String {
      String(declaration.split(separator: "\"")[2])
    }
    return """
      {"entities":[{\(group),"relationships":[{\(people),"destination":"\(name(person))",
        "toMany":true,"ordered":true,"inverse":"\(name(groups))"}]},
      {\(person),"relationships":[{\(groups),"destination":"\(name(group))",
        "toMany":true,"ordered":true,"inverse":"\(name(people))"}]}]}
      """
  }

  static let groupVersions: [(text: String, group: String, person: String)] = [
    (
      groups(group: #""name":"Team","renamingIdentifier":"Group""#),
      "Team/1?select=people", "Person/3?select=groups"
    ),
    (
      groups(person: #""name":"Member","renamingIdentifier":"Person""#),
      "Group/1?select=people", "Member/3?select=groups"
    ),
    (
      groups(people: #""name":"members","renamingIdentifier":"people""#),
      "Group/1?select=members", "Person/3?select=groups"
    ),
    (
      groups(groups: #""name":"teams","renamingIdentifier":"groups""#),
      "Group/1?select=people", "Person/3?select=teams"
    ),
  ]

  @Test("both orders of a many-to-many relationship survive renamings", arguments: 0..<4)
  func ordersOfBothSides(_ index: Int) throws {
    let file = try SampleModel.served(text: Self.groups())
    for _ in 1...3 { _ = try file.insert("Person", "{}") }
    #expect(try file.insert("Group", #"{"people":[3,1,2]}"#) == 1)
    #expect(try file.insert("Group", #"{"people":[2,3]}"#) == 2)
    _ = try file.ask("PATCH", "/v1/objects/Person/3", body: #"{"groups":[2,1]}"#)
    file.stop()
    let (text, group, person) = Self.groupVersions[index]
    _ = try file.migrate(to: ModelFile(parsing: Array(text.utf8)))
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/\(group)").text.contains("[3,1,2]"))
    #expect(try again.ask("/v1/objects/\(person)").text.contains("[2,1]"))
  }

  @Test func anOrderedRelationshipKeepsItsOrderAsItsInverseBecomesToOne() throws {
    let many = Self.version(
      books:
        #"{"name":"books","destination":"Book","toMany":true,"ordered":true,"inverse":"author"}"#,
      bookAuthor: #"{"name":"author","destination":"Author","toMany":true,"inverse":"books"}"#)
    let file = try SampleModel.served(text: many)
    for _ in 1...3 { _ = try file.insert("Book", "{}") }
    #expect(try file.insert("Author", #"{"name":"Ann","books":[3,1,2]}"#) == 1)
    file.stop()
    let one = Self.version(
      books:
        #"{"name":"books","destination":"Book","toMany":true,"ordered":true,"inverse":"author"}"#)
    _ = try file.migrate(to: ModelFile(parsing: Array(one.utf8)))
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Author/1?select=books").text.contains("[3,1,2]"))
  }

  @Test func anEntityMovesInTheHierarchy() throws {
    let file = try Self.migrated(
      """
      {"entities":[
      {"name":"Person","abstract":true,"attributes":[{"name":"name","type":"String","optional":false}]},
      {"name":"Author","parent":"Person","attributes":[
        {"name":"age","type":"Integer 16"},{"name":"note","type":"String"}],
       "relationships":[{"name":"books","destination":"Book","toMany":true,"inverse":"author"}]},
      {"name":"Editor","parent":"Person"},
      {"name":"Book","attributes":[{"name":"title","type":"String"}],
       "relationships":[{"name":"author","destination":"Author","inverse":"books"}]}]}
      """)
    #expect(
      try file.ask("/v1/objects/Person?select=name&sort=id").text.contains(
        #"[{"id":1,"entity":"Author","name":"Ann"},{"id":2,"entity":"Author","name":"Bob"}]"#))
    #expect(try file.ask("/v1/objects/Author/1?select=books,age").text.contains("[1,2]"))
    #expect(try file.insert("Editor", #"{"name":"Eve"}"#) == 3)
    #expect(try file.ask("DELETE", "/v1/objects/Person/1").status == 204)
    #expect(try file.ask("/v1/objects/Book/1").json["author"] == .null)
  }

  @Test func indexesConstraintsAndDerivedAttributesFollow() throws {
    let file = try Self.migrated(
      Self.version(
        author:
          #"{"name":"name","type":"String","optional":false},{"name":"age","type":"Integer 16"},{"name":"note","type":"String"},{"name":"bookCount","type":"Integer 32","derivation":"books.@count"},{"name":"upper","type":"String","derivation":"uppercase:(name)"}"#,
        authorMore:
          #","uniquenessConstraints":[["name"]],"fetchIndexes":[{"name":"byAge","elements":[{"property":"age"}]}]"#
      ))
    #expect(
      try file.ask("/v1/objects/Author/1?select=bookCount,upper").text
        == #"{"id":1,"bookCount":2,"upper":"ANN"}"#)
    #expect(try file.ask("POST", "/v1/objects/Author", body: #"{"name":"Ann"}"#).status == 409)
    #expect(
      try Self.refusal(
        Self.version(
          authorMore: #","uniquenessConstraints":[["age","note"]]"#
        )) == "")
  }

  /// Books come first in the file, and their attribute is derived from one of authors.
  private static func derived(pages: String) -> String {
    """
    {"entities":[
    {"name":"Book","attributes":[{"name":"title","type":"String"},{"name":"pages","type":"Integer 32"\(pages)},
      {"name":"authorPages","type":"Integer 64","derivation":"author.pages"}],
     "relationships":[{"name":"author","destination":"Author","inverse":"books"}]},
    {"name":"Author","attributes":[{"name":"name","type":"String","optional":false},
      {"name":"age","type":"Integer 16"},{"name":"note","type":"String"},
      {"name":"upper","type":"String","derivation":"uppercase:(note)"},
      {"name":"pages","type":"Integer 64","derivation":"books.@sum.pages"}],
     "relationships":[{"name":"books","destination":"Book","toMany":true,"inverse":"author"}]}]}
    """
  }

  @Test func derivedAttributesAreComputedInTheOrderOfTheirDerivationsAfterTheScripts() throws {
    var options = MigrationOptions()
    options.after = [
      MigrationScript(
        name: "own.sql",
        sql: """
          UPDATE "Book" SET pages = 10; UPDATE "Author" SET note = NULL WHERE id = 1;
          UPDATE "Author" SET note = 'b' WHERE id = 2
          """)
    ]
    let file = try Self.migrated(Self.derived(pages: ""), options)
    #expect(
      try [1, 2].map { try file.ask("/v1/objects/Author/\($0)?select=upper,pages").text }
        == [#"{"id":1,"upper":null,"pages":20}"#, #"{"id":2,"upper":"B","pages":0}"#])
    #expect(
      try [1, 2].map { try file.ask("/v1/objects/Book/\($0)?select=authorPages").text }
        == [#"{"id":1,"authorPages":20}"#, #"{"id":2,"authorPages":20}"#])
  }

  @Test func aDerivedAttributeFollowsADefaultThatOtherAttributesGet() throws {
    let file = try Self.migrated(Self.derived(pages: ""))
    #expect(try file.ask("/v1/objects/Author/1?select=pages").text == #"{"id":1,"pages":0}"#)
    file.stop()
    let text = Self.derived(pages: #","optional":false,"default":5"#)
    _ = try file.migrate(to: ModelFile(parsing: Array(text.utf8)))
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Author/1?select=pages").text == #"{"id":1,"pages":10}"#)
    #expect(
      try again.ask("/v1/objects/Book/1?select=authorPages").text == #"{"id":1,"authorPages":10}"#)
  }

  @Test func aModelWhoseDerivationsAreNewComputesTheirValuesWhenItIsServed() throws {
    let plain = Self.derived(pages: "").replacing(#","derivation":"author.pages""#, with: "")
      .replacing(#","derivation":"uppercase:(note)""#, with: "")
    let file = try SampleModel.served(text: plain)
    _ = try file.insert("Author", #"{"name":"Ann","note":"ö"}"#)
    _ = try file.insert("Book", #"{"title":"One","author":1,"pages":7}"#)
    try file.restart(model: ModelFile(parsing: Array(Self.derived(pages: "").utf8)))
    #expect(
      try file.ask("/v1/objects/Author/1?select=upper,pages").text
        == #"{"id":1,"upper":"Ö","pages":7}"#)
    #expect(
      try file.ask("/v1/objects/Book/1?select=authorPages").text == #"{"id":1,"authorPages":7}"#)
  }

  @Test func aDryRunPrintsThePlanAndChangesNothing() throws {
    let file = try Self.file()
    file.stop()
    var options = MigrationOptions()
    options.isDryRun = true
    let text = Self.version(
      author:
        #"{"name":"name","type":"String","optional":false},{"name":"age","type":"Integer 16"}"#
    )
    let plan = try file.migrate(to: ModelFile(parsing: Array(text.utf8)), options: options)
    #expect(plan.steps == ["rebuild the table Author from Author"])
    #expect(plan.losses == ["the values of Author.note (1)"])
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Author/1").json["note"]?.string == "n")
  }

  @Test func aFailedMigrationLeavesTheFileUnchanged() throws {
    let file = try Self.file()
    file.stop()
    var options = MigrationOptions()
    options.after = [MigrationScript(name: "own.sql", sql: #"UPDATE "Author" SET nothing = 1"#)]
    let text = Self.version(more: #",{"name":"Shelf"}"#)
    #expect(throws: StoreError.self) {
      _ = try file.migrate(to: ModelFile(parsing: Array(text.utf8)), options: options)
    }
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Shelf").status == 404)
    #expect(try again.ask("/v1/objects/Author/1?select=books").text.contains("[1,2]"))
  }

  @Test func scriptsRunInTheMigrationAndACopyIsMadeFirst() throws {
    let file = try Self.file()
    file.stop()
    var options = MigrationOptions()
    options.after = [MigrationScript(name: "own.sql", sql: #"UPDATE "Author" SET note = 'moved'"#)]
    options.backup = file.path + ".before"
    let text = Self.version(more: #",{"name":"Shelf"}"#)
    _ = try file.migrate(to: ModelFile(parsing: Array(text.utf8)), options: options)
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Author/1").json["note"]?.string == "moved")
    // PostgreSQL has pg_dump.
    let isCopied = FileManager.default.fileExists(atPath: file.path + ".before")
    #expect(isCopied != TestedStore.isPostgres)
  }

  @Test(.onlyForFiles) func anotherVersionIsNotServedBeforeTheFileIsMigrated() throws {
    let file = try Self.file()
    file.stop()
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(Self.version(more: #",{"name":"Shelf"}"#).utf8))
    #expect(throws: StoreError.self) { _ = try SQLiteStore(path: file.path, options: options) }
    // Rules that the tables do not express may change freely.
    options.model = try ModelFile(
      parsing: Array(
        Self.version(
          author:
            #"{"name":"name","type":"String","optional":false,"maximumLength":5},{"name":"age","type":"Integer 16"},{"name":"note","type":"String"}"#
        ).utf8))
    let store = try SQLiteStore(path: file.path, options: options)
    store.close()
    let again = try ServedFile("", adopting: file)
    #expect(
      try again.ask("POST", "/v1/objects/Author", body: #"{"name":"Melissa"}"#).status == 422)
  }

  @Test func manyRowsMigrateAndTheProgressReachesItsEnd() throws {
    let file = try SampleModel.served(text: Self.first)
    file.stop()
    try file.runExternally(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO "Book"(id, title) SELECT i, 'b' || i FROM n
      """)
    let text = Self.version(
      bookAuthor: #"{"name":"author","destination":"Author","toMany":true,"inverse":"books"}"#)
    var received = 0
    _ = try file.migrate(
      to: ModelFile(parsing: Array(text.utf8))
    ) { done, all, _ in received = max(received, done == all ? all : 0) }
    #expect(received > 0)
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Book?as=count").json["total"]?.integer == 20_000)
    #expect(try again.ask("/v1/objects/Book/19999").json["title"]?.string == "b19999")
  }

  @Test func valuesThatViolateANewConstraintAreRefusedInAdvance() throws {
    #expect(
      try Self.refusal(Self.version(authorMore: #","uniquenessConstraints":[["note"]]"#)) == "")
    let file = try Self.file()
    _ = try file.insert("Author", #"{"name":"Ann"}"#)
    file.stop()
    let text = Self.version(authorMore: #","uniquenessConstraints":[["name"]]"#)
    #expect(
      throws: StoreError.unusable(
        "Author.name has to be unique, and 1 values occur more than once")
    ) {
      _ = try file.migrate(to: ModelFile(parsing: Array(text.utf8)))
    }
  }
}
