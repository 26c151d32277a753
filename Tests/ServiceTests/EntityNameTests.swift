// The member `entity` of a change, for entities with subentities.

import FetchModel
import TestSupport
import Testing

/// `"entity"` among the values of a change: which entity an insert is of, and a promise that nothing
/// else is overwritten.
@Suite("The entity that a change names", .mayBlock)
struct EntityNameTests {
  @Test func anInsertThroughTheParentIsOfTheEntityThatItNames() throws {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask(
      "POST", "/v1/objects/Human", body: #"{"entity":"Hero","name":"Ann","power":5}"#)
    #expect(answer.status == 201, "\(answer.text)")
    #expect(answer["Location"] == "/v1/objects/Hero/1")
    #expect(try file.ask("/v1/objects/Hero/1").json["power"]?.integer == 5)
    #expect(try file.ask("/v1/objects/Human/1").json["entity"]?.string == "Hero")
  }

  @Test(arguments: [
    (#"{"name":"A"}"#, "abstract-entity"), (#"{"name":"A","entity":"Human"}"#, "abstract-entity"),
    (#"{"name":"A","entity":"Team"}"#, "wrong-entity"),
    (#"{"name":"A","entity":"Heroo"}"#, "unknown-entity"),
    (#"{"name":"A","entity":null}"#, "wrong-type"),
  ])
  func anInsertThroughTheParentNeedsAnEntityBelowIt(_ body: String, _ code: String) throws {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask("POST", "/v1/objects/Human", body: body)
    #expect(answer.status == 422)
    #expect(answer.text.contains(#""code":"\#(code)""#), "\(answer.text)")
    #expect(try file.ask("/v1/objects/Human?as=count").json["total"]?.integer == 0)
  }

  @Test("A replacement inserts no object of an abstract entity", arguments: [false, true])
  func abstractReplacement(_ isConditional: Bool) throws {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask(
      "PUT", "/v1/objects/Human/10", body: #"{"name":"A"}"#,
      headers: isConditional ? [("If-None-Match", "*")] : [])
    #expect(answer.status == 422)
    #expect(answer.text.contains(#""code":"abstract-entity""#), "\(answer.text)")
    #expect(try file.ask("/v1/objects/Human?as=count").json["total"]?.integer == 0)
  }

  @Test func anObjectMayBeSentBackAsItWasGot() throws {
    let file = try SampleModel.served("heroes")
    let id = try file.insert("Hero", #"{"name":"Ann"}"#)
    let got = try file.ask("/v1/objects/Human/\(id)?select=name,birthday,mentor").text
    #expect(got.contains(#""entity":"Hero""#))
    #expect(try file.ask("PATCH", "/v1/objects/Human/\(id)", body: got).status == 200)
    #expect(try file.ask("PUT", "/v1/objects/Human/\(id)", body: got).status == 200)
    #expect(try file.ask("/v1/objects/Human/\(id)?select=name,birthday,mentor").text == got)
  }

  @Test(arguments: ["PATCH", "PUT"])
  func anObjectStaysOfItsEntity(_ method: String) throws {
    let file = try SampleModel.served("heroes")
    let id = try file.insert("Villain", #"{"name":"Cid"}"#)
    let before = try file.ask("/v1/objects/Human/\(id)").text
    for entity in ["Hero", "Human"] {
      let answer = try file.ask(
        method, "/v1/objects/Human/\(id)", body: #"{"entity":"\#(entity)","name":"X"}"#)
      #expect(answer.status == 422, "\(answer.text)")
      #expect(answer.text.contains(#""property":"entity","code":"#), "\(answer.text)")
    }
    #expect(try file.ask("/v1/objects/Human/\(id)").text == before)
    let none = try file.ask("PATCH", "/v1/objects/Human/99", body: #"{"entity":"Hero","name":"X"}"#)
    #expect(none.status == 404)
  }

  @Test func aSaveAndABatchAreHeldToItToo() throws {
    let file = try SampleModel.served("heroes")
    let id = try file.insert("Villain", #"{"name":"Cid"}"#)
    let save = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"update":"Human","id":\(id),"values":{"entity":"Hero","name":"X"}},
        {"insert":"Human","temporaryID":"h","values":{"entity":"Hero","name":""}}]}
        """)
    #expect(save.status == 422)
    #expect(save.text.contains(#""change":0,"property":"entity","code":"not-writable""#))
    #expect(save.text.contains(#""change":1,"property":"name","code":"too-short""#))
    let batch = try file.ask(
      "PATCH", "/v1/objects/Human?where=TRUEPREDICATE", body: #"{"entity":"Hero"}"#)
    #expect(batch.status == 422)
    #expect(batch.text.contains(#""property":"entity","code":"not-writable""#), "\(batch.text)")
  }

  @Test func aTemporaryIDHasTheEntityThatTheInsertNames() throws {
    let file = try SampleModel.served("heroes")
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Human","temporaryID":"h","values":{"entity":"Hero","name":"Ann"}},
        {"insert":"Villain","values":{"name":"Cid","nemesis":{"temporaryID":"h"}}}]}
        """)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try file.ask("/v1/objects/Villain/2").json["nemesis"]?.integer == 1)
  }
}
