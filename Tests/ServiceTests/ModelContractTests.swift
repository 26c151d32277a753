// A model over HTTP: inheritance, order, rules and templates.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("A model's objects are served as it says", .mayBlock)
struct ModelContractTests {
  static func heroes() throws -> ServedFile {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[
        {"insert":"Team","temporaryID":"t","values":{"name":"League"}},
        {"insert":"Hero","values":{"name":"Ann","power":50,"team":{"temporaryID":"t"}}},
        {"insert":"Hero","values":{"name":"Bob","power":70,"team":{"temporaryID":"t"}}},
        {"insert":"Villain","values":{"name":"Cid","evilness":0.9}}]}
        """)
    #expect(answer.status == 200, "\(answer.text)")
    return file
  }

  @Test func subentitiesAreFetchedThroughTheirParentWithTheirEntity() throws {
    let file = try Self.heroes()
    let answer = try file.ask("/v1/objects/Human?select=name")
    #expect(
      answer.text.contains(
        #"[{"id":1,"entity":"Hero","name":"Ann"},{"id":2,"entity":"Hero","name":"Bob"},{"id":3,"entity":"Villain","name":"Cid"}]"#
      ), "\(answer.text)")
    #expect(try file.ask("/v1/objects/Human?as=count").json["total"]?.integer == 3)
    #expect(try file.ask("/v1/objects/Hero?as=count").json["total"]?.integer == 2)
    #expect(
      try file.ask("/v1/objects/Human?as=count&subentities=false").json["total"]?.integer == 0)
    #expect(
      try file.ask("/v1/objects/Human?as=ids&where=entity=='Villain'").text.contains("[3]"))
  }

  @Test func anObjectIsFoundOnlyUnderItsEntityAndItsAncestors() throws {
    let file = try Self.heroes()
    #expect(try file.ask("/v1/objects/Villain/3").status == 200)
    #expect(try file.ask("/v1/objects/Human/3").json["entity"]?.string == "Villain")
    #expect(try file.ask("/v1/objects/Hero/3").status == 404)
    #expect(try file.ask("/v1/objects/Hero/3/name").status == 404)
    #expect(try file.ask("PATCH", "/v1/objects/Hero/3", body: #"{"power":1}"#).status == 404)
    #expect(try file.ask("DELETE", "/v1/objects/Hero/3").status == 404)
    #expect(try file.ask("PATCH", "/v1/objects/Human/3", body: #"{"name":"Dan"}"#).status == 200)
  }

  @Test(
    "A raw value is what items show, without quotes, whatever form the store has for it",
    arguments: [
      ("born", #""2000-02-29T23:59:59.123456Z""#, "2000-02-29T23:59:59.123456Z"),
      ("isOpen", "false", "false"), ("size", "2.5", "2.5"), ("size", #""-Infinity""#, "-Infinity"),
      ("count", "7", "7"), ("name", #""a \\ \"b\"""#, #"a \ "b""#),
    ])
  func rawValues(attribute: String, sent: String, raw: String) throws {
    let file = try SampleModel.served(
      text: """
        {"entities":[{"name":"A","attributes":[{"name":"born","type":"Date"},
          {"name":"isOpen","type":"Boolean"},{"name":"size","type":"Double"},
          {"name":"count","type":"Integer 64"},{"name":"name","type":"String"}]}]}
        """)
    let answer = try file.ask("POST", "/v1/objects/A", body: #"{"\#(attribute)":\#(sent)}"#)
    #expect(answer.status == 201, "\(answer.text)")
    #expect(try file.ask("/v1/objects/A/1/\(attribute)").text == raw)
  }

  @Test func aBatchChangesOnlyObjectsOfItsEntity() throws {
    let file = try Self.heroes()
    let answer = try file.ask(
      "PATCH", "/v1/objects/Hero?where=TRUEPREDICATE", body: #"{"name":"X"}"#)
    #expect(answer.json["updated"]?.integer == 2)
    #expect(try file.ask("/v1/objects/Villain/3").json["name"]?.string == "Cid")
  }

  @Test func anAbstractEntityHasNoObjectsOfItsOwn() throws {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask("POST", "/v1/objects/Human", body: #"{"name":"A"}"#)
    #expect(answer.status == 422)
    #expect(answer.text.contains("abstract-entity"))
  }

  @Test func aFetchOfTheParentFollowsItsSubentities() throws {
    let file = try Self.heroes()
    let token = try file.ask("/v1/objects/Human?select=name").json["token"]?.string ?? ""
    let heroes = file.begin("GET", "/v1/objects/Hero?select=name&since=\(token)&wait=60")
    _ = try file.ask("PATCH", "/v1/objects/Villain/3", body: #"{"name":"Zed"}"#)
    let diff = try file.ask("/v1/objects/Human?select=name&since=\(token)&wait=10")
    #expect(
      diff.text.contains(#""updated":[{"from":[0,2],"to":[0,2],"id":3,"changed":{"name":"Zed"}}]"#),
      "\(diff.text)")
    #expect(!heroes.isThere)
    _ = try file.ask("DELETE", "/v1/objects/Human/1")
    #expect(heroes.wait()?.text.contains(#""deleted":[{"from":[0,0],"id":1}]"#) == true)
  }

  @Test func theHistoryOfSavesNamesTheObjectsOwnEntity() throws {
    let file = try Self.heroes()
    _ = try file.ask("PATCH", "/v1/objects/Human/3", body: #"{"name":"Zed"}"#)
    let changes = try file.ask("/v1/changes").text
    #expect(changes.contains(#""inserted":{"Hero":[1,2],"#), "\(changes)")
    #expect(changes.contains(#""Villain":[{"id":3,"properties":["name","#), "\(changes)")
  }

  @Test func theHistoryOfSavesNamesTheOwnEntityOfObjectsWhoseLinksChanged() throws {
    let file = try SampleModel.served(
      text: """
        {"entities":[
          {"name":"Item","attributes":[{"name":"n","type":"String"}],"relationships":[
            {"name":"tags","destination":"Tag","toMany":true,"inverse":"items"},
            {"name":"parts","destination":"Part","toMany":true,"inverse":"whole"}]},
          {"name":"Book","parent":"Item"},
          {"name":"Part","relationships":[
            {"name":"whole","destination":"Item","inverse":"parts"}]},
          {"name":"Tag","relationships":[
            {"name":"items","destination":"Item","toMany":true,"inverse":"tags"}]}]}
        """)
    let book = try file.insert("Book", #"{"n":"a"}"#)
    let item = try file.insert("Item", #"{"n":"b"}"#)
    let tag = try file.insert("Tag", "{}")
    let token = try file.ask("/v1/objects/Tag").json["token"]?.string ?? ""
    _ = try file.ask("PATCH", "/v1/objects/Tag/\(tag)", body: #"{"items":[\#(book),\#(item)]}"#)
    _ = try file.ask("PATCH", "/v1/objects/Book/\(book)", body: #"{"n":"c","tags":[]}"#)
    let path = "/v1/changes?since=\(token)&wait=0"
    let links =
      #""updated":{"Item":[{"id":2,"properties":["tags"]}],"#
      + #""Book":[{"id":1,"properties":["tags"]}],"Tag":[{"id":1,"properties":["items"]}]}"#
    let both =
      #""updated":{"Book":[{"id":1,"properties":["n","tags"]}],"#
      + #""Tag":[{"id":1,"properties":["items"]}]}"#
    let changes = try file.ask(path).text
    #expect(changes.contains(links) && changes.contains(both), "\(changes)")
    _ = try file.ask("DELETE", "/v1/objects/Book/\(book)")
    for limit in ["", "&limit=1"] {
      let later = try file.ask(path + limit).text
      #expect(later.contains(links), "\(later)")
    }
  }

  @Test func theModelIsStoredInTheFile() throws {
    let file = try Self.heroes()
    file.stop()
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/Hero/1").json["power"]?.integer == 50)
    #expect(try again.ask("/v1/model").json["fetchTemplates"] != .array([]))
  }

  // MARK: Order

  @Test func anOrderedRelationshipKeepsItsOrder() throws {
    let file = try Self.heroes()
    let read = { try file.ask("/v1/objects/Team?select=members").text }
    #expect(try read().contains(#""members":[1,2]"#))
    let token = try file.ask("/v1/objects/Team?select=members").json["token"]?.string ?? ""
    _ = try file.ask("PATCH", "/v1/objects/Team/1", body: #"{"members":[2,1]}"#)
    #expect(try read().contains(#""members":[2,1]"#))
    let diff = try file.ask("/v1/objects/Team?select=members&since=\(token)&wait=10")
    #expect(diff.text.contains(#""changed":{"members":[2,1]}"#), "\(diff.text)")
    let dan = try file.insert("Hero", #"{"name":"Dan","team":1}"#)
    #expect(try read().contains(#""members":[2,1,\#(dan)]"#))
    _ = try file.ask("PATCH", "/v1/objects/Team/1", body: #"{"members":[\#(dan),2]}"#)
    #expect(try read().contains(#""members":[\#(dan),2]"#))
    #expect(try file.ask("/v1/objects/Hero/1").json["team"] == .null)
    let changes = try file.ask("/v1/changes").text
    #expect(changes.contains(#""Team":[{"id":1,"properties":["members"]}]"#), "\(changes)")
  }

  @Test func membersAreAtTheListsPositions() throws {
    let file = try SampleModel.served("heroes")
    let team = try file.insert("Team", #"{"name":"T"}"#)
    let ids = try (0..<6).map { try file.insert("Hero", #"{"name":"h\#($0)"}"#) }
    let path = "/v1/objects/Team?select=members"
    var token = try file.ask(path).json["token"]?.string ?? ""
    for order in [
      [0, 1, 2], [3, 0, 1, 2], [3, 0, 4, 1, 2], [2, 1, 4, 0, 3], [4, 5], [], [5, 4],
    ] {
      let list = "[\(order.map { "\(ids[$0])" }.joined(separator: ","))]"
      let answer = try file.ask(
        "PATCH", "/v1/objects/Team/\(team)", body: #"{"members":\#(list)}"#)
      #expect(answer.status == 200, "\(answer.text)")
      let diff = try file.ask("\(path)&since=\(token)&wait=10")
      #expect(
        diff.text.contains(
          #""updated":[{"from":[0,0],"to":[0,0],"id":1,"changed":{"members":\#(list)}}]"#),
        "\(list): \(diff.text)")
      token = diff.json["to"]?.string ?? ""
    }
    // Setting the current order is no change.
    _ = try file.ask("PATCH", "/v1/objects/Team/1", body: #"{"members":[\#(ids[5]),\#(ids[4])]}"#)
    let silent = try file.ask("\(path)&since=\(token)&wait=0")
    #expect(silent.text.contains(#""updated":[]"#), "\(silent.text)")
  }

  @Test func anOrderedManyToManyRelationshipKeepsItsOrder() throws {
    let file = try SampleModel.served("blog")
    let author = try file.insert("Author", #"{"name":"A"}"#)
    let tags = try ["x", "y", "z"].map { try file.insert("Tag", #"{"name":"\#($0)"}"#) }
    let post = try file.insert(
      "Post", #"{"title":"T","author":\#(author),"tags":[\#(tags[2]),\#(tags[0])]}"#)
    let read = { try file.ask("/v1/objects/Post/\(post)?select=tags").text }
    #expect(try read().contains("[3,1]"))
    _ = try file.ask("PATCH", "/v1/objects/Post/\(post)", body: #"{"tags":{"add":[2]}}"#)
    #expect(try read().contains("[3,1,2]"))
    _ = try file.ask("PATCH", "/v1/objects/Post/\(post)", body: #"{"tags":[2,3,1]}"#)
    #expect(try read().contains("[2,3,1]"))
    #expect(try file.ask("/v1/objects/Tag/2?select=posts").text.contains("[\(post)]"))
  }

  // MARK: Templates and defaults

  @Test func aTemplateIsAFetchWithVariables() throws {
    let file = try Self.heroes()
    let answer = try file.ask("/v1/fetches/strongHeroes?var.MIN=60&select=name")
    #expect(answer.text.contains(#"[{"id":2,"name":"Bob"}]"#), "\(answer.text)")
    #expect(try file.ask("/v1/fetches/strongHeroes").code == "missing-variable")
    #expect(try file.ask("/v1/fetches/strongHeros").code == "unknown-template")
    #expect(try file.ask("/v1/fetches/strongHeroes?var.MIN=1&where=TRUEPREDICATE").status == 400)
    let token = answer.json["token"]?.string ?? ""
    _ = try file.ask("PATCH", "/v1/objects/Hero/1", body: #"{"power":99}"#)
    let diff = try file.ask("/v1/fetches/strongHeroes?var.MIN=60&select=name&since=\(token)")
    #expect(diff.text.contains(#""inserted":[{"to":[0,0],"item":{"id":1,"name":"Ann"}}]"#))
  }

  @Test func theModelsOrderHoldsWhereARequestNamesNone() throws {
    let file = try Self.heroes()
    _ = try file.ask("PATCH", "/v1/objects/Hero/1", body: #"{"name":"Zoe"}"#)
    #expect(try file.ask("/v1/objects/Hero?as=ids").text.contains("[2,1]"))
    #expect(try file.ask("/v1/objects/Hero?as=ids&sort=id").text.contains("[1,2]"))
  }

  @Test func theDescriptionShowsTheModel() throws {
    let file = try SampleModel.served("heroes")
    let text = try file.ask("/v1/model").text
    for part in [
      #""name":"Human","abstract":true,"subentities":["Hero","Villain"]"#,
      #""name":"power","type":"integer","optional":false,"default":true,"declaredType":"Integer 32","defaultValue":1,"minimum":0,"maximum":9000"#,
      #""name":"members","destination":"Hero","toMany":true,"optional":true,"inverse":"team","ordered":true,"deleteRule":"Nullify""#,
      #""fetchTemplates":[{"name":"strongHeroes""#,
    ] { #expect(text.contains(part), "\(part)") }
    #expect(!text.contains("skill.justicePower\",\"type\""))
  }

  /// Predicate of a template → true if some request can run it.
  @Test(arguments: [
    ("power >= $MIN AND name IN $NAMES AND team.name != $TEAM", true), ("pwer >= $MIN", false),
    ("power == 'x'", false), ("power == %@", false), ("nosuch(power) == $X", false),
    ("team == $TEAM AND SUBQUERY(team.members, $x, $x.power > $MIN).@count > 0", true),
  ])
  func aTemplateThatNoRequestCanRunIsReported(predicate: String, isGood: Bool) throws {
    var model = try SampleModel.named("heroes")
    var template = ModelFile.FetchTemplate(name: "mine", entity: "Hero")
    template.predicate = predicate
    model.fetchTemplates = [template]
    let file = try SampleModel.served(model)
    let problems = FetchResolver(model: file.store.model, maxItems: 1).templateProblems
    #expect(problems.map(\.place) == (isGood ? [] : ["fetchTemplates/mine"]))
  }

  @Test("A request's `subentities` takes the place of the template's")
  func templateWithoutSubentities() throws {
    var model = try SampleModel.named("heroes")
    var template = ModelFile.FetchTemplate(name: "mine", entity: "Human")
    template.includesSubentities = false
    model.fetchTemplates = [template]
    let file = try SampleModel.served(model)
    _ = try file.insert("Hero", #"{"name":"Ann"}"#)
    #expect(try file.ask("/v1/fetches/mine").json["count"]?.integer == 0)
    #expect(try file.ask("/v1/fetches/mine?subentities=true").json["count"]?.integer == 1)
  }
}
