// Access rules in the program: `--access`, `livefetch access check` and `livefetch fetch --as`.

import Foundation
import TestSupport
import Testing

@Suite("Access rules on the command line", .mayBlock)
struct AccessRulesCommandTests {
  private func folder(rules: String) throws -> Folder {
    let folder = try Folder()
    try folder.sql(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, owner INTEGER, pay INTEGER);
      INSERT INTO note VALUES (1,'a',7,10),(2,'b',8,20);
      """, on: "n.sqlite")
    try folder.write(rules, to: "rules.json")
    return folder
  }

  private static let rules = """
    {"entities":{"note":{"access":{"read":"owner == $user.id"},
      "attributes":{"pay":{"hidden":"NOT 'hr' IN $user.roles"}}}}}
    """

  @Test("The rules of each entity are listed, and those that are missing as what they mean")
  func check() throws {
    let folder = try folder(rules: Self.rules)
    let run = try folder.run("access", "check", "n.sqlite", "--access", "rules.json")
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      run.output == """
        note read: owner == $user.id
        note insert: false
        note update: false
        note delete: false
        note.pay hidden: NOT 'hr' IN $user.roles

        """)
  }

  @Test("A store without rules says so")
  func none() throws {
    let folder = try folder(rules: "{}")
    let run = try folder.run("access", "check", "n.sqlite")
    #expect(run.status == 0)
    #expect(
      run.output == "n.sqlite: no access rules; every caller may read and change everything\n")
  }

  @Test("Rules that do not fit the store are named, by `check` and by `serve`")
  func misfit() throws {
    let folder = try folder(rules: #"{"entities":{"note":{"access":{"read":"ownr == 1"}}}}"#)
    for command in [["access", "check", "n.sqlite"], ["serve", "n.sqlite", "--port", "0"]] {
      let run = try folder.run(command + ["--access", "rules.json"])
      #expect(run.status == 65)
      #expect(run.errors.contains("rules.json: entities/note/access/read: at 0: "), "\(run.errors)")
    }
    let missing = try folder.run("access", "check", "n.sqlite", "--access", "none.json")
    #expect(missing.status == 66)
  }

  @Test(
    "A file without a rule is refused: it would allow everything",
    arguments: ["{}", #"{"entities":{}}"#])
  func empty(_ rules: String) throws {
    let folder = try folder(rules: rules)
    for command in [["access", "check", "n.sqlite"], ["serve", "n.sqlite", "--port", "0"]] {
      let run = try folder.run(command + ["--access", "rules.json"])
      #expect(run.status == 65)
      #expect(run.errors.contains("rules.json: entities: contains no rule"), "\(run.errors)")
    }
  }

  @Test("An attribute of a view whose ids are hashes of rows cannot be hidden")
  func viewWithoutID() throws {
    let folder = try folder(
      rules: """
        {"entities":{"pays":{"attributes":{"pay":{"hidden":true}}},
          "numbered":{"attributes":{"pay":{"hidden":true}}}}}
        """)
    try folder.sql(
      """
      CREATE VIEW pays AS SELECT title, pay FROM note;
      CREATE VIEW numbered AS SELECT id, title, pay FROM note;
      """, on: "n.sqlite")
    let run = try folder.run("access", "check", "n.sqlite", "--access", "rules.json")
    #expect(run.status == 65)
    #expect(
      run.errors == """
        livefetch: rules.json: entities/pays/attributes/pay/hidden: cannot be hidden, because the ids of \
        `pays` are hashes of whole rows; give the view a column `id`, or leave the column out of it

        """)
  }

  @Test("A part of a composite key cannot be hidden: ids contain it")
  func partOfKey() throws {
    let folder = try folder(
      rules: #"{"entities":{"line":{"attributes":{"nr":{"hidden":true},"text":{"hidden":true}}}}}"#)
    try folder.sql(
      """
      CREATE TABLE line("order" INTEGER NOT NULL, nr INTEGER NOT NULL, text TEXT,
        PRIMARY KEY("order", nr));
      """, on: "n.sqlite")
    for command in [["access", "check", "n.sqlite"], ["serve", "n.sqlite", "--port", "0"]] {
      let run = try folder.run(command + ["--access", "rules.json"])
      #expect(run.status == 65)
      #expect(
        run.errors.hasSuffix(
          """
          livefetch: rules.json: entities/line/attributes/nr/hidden: cannot be hidden, because it is part \
          of the key: the ids of `line` contain it

          """), "\(run.errors)")
    }
  }

  @Test("`--anonymous` without access rules, or without a way to authenticate, is refused")
  func anonymous() throws {
    let folder = try folder(rules: Self.rules)
    let serve = ["serve", "n.sqlite", "--port", "0", "--anonymous"]
    let open = try folder.run(serve, environment: ["LIVEFETCH_TOKEN": "s3cret"])
    #expect(open.status == 64)
    #expect(open.errors.contains("--anonymous needs access rules"), "\(open.errors)")
    let run = try folder.run(serve + ["--access", "rules.json"])
    #expect(run.status == 64)
    #expect(run.errors.contains("--anonymous needs a way to authenticate"), "\(run.errors)")
  }

  @Test("`fetch --as` shows what the user sees")
  func fetch() throws {
    let folder = try folder(rules: Self.rules)
    let target = ["fetch", "n.sqlite", "note", "--format", "csv", "--access", "rules.json"]
    #expect(try folder.run(target + ["--as", "7"]).output == "id,title,owner\n1,a,7\n")
    #expect(
      try folder.run(target + ["--as", "8", "--role", "hr"]).output
        == "id,title,owner,pay\n2,b,8,20\n")
    #expect(try folder.run("fetch", "n.sqlite", "note", "--role", "hr").status == 64)
    #expect(try folder.run("fetch", "n.sqlite", "note", "--as", "7").status == 64)
  }

  @Test("`fetch --as --claims` shows what the user with these claims sees")
  func claims() throws {
    let folder = try folder(
      rules: """
        {"entities":{"note":{"access":{"read":"owner IN $user.claims.owners"},
          "attributes":{"pay":{"hidden":"$user.name != 'Ann'"}}}}}
        """)
    let target = ["fetch", "n.sqlite", "note", "--format", "csv", "--access", "rules.json"]
    #expect(
      try folder.run(target + ["--as", "1", "--claims", #"{"owners":[8,9],"name":"Ann"}"#]).output
        == "id,title,owner,pay\n2,b,8,20\n")
    #expect(
      try folder.run(target + ["--as", "1", "--claims", #"{"owners":[7]}"#]).output
        == "id,title,owner\n1,a,7\n")
    let list = try folder.run(target + ["--as", "1", "--claims", "[7]"])
    #expect(list.status == 64)
    #expect(list.errors.contains("--claims takes a JSON object"), "\(list.errors)")
    #expect(try folder.run(target + ["--claims", "{}"]).status == 64)
  }
}
