// Tokens of clients that hold another result than the server would send now.

import FetchModel
import TestSupport
import Testing

@Suite("A token of another result is not continued from", .mayBlock)
struct OutdatedTokenTests {
  @Test("A snapshot that was cut at another maximum of items has no diffs")
  func otherMaximum() throws {
    let file = try ServedFile(
      """
      CREATE TABLE doc(id INTEGER PRIMARY KEY, n INTEGER);
      INSERT INTO doc VALUES (1, 0), (2, 0), (3, 0), (4, 0);
      """)
    let whole = try file.ask("/v1/objects/doc?as=ids")
    let etag = try #require(whole["ETag"])
    try file.restart(maxItems: 3)
    let cut = try file.ask("/v1/objects/doc?as=ids", headers: [("If-None-Match", etag)])
    #expect(cut.status == 200)
    #expect(cut.json["truncated"] == .boolean(true))
    #expect(try follow(file, whole).status == 410)
    #expect(try follow(file, cut).status == 200)
    let since = token(whole)
    let group = #"{"fetches":{"a":{"entity":"doc","as":"ids","since":"\#(since)"}},"wait":0}"#
    let answer = try file.ask("POST", "/v1/live", body: group)
    #expect(answer.json["results"]?["a"]?["truncated"] == .boolean(true))
    #expect(try file.ask("/v1/changes?since=\(token(cut))&wait=0").status == 200)
    try file.restart()
    #expect(try follow(file, cut).status == 200)
    try file.restart(maxItems: 2)
    #expect(try follow(file, cut).status == 410)
    try file.restart(maxItems: 10_000)
    #expect(try follow(file, cut).status == 410)
    #expect(try follow(file, whole).status == 200)
  }

  @Test("A model with another order or template is another model")
  func otherModel() throws {
    var model = try SampleModel.named("heroes")
    let file = try SampleModel.served(model)
    var last = try file.ask("/v1/objects/Hero")
    try file.restart()
    #expect(try follow(file, last, "Hero").status == 200)
    let hero = try #require(model.entities.firstIndex { $0.name == "Hero" })
    model.entities[hero].sort = ["-name"]
    try file.restart(model: model)
    #expect(try follow(file, last, "Hero").status == 410)
    last = try file.ask("/v1/objects/Hero")
    var template = ModelFile.FetchTemplate(name: "mine", entity: "Hero")
    for limit in [nil, 3, 3, 4] {
      let isSame = template.limit == limit && model.fetchTemplates.contains(template)
      template.limit = limit
      model.fetchTemplates.removeAll { $0.name == "mine" }
      model.fetchTemplates.append(template)
      try file.restart(model: model)
      #expect(try follow(file, last, "Hero").status == (isSame ? 200 : 410))
      last = try file.ask("/v1/objects/Hero")
    }
  }

  @Test("An object that was deleted comes back whole")
  func objectThatComesBack() throws {
    let file = try ServedFile(
      """
      CREATE TABLE doc(id INTEGER PRIMARY KEY, owner INTEGER, t TEXT);
      INSERT INTO doc VALUES (4, 1, 'old');
      """)
    let before = try file.ask("/v1/objects/doc/4")
    let deletion = try file.ask("DELETE", "/v1/objects/doc/4")
    let away = try #require(deletion["LiveFetch-Token"])
    #expect(try file.ask("/v1/objects/doc/4?since=\(away)&wait=0").status == 404)
    _ = try file.ask("POST", "/v1/objects/doc", body: #"{"id":4,"owner":1,"t":"new"}"#)
    let back = try file.ask("/v1/objects/doc/4?since=\(away)&wait=0")
    #expect(back.text.contains(#""changed":{"owner":1,"t":"new"}}"#), "\(back.text)")
    let held = try #require(before["LiveFetch-Token"])
    let diff = try file.ask("/v1/objects/doc/4?since=\(held)&wait=0")
    #expect(diff.text.contains(#""changed":{"t":"new"}}"#), "\(diff.text)")
  }

  private func token(_ answer: Answer) -> String { answer.json["token"]?.string ?? "" }

  private func follow(
    _ file: ServedFile, _ answer: Answer, _ entity: String = "doc"
  ) throws -> Answer {
    let target = entity == "doc" ? "/v1/objects/doc?as=ids" : "/v1/objects/\(entity)?"
    return try file.ask("\(target)&since=\(token(answer))&wait=0")
  }
}
