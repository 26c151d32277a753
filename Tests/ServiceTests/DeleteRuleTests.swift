// Delete rules over chains, cycles and several tables, through the server and by another program.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

/// Delete rules in cycles and in chains within one table, and Deny inside a cascade; through the server
/// and by another program.
@Suite("Delete rules apply to whole chains and cycles", .mayBlock)
struct DeleteRuleTests {
  /// A list of nodes, in which deletion cascades to the next node.
  static let chain = """
    {"entities":[{"name":"Node","attributes":[{"name":"name","type":"String"}],"relationships":[
    {"name":"next","destination":"Node","inverse":"previous","deleteRule":"Cascade"},
    {"name":"previous","destination":"Node","inverse":"next"}]}]}
    """

  /// a → b → c → a, each to the one object of the next.
  static let triangle = """
    {"entities":[
    {"name":"A","relationships":[
      {"name":"b","destination":"B","inverse":"as","deleteRule":"Cascade"},
      {"name":"cs","destination":"C","toMany":true,"inverse":"a"}]},
    {"name":"B","relationships":[
      {"name":"c","destination":"C","inverse":"bs","deleteRule":"Cascade"},
      {"name":"as","destination":"A","toMany":true,"inverse":"b"}]},
    {"name":"C","relationships":[
      {"name":"a","destination":"A","inverse":"cs","deleteRule":"Cascade"},
      {"name":"bs","destination":"B","toMany":true,"inverse":"c"}]}]}
    """

  private static func count(_ file: ServedFile, _ entity: String) throws -> Int64? {
    try file.ask("/v1/objects/\(entity)?as=count").json["total"]?.integer
  }

  private static func nodes(_ count: Int) throws -> ServedFile {
    let file = try SampleModel.served(text: chain)
    let inserts = (1...count).map { index in
      let next = index < count ? #""next":{"temporaryID":"n\#(index + 1)"}"# : ""
      return #"{"insert":"Node","temporaryID":"n\#(index)","values":{\#(next)}}"#
    }
    let answer = try file.ask(
      "POST", "/v1/save", body: #"{"changes":[\#(inserts.joined(separator: ","))]}"#)
    #expect(answer.status == 200, "\(answer.text)")
    return file
  }

  @Test("two subentities have relationships of the same name, each with its own rule")
  func relationshipsOfTheSameName() throws {
    let file = try SampleModel.served(
      text: """
        {"entities":[{"name":"Animal","attributes":[{"name":"name","type":"String"}]},
        {"name":"Cat","parent":"Animal","relationships":[
          {"name":"toys","destination":"Toy","toMany":true,"inverse":"cat","deleteRule":"Cascade"},
          {"name":"friends","destination":"Animal","toMany":true}]},
        {"name":"Dog","parent":"Animal","relationships":[
          {"name":"toys","destination":"Toy","toMany":true,"inverse":"dog"},
          {"name":"friends","destination":"Animal","toMany":true}]},
        {"name":"Toy","relationships":[{"name":"cat","destination":"Cat","inverse":"toys"},
          {"name":"dog","destination":"Dog","inverse":"toys"}]}]}
        """)
    #expect(try file.insert("Cat", "{}") == 1)
    #expect(try file.insert("Dog", #"{"friends":[1]}"#) == 2)
    #expect(try file.insert("Toy", #"{"cat":1}"#) == 1)
    #expect(try file.insert("Toy", #"{"dog":2}"#) == 2)
    try file.runExternally(#"DELETE FROM "Animal""#)
    try file.settle()
    let left = try file.ask("/v1/objects/Toy?as=ids&where=cat==nil+AND+dog==nil")
    #expect(left.text.contains(#""items":[2]}"#), "\(left.text)")
    #expect(try Self.count(file, "Toy") == 1)
  }

  @Test func aChainWithinOneTableIsDeletedToItsEnd() throws {
    let alone = #"{"name":"next","destination":"Node","deleteRule":"Cascade"}"#
    let file = try SampleModel.served(
      text: #"{"entities":[{"name":"Node","relationships":[\#(alone)]}]}"#)
    try file.runExternally(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      INSERT INTO "Node"(id, next) SELECT i, nullif(i + 1, 2501) FROM n
      """)
    let token = try file.ask("/v1/objects/Node?as=ids").json["token"]?.string ?? ""
    #expect(try file.ask("DELETE", "/v1/objects/Node/3").status == 204)
    #expect(try Self.count(file, "Node") == 2)
    let diff = try file.ask("/v1/objects/Node?as=ids&since=\(token)")
    #expect(diff.json["items"]?["deleted"]?.elements?.count == 2_498)
  }

  /// Cascades along the inverse use foreign keys, which SQLite follows to a depth of 1,000.
  @Test(.onlyForFiles) func aTooDeepCascadeIsRefusedAndDeletesNothing() throws {
    let file = try Self.nodes(1_200)
    let head = try file.ask("/v1/objects/Node?as=ids&where=previous==nil").json
    let id = try #require(head["sections"]?.elements?.first?["items"]?.elements?.first?.integer)
    let answer = try file.ask("DELETE", "/v1/objects/Node/\(id)")
    #expect(answer.status == 422)
    #expect(answer.text.contains("more than 1,000 objects deep"), "\(answer.text)")
    #expect(try Self.count(file, "Node") == 1_200)
  }

  @Test func cyclesAreDeletedCompletely() throws {
    let file = try Self.nodes(5)
    let ids = try file.ask("/v1/objects/Node?as=ids&where=next==nil").json
    let last = try #require(ids["sections"]?.elements?.first?["items"]?.elements?.first?.integer)
    let first = try file.ask("/v1/objects/Node?as=ids&where=previous==nil").json
    let head = try #require(first["sections"]?.elements?.first?["items"]?.elements?.first?.integer)
    _ = try file.ask("PATCH", "/v1/objects/Node/\(last)", body: #"{"next":\#(head)}"#)
    #expect(try file.ask("DELETE", "/v1/objects/Node/\(head)").status == 204)
    #expect(try Self.count(file, "Node") == 0)
  }

  @Test func anObjectThatRefersToItselfIsDeleted() throws {
    let file = try SampleModel.served(text: Self.chain)
    let id = try file.insert("Node", "{}")
    _ = try file.ask("PATCH", "/v1/objects/Node/\(id)", body: #"{"next":\#(id)}"#)
    #expect(try file.ask("DELETE", "/v1/objects/Node/\(id)").status == 204)
    #expect(try Self.count(file, "Node") == 0)
  }

  /// Two cycles of a → b → c, and one further object of each entity.
  private static func triangles() throws -> ServedFile {
    let file = try SampleModel.served(text: triangle)
    try file.runExternally(
      """
      INSERT INTO "A"(id) VALUES (1), (2), (3);
      INSERT INTO "C"(id, a) VALUES (1, 2), (2, NULL), (3, 3);
      INSERT INTO "B"(id, c) VALUES (1, 1), (2, 2), (3, 3);
      UPDATE "A" SET b = id;
      """)
    return file
  }

  @Test func aCycleThroughThreeTablesIsDeletedCompletely() throws {
    let file = try Self.triangles()
    #expect(try file.ask("DELETE", "/v1/objects/A/1").status == 204)
    for entity in ["A", "B", "C"] { #expect(try Self.count(file, entity) == 1) }
    #expect(try file.ask("DELETE", "/v1/objects/B/3").status == 204)
    for entity in ["A", "B", "C"] { #expect(try Self.count(file, entity) == 0) }
  }

  @Test func aBatchDeleteCascadesCompletely() throws {
    let file = try Self.triangles()
    let answer = try file.ask("DELETE", "/v1/objects/C?where=SELF==1")
    #expect(answer.json["deleted"]?.integer == 1)
    #expect(try ["A", "B", "C"].map { try Self.count(file, $0) } == [2, 2, 1])
  }

  @Test(.onlyForFiles, .enabled(if: Sqlite3.isInstalled))
  func anotherProgramsDeleteCascadesCompletely() throws {
    let file = try Self.triangles()
    let token = try file.ask("/v1/objects/C?as=ids").json["token"]?.string ?? ""
    let output = try Sqlite3.run(
      "DELETE FROM A WHERE id = 1;", file.path)
    #expect(output == "")
    let diff = try file.ask("/v1/objects/C?as=ids&since=\(token)&wait=10")
    #expect(
      diff.text.contains(#""deleted":[{"from":[0,0],"id":1},{"from":[0,1],"id":2}]"#),
      "\(diff.text)")
    for entity in ["A", "B", "C"] { #expect(try Self.count(file, entity) == 1) }
  }

  /// The `sqlite3` shell disables foreign keys by default.
  @Test(.onlyForFiles) func rulesHoldForAProgramThatHasForeignKeysOff() throws {
    let model = """
      {"entities":[
      {"name":"A","relationships":[
        {"name":"bs","destination":"B","toMany":true,"inverse":"a","deleteRule":"Cascade"},
        {"name":"cs","destination":"C","toMany":true,"inverse":"a"},
        {"name":"ds","destination":"D","toMany":true,"inverse":"as"}]},
      {"name":"B","relationships":[{"name":"a","destination":"A","inverse":"bs"}]},
      {"name":"C","relationships":[{"name":"a","destination":"A","inverse":"cs"}]},
      {"name":"D","attributes":[{"name":"count","type":"Integer 32","derivation":"as.@count"}],
       "relationships":[{"name":"as","destination":"A","toMany":true,"inverse":"ds"}]}]}
      """
    let file = try SampleModel.served(text: model)
    let a = try file.insert("A", "{}")
    _ = try file.insert("B", #"{"a":\#(a)}"#)
    let c = try file.insert("C", #"{"a":\#(a)}"#)
    let d = try file.insert("D", #"{"as":[\#(a)]}"#)
    #expect(try file.ask("/v1/objects/D/\(d)").json["count"]?.integer == 1)
    let token = try file.ask("/v1/objects/C").json["token"]?.string ?? ""
    try file.runExternally("DELETE FROM A")
    let diff = try file.ask("/v1/objects/C?since=\(token)&wait=10")
    #expect(diff.text.contains(#""id":\#(c),"changed":{"a":null}"#), "\(diff.text)")
    #expect(try Self.count(file, "B") == 0)
    #expect(try file.ask("/v1/objects/D/\(d)").json["count"]?.integer == 0)
    let links = "SELECT count(*) FROM A_ds"
    #expect(try SQLiteShell.integer(links, path: file.path) == 0)
  }

  @Test("A Deny that a cascade meets refuses the delete, not another change of the save")
  func denyBehindToMany() throws {
    let file = try SampleModel.served(
      text: """
        {"entities":[
        {"name":"Place","relationships":[{"name":"teams","destination":"Team","toMany":true,
          "inverse":"hq","deleteRule":"Cascade"}]},
        {"name":"Team","relationships":[{"name":"hq","destination":"Place","inverse":"teams"},
          {"name":"members","destination":"Hero","toMany":true,"inverse":"team",
            "deleteRule":"Deny"}]},
        {"name":"Hero","attributes":[{"name":"power","type":"Integer 32"}],
          "relationships":[{"name":"team","destination":"Team","inverse":"members"}]}]}
        """)
    for (entity, values) in [
      ("Place", "{}"), ("Team", #"{"hq":1}"#), ("Hero", #"{"team":1}"#),
    ] { _ = try file.insert(entity, values) }
    let alone = try file.ask("DELETE", "/v1/objects/Place/1")
    #expect(alone.status == 409 && alone.text.contains("still-referenced"), "\(alone.text)")
    let both = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"update":"Hero","id":1,"values":{"power":3}},{"delete":"Place","id":1}]}
        """)
    #expect(both.status == 409)
    #expect(both.text.contains(#""errors":[{"change":1,"#), "\(both.text)")
    #expect(both.text.contains(#""code":"still-referenced""#), "\(both.text)")
    let batch = try file.ask("DELETE", "/v1/objects/Place?where=TRUEPREDICATE")
    #expect(batch.status == 409 && batch.text.contains("still-referenced"), "\(batch.text)")
    #expect(try Self.count(file, "Team") == 1)
  }

  @Test(
    "an object is deleted if the same save deletes or moves those that need it, in any order",
    arguments: [
      (#"{"delete":"Hero","id":1}"#, 200), (#"{"update":"Hero","id":1,"values":{"team":2}}"#, 200),
      (#"{"update":"Team","id":2,"values":{"members":[1]}}"#, 200),
      (#"{"update":"Team","id":2,"values":{}}"#, 409),
    ])
  func requiredInverse(other: String, status: Int) throws {
    let delete = #"{"delete":"Team","id":1}"#
    for changes in [[delete, other], [other, delete]] {
      let file = try SampleModel.served(text: Self.required)
      for (entity, values) in [("Team", "{}"), ("Team", "{}"), ("Hero", #"{"team":1}"#)] {
        _ = try file.insert(entity, values)
      }
      let answer = try file.ask(
        "POST", "/v1/save", body: #"{"changes":[\#(changes.joined(separator: ","))]}"#)
      #expect(answer.status == status, "\(changes): \(answer.text)")
      #expect(try Self.count(file, "Team") == (status == 200 ? 1 : 2), "\(changes)")
    }
  }

  @Test(
    "an object whose delete waits for a later change does not exist for the changes in between",
    arguments: [
      (#"{"update":"Team","id":1,"values":{"code":"x"}}"#, 409, "no such Team"),
      (
        #"{"update":"Place","id":1,"values":{"team":1}}"#, 409,
        "refers to a Team that does not exist"
      ),
      (
        #"{"update":"Place","id":1,"values":{"teams":[1]}}"#, 409,
        "refers to a Team that does not exist"
      ),
      (#"{"insert":"Place","values":{"team":2}}"#, 200, #""deleted":2"#),
    ])
  func changesOfADeletedObject(change: String, status: Int, text: String) throws {
    for deletes in [
      [#"{"delete":"Team","id":1}"#, #"{"delete":"Hero","id":1}"#],
      [#"{"delete":"Team","where":"SELF==1"}"#, #"{"delete":"Hero","where":"TRUEPREDICATE"}"#],
    ] {
      let file = try Self.teams()
      let answer = try Self.save(file, [deletes[0], change, deletes[1]])
      #expect(answer.status == status, "\(deletes): \(answer.text)")
      #expect(answer.text.contains(text), "\(deletes): \(answer.text)")
      #expect(try Self.count(file, "Team") == (status == 200 ? 1 : 2), "\(deletes)")
    }
  }

  @Test(
    "an object is deleted as soon as no other needs it, so that a later change may use its values")
  func valuesOfADeletedObject() throws {
    let file = try Self.teams()
    let answer = try Self.save(
      file,
      [
        #"{"delete":"Team","id":1}"#, #"{"delete":"Hero","id":1}"#,
        #"{"insert":"Team","temporaryID":"new","values":{"code":"a"}}"#,
        #"{"update":"Place","id":1,"values":{"team":{"temporaryID":"new"}}}"#,
      ])
    #expect(answer.status == 200, "\(answer.text)")
    #expect(answer.json["deleted"]?.integer == 2, "\(answer.text)")
    #expect(try file.ask("/v1/objects/Place/1").json["team"]?.integer == 3)
    #expect(try file.ask("/v1/objects/Team/3").json["code"]?.string == "a")
  }

  @Test("the preconditions of a delete are those of its turn, also if it waits for a later change")
  func preconditionsOfALaterDelete() throws {
    for isTag in [true, false] {
      let file = try Self.teams()
      let team = try file.ask("/v1/objects/Team/1")
      #expect(team.json["size"]?.integer == 1)
      let tag = (team["ETag"] ?? "").replacing("\"", with: "\\\"")
      let precondition = isTag ? #""ifMatch":"\#(tag)""# : #""base":{"size":1}"#
      // The delete of the hero changes the size of the team.
      let answer = try Self.save(
        file, [#"{"delete":"Team","id":1,\#(precondition)}"#, #"{"delete":"Hero","id":1}"#])
      #expect(answer.status == 200, "\(precondition): \(answer.text)")
      #expect(try Self.count(file, "Team") == 1)
    }
  }

  private static func save(_ file: ServedFile, _ changes: [String]) throws -> Answer {
    try file.ask("POST", "/v1/save", body: #"{"changes":[\#(changes.joined(separator: ","))]}"#)
  }

  /// Team 1, which hero 1 needs, team 2, and a place.
  private static func teams() throws -> ServedFile {
    let file = try SampleModel.served(
      text: """
        {"entities":[{"name":"Team","attributes":[{"name":"code","type":"String","optional":true},
          {"name":"size","type":"Integer 64","derivation":"members.@count"}],
          "uniquenessConstraints":[["code"]],"relationships":[
          {"name":"members","destination":"Hero","toMany":true,"inverse":"team"},
          {"name":"place","destination":"Place","inverse":"teams"},
          {"name":"places","destination":"Place","toMany":true,"inverse":"team"}]},
        {"name":"Hero","relationships":[
          {"name":"team","destination":"Team","inverse":"members","optional":false}]},
        {"name":"Place","relationships":[{"name":"team","destination":"Team","inverse":"places"},
          {"name":"teams","destination":"Team","toMany":true,"inverse":"place"}]}]}
        """)
    for (entity, values) in [
      ("Team", #"{"code":"a"}"#), ("Team", "{}"), ("Hero", #"{"team":1}"#), ("Place", "{}"),
    ] { _ = try file.insert(entity, values) }
    return file
  }

  /// A hero needs its team.
  static let required = """
    {"entities":[{"name":"Team","relationships":[
      {"name":"members","destination":"Hero","toMany":true,"inverse":"team"}]},
    {"name":"Hero","relationships":[
      {"name":"team","destination":"Team","inverse":"members","optional":false}]}]}
    """

  @Test("a batch deletes objects that other objects need if the same save deletes these too")
  func batchesOfRequiredInverses() throws {
    let file = try SampleModel.served(text: Self.required)
    for (entity, values) in [("Team", "{}"), ("Team", "{}"), ("Hero", #"{"team":1}"#)] {
      _ = try file.insert(entity, values)
    }
    let alone = try file.ask("DELETE", "/v1/objects/Team?where=TRUEPREDICATE")
    #expect(alone.status == 409 && alone.text.contains("still-referenced"), "\(alone.text)")
    #expect(try Self.count(file, "Team") == 2)
    let both = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"delete":"Team","where":"TRUEPREDICATE"},
        {"delete":"Hero","where":"TRUEPREDICATE"}]}
        """)
    #expect(both.status == 200, "\(both.text)")
    #expect(both.json["deleted"]?.integer == 3, "\(both.text)")
  }

  @Test("a batch deletes objects that Deny protects until others of the batch are deleted")
  func batchOfDeniedObjects() throws {
    let file = try SampleModel.served(
      text: """
        {"entities":[{"name":"Node","relationships":[
        {"name":"parent","destination":"Node","inverse":"children","deleteRule":"Deny"},
        {"name":"children","destination":"Node","toMany":true,"inverse":"parent"}]}]}
        """)
    for values in ["{}", #"{"parent":1}"#, #"{"parent":2}"#, "{}"] {
      _ = try file.insert("Node", values)
    }
    _ = try file.ask("PATCH", "/v1/objects/Node/1", body: #"{"parent":4}"#)
    let some = try file.ask("DELETE", "/v1/objects/Node?where=SELF!=4")
    #expect(some.status == 409 && some.text.contains("still-referenced"), "\(some.text)")
    #expect(try Self.count(file, "Node") == 4)
    let all = try file.ask("DELETE", "/v1/objects/Node?where=TRUEPREDICATE")
    #expect(all.status == 200, "\(all.text)")
    #expect(all.json["deleted"]?.integer == 4, "\(all.text)")
  }

  /// Deleting a cascades to its b, and Deny protects b while it has a c.
  static let denied = """
    {"entities":[
    {"name":"A","relationships":[
      {"name":"bs","destination":"B","toMany":true,"inverse":"a","deleteRule":"Cascade"}]},
    {"name":"B","relationships":[
      {"name":"a","destination":"A","inverse":"bs"},
      {"name":"c","destination":"C","inverse":"bs","deleteRule":"Deny"}]},
    {"name":"C","relationships":[{"name":"bs","destination":"B","toMany":true,"inverse":"c"}]}]}
    """

  @Test func denyInTheMiddleOfACascadeRefusesAll() throws {
    let file = try SampleModel.served(text: Self.denied)
    let c = try file.insert("C", "{}")
    let a = try file.insert("A", "{}")
    _ = try file.insert("B", #"{"a":\#(a)}"#)
    let kept = try file.insert("B", #"{"a":\#(a),"c":\#(c)}"#)
    _ = try file.insert("B", #"{"a":\#(a)}"#)
    let refused = try file.ask("DELETE", "/v1/objects/A/\(a)")
    #expect(refused.status == 409)
    #expect(refused.text.contains("still-referenced"), "\(refused.text)")
    #expect(try Self.count(file, "A") == 1)
    #expect(try Self.count(file, "B") == 3)
    // If the denying objects are deleted in the same save, in any order, the save succeeds.
    let both = try file.ask(
      "POST", "/v1/save",
      body: #"{"changes":[{"delete":"A","id":\#(a)},{"delete":"C","id":\#(c)}]}"#)
    #expect(both.status == 200, "\(both.text)")
    #expect(both.json["deleted"]?.integer == 2)
    #expect(try Self.count(file, "B") == 0)
    #expect(try file.ask("/v1/objects/B/\(kept)").status == 404)
  }

  @Test(
    "`detach` removes the triggers of delete rules and their table, not those of other programs",
    .onlyForFiles)
  func detach() throws {
    let file = try SampleModel.served(text: Self.links)
    try file.runExternally(
      #"CREATE TRIGGER model_mine AFTER INSERT ON "P" BEGIN SELECT 1; END"#)
    file.stop()
    let own =
      "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'trigger') "
      + "AND (name LIKE 'livefetch%' OR name LIKE 'model%')"
    #expect(try SQLiteShell.integer("\(own) AND name = 'livefetch_cascade'", path: file.path) == 1)
    #expect(try SQLiteStore.detach(path: file.path))
    #expect(try SQLiteShell.integer("\(own) AND name = 'model_mine'", path: file.path) == 1)
    #expect(try SQLiteShell.integer(own, path: file.path) == 1)
  }

  @Test func toManyCascadesDeleteAWholeTree() throws {
    let tree = """
      {"entities":[{"name":"Node","relationships":[
      {"name":"children","destination":"Node","toMany":true,"inverse":"parent","deleteRule":"Cascade"},
      {"name":"parent","destination":"Node","inverse":"children"}]}]}
      """
    let file = try SampleModel.served(text: tree)
    let root = try file.insert("Node", "{}")
    let child = try file.insert("Node", #"{"parent":\#(root)}"#)
    let leaf = try file.insert("Node", #"{"parent":\#(child)}"#)
    // A cycle: the root is a child of its own leaf.
    _ = try file.ask("PATCH", "/v1/objects/Node/\(root)", body: #"{"parent":\#(leaf)}"#)
    #expect(try file.ask("DELETE", "/v1/objects/Node/\(child)").status == 204)
    #expect(try Self.count(file, "Node") == 0)
  }

  private static let links = """
    {"entities":[{"name":"P","relationships":[
    {"name":"likes","destination":"P","toMany":true,"inverse":"likedBy","deleteRule":"Cascade"},
    {"name":"likedBy","destination":"P","toMany":true,"inverse":"likes"}]}]}
    """

  @Test func manyToManyCascadesDeleteCompletely() throws {
    let file = try SampleModel.served(text: Self.links)
    let ids = try (0..<6).map { _ in try file.insert("P", "{}") }
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
      _ = try file.ask("PATCH", "/v1/objects/P/\(ids[from])", body: #"{"likes":[\#(ids[to])]}"#)
    }
    _ = try file.ask("PATCH", "/v1/objects/P/\(ids[4])", body: #"{"likes":[\#(ids[5])]}"#)
    #expect(try file.ask("DELETE", "/v1/objects/P/\(ids[0])").status == 204)
    #expect(try Self.count(file, "P") == 2)
  }
}
