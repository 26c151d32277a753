// `livefetch model`: models stay equal when they are converted between JSON and Core Data's files.

import Foundation
import TestSupport
import Testing

@Suite("livefetch model", .mayBlock)
struct ModelCommandTests {
  static let model = """
    {"entities":[
    {"name":"Shop","attributes":[{"name":"name","type":"String","optional":false,"maximumLength":9}],
     "relationships":[{"name":"items","destination":"Item","toMany":true,"ordered":true,"inverse":"shop","deleteRule":"Cascade"}]},
    {"name":"Item","attributes":[{"name":"price","type":"Decimal","default":1.5}],
     "relationships":[{"name":"shop","destination":"Shop","inverse":"items"}],"sort":["-price"]}]}
    """

  @Test func aModelIsExportedAsABundleAndImportedAgain() throws {
    let folder = try Folder()
    try folder.write(Self.model, to: "shop.json")
    let export = try folder.run("model", "export", "shop.json", "--output", "Shop.xcdatamodeld")
    #expect(export.status == 0, "\(export.errors)")
    #expect(
      export.errors
        == "livefetch: shop.json: entities/Item/sort: Core Data has no default order: left out\n")
    #expect(folder.has("Shop.xcdatamodeld/Shop.xcdatamodel/contents"))
    let read = try folder.run("model", "import", "Shop.xcdatamodeld")
    #expect(read.errors == "")
    try folder.write(read.output, to: "again.json")
    #expect(
      try folder.run("model", "diff", "shop.json", "again.json").output
        == "changed Item: default order\n")
    let twice = try folder.run("model", "export", "shop.json", "--output", "Shop.xcdatamodeld")
    #expect(twice.status == 65)
    // A bundle can be served directly.
    try folder.write("", to: "shop.sqlite")
    let (_, address) = try folder.serve("shop.sqlite", ["--model", "Shop.xcdatamodeld"])
    let saved = try folder.run(
      "save", address, input: #"[{"insert":"Shop","values":{"name":"much too long"}}]"#)
    #expect(saved.status != 0)
    #expect(saved.errors.contains("holds at most 9 characters"), "\(saved.errors)")
  }

  @Test func aBundleMayBeNamedWithSlashesAtItsEnd() throws {
    let folder = try Folder()
    try folder.write(Self.model, to: "shop.json")
    for name in ["Shop.xcdatamodeld", "Shop.xcdatamodel"] {
      let export = try folder.run("model", "export", "shop.json", "--output", "\(name)//")
      #expect(export.status == 0, "\(export.errors)")
      let read = try folder.run("model", "import", "\(name)/")
      #expect(read.status == 0, "\(read.errors)")
      let show = try folder.run("model", "show", "\(name)/")
      #expect(show.output.hasPrefix("Shop\n  name: String\n"), "\(show.errors)")
    }
    #expect(folder.has("Shop.xcdatamodeld/Shop.xcdatamodel/contents"))
    #expect(folder.has("Shop.xcdatamodel/contents"))
  }

  @Test func aModelIsReadFromAPipe() throws {
    let folder = try Folder()
    try folder.write(Self.model, to: "shop.json")
    let show = try folder.start(
      ["model", "show", "pipe"], output: "shown", limits: "mkfifo pipe; (cat shop.json > pipe &)")
    #expect(eventually(within: .seconds(120)) { !show.isRunning })
    #expect(try folder.read("shown").hasPrefix("Shop\n  name: String\n"))
  }

  @Test func anEmptyPathIsNoModel() throws {
    let show = try Folder().run("model", "show", "")
    #expect(show.status == 66)
    #expect(show.errors == "livefetch: : there is no such file\n")
  }

  @Test("A file that is no Core Data model, and an empty file, are refused with the reason")
  func noModel() throws {
    let folder = try Folder()
    try folder.write(Self.model, to: "shop.json")
    try folder.write("", to: "empty.json")
    let read = try folder.run("model", "import", "shop.json")
    #expect(read.status == 65)
    #expect(read.errors == "livefetch: shop.json: is not a Core Data model\n")
    let show = try folder.run("model", "show", "empty.json")
    #expect(show.status == 65)
    #expect(show.errors == "livefetch: empty.json: is empty\n")
  }

  @Test(
    "A model is exported to no file of another suffix",
    arguments: ["shop.xml", "shop", "shop.xcdatamodeld.json.gz"])
  func exportToAnotherSuffix(output: String) throws {
    let folder = try Folder()
    try folder.write(Self.model, to: "model.json")
    let run = try folder.run("model", "export", "model.json", "--output", output)
    #expect(run.status == 64)
    #expect(run.errors.contains("--output takes X.json, X.xcdatamodeld or X.xcdatamodel."))
    #expect(!folder.has(output))
  }

  @Test func errorsOfABundleNameTheFile() throws {
    let folder = try Folder()
    let manager = FileManager.default
    for path in ["Empty.xcdatamodeld", "Bad.xcdatamodel", "No.xcdatamodel"] {
      try manager.createDirectory(
        atPath: folder.file(path), withIntermediateDirectories: true)
    }
    try folder.write("<a/>", to: "Bad.xcdatamodel/contents")
    for (path, status, message) in [
      ("Empty.xcdatamodeld", 65, "Empty.xcdatamodeld: contains no .xcdatamodel"),
      ("Bad.xcdatamodel/", 65, "Bad.xcdatamodel/contents: the root is `a`, not `model`"),
      ("No.xcdatamodel", 66, "No.xcdatamodel/contents: there is no such file"),
    ] {
      let run = try folder.run("model", "show", path)
      #expect(run.status == Int32(status))
      #expect(run.errors == "livefetch: \(message)\n")
    }
  }

  @Test func aFileWithoutAModelHasTheModelOfItsTables() throws {
    let folder = try Folder()
    try folder.sql(
      smallFixture + """
        CREATE TABLE Pair(a INTEGER, b INTEGER, PRIMARY KEY(a, b));
        CREATE VIEW Large AS SELECT * FROM City WHERE population > 1000000;
        CREATE TABLE Tag(id INTEGER PRIMARY KEY, "odd name" TEXT, rank INTEGER DEFAULT 3);
        CREATE TABLE CityTag(city INTEGER REFERENCES City(id), tag INTEGER REFERENCES Tag(id),
          PRIMARY KEY(city, tag));
        """, on: "world.sqlite")
    let export = try folder.run("model", "export", "world.sqlite", "--output", "world.json")
    #expect(export.status == 0, "\(export.errors)")
    #expect(
      export.errors == """
        livefetch: world.sqlite: Pair: a key of several columns: left out
        livefetch: world.sqlite: Large: a view: left out
        livefetch: world.sqlite: Tag.odd name: the name is not one that a property can have: left out

        """)
    let show = try folder.run("model", "show", "world.sqlite")
    #expect(show.output.contains("→ Country?"))
    #expect(show.errors == export.errors)
    let text = try folder.read("world.json")
    for part in [
      #"{"name":"code","type":"String","optional":false}"#,
      #"{"name":"country","destination":"Country","inverse":"City"}"#,
      #"{"name":"City","destination":"City","toMany":true,"inverse":"country","deleteRule":"Deny"}"#,
      #"{"name":"Tag","destination":"Tag","toMany":true,"inverse":"City","deleteRule":"Deny"}"#,
      #"{"name":"rank","type":"Integer 64","default":3}"#, #""uniquenessConstraints": [["code"]]"#,
    ] {
      #expect(text.contains(part), "\(part) in \(text)")
    }
    // The model is the file's own, so its tables need no change.
    let check = try folder.run("model", "check", "world.json", "world.sqlite")
    #expect(check.output == "world.sqlite: its tables match the model\n", "\(check.errors)")
    let (_, address) = try folder.serve("world.sqlite", ["--model", "world.json"])
    let fetched = try folder.run(
      "fetch", address, "City", "--where", "country.code == 'NO'", "--sort", "name", "--format",
      "csv", "--select", "name,population")
    #expect(fetched.output.contains("Bergen,213585"), "\(fetched.output)\(fetched.errors)")
  }

  @Test func propertiesWhoseNamesDifferOnlyInCaseAreLeftOutOfAModel() throws {
    let folder = try Folder()
    try folder.sql(
      """
      CREATE TABLE Badge(id INTEGER PRIMARY KEY, emp INTEGER REFERENCES Person(id));
      CREATE TABLE Person(id INTEGER PRIMARY KEY, badge INTEGER REFERENCES Badge(id));
      """, on: "b.sqlite")
    let export = try folder.run("model", "export", "b.sqlite", "--output", "b.json")
    #expect(export.status == 0, "\(export.errors)")
    #expect(
      export.errors
        == "livefetch: b.sqlite: Person.Badge: another property has this name: left out\n")
    let check = try folder.run("model", "check", "b.json", "b.sqlite")
    #expect(check.output == "b.sqlite: its tables match the model\n", "\(check.errors)")
    let text = try folder.read("b.json")
    #expect(text.contains(#"{"name":"emp","destination":"Person"}"#), "\(text)")
  }

  @Test func anInvalidFileIsReportedWithLocationAndReason() throws {
    let folder = try Folder()
    try folder.write(Self.model, to: "shop.json")
    try folder.sql(
      "CREATE TABLE Shop(id INTEGER PRIMARY KEY, name INTEGER NOT NULL)", on: "shop.sqlite")
    let check = try folder.run("model", "check", "shop.json", "shop.sqlite")
    #expect(check.status == 65)
    #expect(check.errors.contains("shop.sqlite: Item: there is no table of this name"))
    let serve = try folder.run("serve", "shop.sqlite", "--model", "shop.json", "--port", "0")
    #expect(serve.status == 65)
    #expect(serve.errors.contains("shop.sqlite: "), "\(serve.errors)")
    #expect(serve.errors.contains("Item: there is no table of this name"))
    try folder.write(#"{"entities":[{"name":"A","parent":"B"}]}"#, to: "bad.json")
    let bad = try folder.run("model", "check", "bad.json")
    #expect(bad.errors == "livefetch: bad.json: entities/A/parent: there is no entity `B`\n")
  }

  @Test func fetchTemplatesAreChecked() throws {
    let folder = try Folder()
    let model = { (predicate: String) in
      """
      {"entities":[{"name":"City","attributes":[{"name":"name","type":"String"},
        {"name":"population","type":"Integer 64"}]}],
       "fetchTemplates":[{"name":"large","entity":"City","predicate":"\(predicate)"}]}
      """
    }
    try folder.write(model("population > $LEAST AND name != nil"), to: "good.json")
    let good = try folder.run("model", "check", "good.json")
    #expect(good.output == "good.json: it has no errors\n", "\(good.errors)")
    for (name, predicate, problem) in [
      ("path", "populaton > $LEAST", "populaton"), ("type", "population > 'x'", "population"),
      ("syntax", "population >", "expected"),
    ] {
      try folder.write(model(predicate), to: "\(name).json")
      let bad = try folder.run("model", "check", "\(name).json")
      #expect(bad.status == 65)
      let start = "livefetch: \(name).json: fetchTemplates/large"
      #expect(bad.errors.hasPrefix(start), "\(bad.errors)")
      #expect(bad.errors.contains(problem), "\(bad.errors)")
      let serve = try folder.run("serve", "new.sqlite", "--model", "\(name).json", "--port", "0")
      #expect(serve.status == 65)
    }
  }

  /// The entities of a model, and the name that two of its parts have in a store.
  @Test(
    "a model with names that are joined to the same name is refused before anything is created",
    arguments: [
      (
        #"""
        {"name":"E","attributes":[{"name":"a","type":"String"},{"name":"b","type":"String"},
          {"name":"a_b","type":"String"}],"uniquenessConstraints":[["a_b"],["a","b"]]}
        """#, "two tables or indexes would have the name `E_a_b_unique`"
      ),
      (
        #"""
        {"name":"City","relationships":[{"name":"country","destination":"Country"}]},
        {"name":"Country"},{"name":"City_country_link"}
        """#, "two tables or indexes would have the name `City_country_link`"
      ),
      (
        #"{"name":"City","relationships":[{"name":"city","destination":"City","toMany":true}]}"#,
        "two columns of the table `City_city` would have the name `city`"
      ),
      (
        #"""
        {"name":"A_b","attributes":[{"name":"c","type":"Date","derivation":"now()"}]},
        {"name":"A","attributes":[{"name":"b_c","type":"Date","derivation":"now()"}]}
        """#, "two triggers would have the name `model_derived_A_b_c_insert`"
      ),
    ])
  func joinedNames(entities: String, problem: String) throws {
    let folder = try Folder()
    try folder.write(#"{"entities":[\#(entities)]}"#, to: "bad.json")
    let reason = """
      names of the model are joined to the same name (rename an entity, a property or an index):
      \(problem)

      """
    let check = try folder.run("model", "check", "bad.json")
    #expect(check.status == 65)
    #expect(check.errors == "livefetch: bad.json: \(reason)")
    let serve = try folder.run("serve", "new.sqlite", "--model", "bad.json", "--port", "0")
    #expect(serve.status == 65)
    #expect(serve.errors == "livefetch: new.sqlite: \(reason)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
  }

  @Test func aModelThatCannotBeServedLeavesNoFile() throws {
    let folder = try Folder()
    try folder.write(
      """
      {"entities":[{"name":"A","attributes":[
        {"name":"z","type":"Transformable","transformer":"Zip"}]}]}
      """, to: "bad.json")
    let serve = try folder.run("serve", "new.sqlite", "--model", "bad.json", "--port", "0")
    #expect(serve.status == 65)
    #expect(serve.errors == "livefetch: new.sqlite: A.z: there is no transformer `Zip`\n")
    #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
  }
}
