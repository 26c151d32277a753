// Derived attributes of derived attributes: recomputed after changes by any program, and reported to
// subscribers.

import FetchModel
import TestSupport
import Testing

@Suite("Derived attributes follow each other", .mayBlock)
struct DerivedChainTests {
  static let model = """
    {"entities":[
    {"name":"Land","attributes":[{"name":"name","type":"String"},
      {"name":"people","type":"Integer 64","derivation":"cities.@sum.people"},
      {"name":"cityCount","type":"Integer 64","derivation":"cities.@count"}],
     "relationships":[{"name":"cities","destination":"City","toMany":true,"inverse":"land","deleteRule":"Cascade"}]},
    {"name":"City","attributes":[
      {"name":"landName","type":"String","derivation":"land.name"},
      {"name":"people","type":"Integer 64","derivation":"houses.@sum.people"}],
     "relationships":[{"name":"land","destination":"Land","inverse":"cities"},
      {"name":"houses","destination":"House","toMany":true,"inverse":"city","deleteRule":"Cascade"}]},
    {"name":"House","attributes":[{"name":"people","type":"Integer 32","optional":false,"default":1},
      {"name":"landName","type":"String","derivation":"city.landName"},
      {"name":"landPeople","type":"Integer 64","derivation":"city.land.people"}],
     "relationships":[{"name":"city","destination":"City","inverse":"houses"}]}]}
    """

  /// One land with two cities; the first has two houses, the second one.
  private static func file() throws -> ServedFile {
    let file = try SampleModel.served(text: model)
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Land","temporaryID":"l","values":{"name":"Peru"}},
        {"insert":"City","temporaryID":"a","values":{"land":{"temporaryID":"l"}}},
        {"insert":"City","temporaryID":"b","values":{"land":{"temporaryID":"l"}}},
        {"insert":"House","values":{"people":3,"city":{"temporaryID":"a"}}},
        {"insert":"House","values":{"people":4,"city":{"temporaryID":"a"}}},
        {"insert":"House","values":{"people":5,"city":{"temporaryID":"b"}}}]}
        """)
    #expect(answer.status == 200, "\(answer.text)")
    return file
  }

  private static let houses = "/v1/objects/House?select=landName,landPeople&sort=id"

  @Test func aChainIsComputedToItsEnd() throws {
    let file = try Self.file()
    #expect(
      try file.ask("/v1/objects/Land/1?select=people,cityCount").text
        == #"{"id":1,"people":12,"cityCount":2}"#)
    #expect(
      try file.ask("/v1/objects/House/3?select=landName,landPeople").text
        == #"{"id":3,"landName":"Peru","landPeople":12}"#)
  }

  @Test func aDistantChangeReachesSubscribersOfTheLastAttribute() throws {
    let file = try Self.file()
    let token = try file.ask(Self.houses).json["token"]?.string ?? ""
    let waiting = file.begin("GET", "\(Self.houses)&since=\(token)&wait=60")
    _ = try file.ask("PATCH", "/v1/objects/Land/1", body: #"{"name":"Chile"}"#)
    let diff = try #require(waiting.wait()).json
    #expect(diff["items"]?["updated"] != nil)
    for id in 1...3 {
      #expect(try file.ask("/v1/objects/House/\(id)").json["landName"]?.string == "Chile")
    }
    let next = diff["to"]?.string ?? ""
    _ = try file.ask("DELETE", "/v1/objects/House/1")
    let second = try file.ask("\(Self.houses)&since=\(next)").text
    #expect(second.contains(#""changed":{"landPeople":9}"#), "\(second)")
    #expect(second.contains(#""deleted":[{"from":[0,0],"id":1}]"#), "\(second)")
  }

  @Test func movingAMemberRecomputesBothOwnersAndThoseAbove() throws {
    let file = try Self.file()
    let other = try file.insert("Land", #"{"name":"Oman"}"#)
    _ = try file.ask("PATCH", "/v1/objects/City/1", body: #"{"land":\#(other)}"#)
    #expect(try file.ask("/v1/objects/Land/1").json["people"]?.integer == 5)
    #expect(try file.ask("/v1/objects/Land/\(other)").json["people"]?.integer == 7)
    #expect(
      try file.ask("/v1/objects/House/1?select=landName,landPeople").text
        == #"{"id":1,"landName":"Oman","landPeople":7}"#)
    _ = try file.ask("DELETE", "/v1/objects/City/1")
    #expect(try file.ask("/v1/objects/Land/\(other)").json["people"]?.integer == 0)
    #expect(try file.ask("/v1/objects/Land/\(other)").json["cityCount"]?.integer == 0)
  }

  @Test(.onlyForFiles, .enabled(if: Sqlite3.isInstalled))
  func anotherProgramsChangeDoesTheSame() throws {
    let file = try Self.file()
    let token = try file.ask(Self.houses).json["token"]?.string ?? ""
    let output = try Sqlite3.run(
      "UPDATE House SET people = 10 WHERE id = 3;\nUPDATE Land SET name = 'Cuba';", file.path)
    #expect(output == "")
    var to = token
    var text = ""
    for _ in 0..<60
    where !(text.contains(#""landName":"Cuba""#) && text.contains(#""landPeople":17"#)) {
      let diff = try file.ask("\(Self.houses)&since=\(to)&wait=5")
      to = diff.json["to"]?.string ?? to
      text += diff.text
    }
    #expect(text.contains(#""landName":"Cuba""#) && text.contains(#""landPeople":17"#), "\(text)")
    #expect(try file.ask("/v1/objects/Land/1").json["people"]?.integer == 17)
  }

  @Test(arguments: [
    #"{"name":"x","type":"String","derivation":"up.x"}"#,
    #"{"name":"x","type":"String","derivation":"up.y"},{"name":"y","type":"String","derivation":"up.x"}"#,
    #"{"name":"x","type":"Integer 64","derivation":"downs.@sum.x"}"#,
  ])
  func anAttributeDerivedFromItselfIsRefused(_ attributes: String) {
    let text = """
      {"entities":[{"name":"N","attributes":[\(attributes)],"relationships":[
      {"name":"up","destination":"N","inverse":"downs"},
      {"name":"downs","destination":"N","toMany":true,"inverse":"up"}]}]}
      """
    do throws(ModelFileError) {
      _ = try ModelFile(parsing: Array(text.utf8))
      Issue.record("was read")
    } catch {
      #expect(
        error.problems.map(\.description)
          .contains("entities/N/attributes/x/derivation: it is derived from itself"))
    }
  }
}
