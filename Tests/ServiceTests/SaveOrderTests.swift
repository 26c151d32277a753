// Saves whose changes refer to later inserts, and change again what they set.

import FetchModel
import TestSupport
import Testing

@Suite("The changes of a save apply in their order, also before an insert they name", .mayBlock)
struct SaveOrderTests {
  /// Cities 1 and 2, and teams 1 and 2 without a seat.
  private static func cities(isOrdered: Bool = false) throws -> ServedFile {
    let file = try SampleModel.served(
      text: """
        {"entities":[
        {"name":"City","attributes":[{"name":"name","type":"String"}],
          "relationships":[{"name":"teams","destination":"Team","toMany":true,"inverse":"seat",
            "ordered":\(isOrdered)}]},
        {"name":"Team","attributes":[{"name":"name","type":"String"}],
          "relationships":[{"name":"seat","destination":"City","inverse":"teams"}]}]}
        """)
    for name in ["a", "b"] {
      _ = try file.insert("City", #"{"name":"\#(name)"}"#)
      _ = try file.insert("Team", #"{"name":"\#(name)"}"#)
    }
    return file
  }

  private static func save(_ file: ServedFile, _ changes: [String]) throws -> Answer {
    try file.ask("POST", "/v1/save", body: #"{"changes":[\#(changes.joined(separator: ","))]}"#)
  }

  private static func teams(_ value: String) -> String {
    #"{"update":"City","id":1,"values":{"teams":\#(value)}}"#
  }

  private static let insertedTeam = #"{"insert":"Team","temporaryID":"t","values":{"name":"c"}}"#

  /// A value of the city's teams, a change after it, and the teams after the insert of team 3.
  static let lists: [(String, String?, String)] = [
    (#"[1,{"temporaryID":"t"}]"#, nil, "[1,3]"),
    (#"[1,{"temporaryID":"t"}]"#, #"{"update":"Team","id":1,"values":{"seat":null}}"#, "[3]"),
    (#"[1,{"temporaryID":"t"}]"#, #"{"update":"Team","id":1,"values":{"seat":2}}"#, "[3]"),
    (#"[1,{"temporaryID":"t"}]"#, #"{"delete":"Team","id":1}"#, "[3]"),
    (#"[1,{"temporaryID":"t"}]"#, teams("[2]"), "[2]"),
    (#"[1,{"temporaryID":"t"}]"#, teams(#"{"add":[2],"remove":[1]}"#), "[2,3]"),
    (#"[1,{"temporaryID":"t"}]"#, teams(#"{"remove":[{"temporaryID":"t"}]}"#), "[1]"),
    (#"{"add":[{"temporaryID":"t"}]}"#, teams("[2]"), "[2]"),
    (#"{"add":[1,{"temporaryID":"t"}]}"#, teams(#"{"add":[2]}"#), "[1,2,3]"),
  ]

  @Test(
    "a list with an object that is inserted later does not undo the changes in between",
    arguments: lists)
  func list(_ value: String, _ change: String?, _ expected: String) throws {
    let file = try Self.cities()
    let changes = [Self.teams(value)] + (change.map { [$0] } ?? []) + [Self.insertedTeam]
    let answer = try Self.save(file, changes)
    #expect(answer.status == 200, "\(answer.text)")
    let city = try file.ask("/v1/objects/City/1?select=teams").text
    #expect(city == #"{"id":1,"teams":\#(expected)}"#)
  }

  @Test("a list of a city that is deleted before the insert is dropped")
  func deletedOwner() throws {
    let file = try Self.cities()
    let changes = [
      Self.teams(#"[{"temporaryID":"t"}]"#), #"{"delete":"City","id":1}"#, Self.insertedTeam,
    ]
    let answer = try Self.save(file, changes)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(
      try file.ask("/v1/objects/Team/3?select=seat").text == #"{"id":3,"seat":null}"#)
  }

  /// A change after the one that sets the seat of team 1, and the seat after the insert of city 3.
  static let links: [(String?, String)] = [
    (nil, "3"),
    (#"{"update":"Team","id":1,"values":{"seat":null}}"#, "null"),
    (#"{"update":"Team","id":1,"values":{"seat":2}}"#, "2"),
    (#"{"update":"Team","id":1,"values":{"name":"d"}}"#, "3"),
    (#"{"update":"City","id":2,"values":{"teams":{"add":[1]}}}"#, "2"),
    (#"{"update":"Team","where":"TRUEPREDICATE","values":{"seat":null}}"#, "null"),
  ]

  @Test(
    "a link to an object that is inserted later does not undo the changes in between",
    arguments: links)
  func link(_ change: String?, _ expected: String) throws {
    let file = try Self.cities()
    let changes =
      [#"{"update":"Team","id":1,"values":{"seat":{"temporaryID":"c"}}}"#]
      + (change.map { [$0] } ?? []) + [#"{"insert":"City","temporaryID":"c","values":{}}"#]
    let answer = try Self.save(file, changes)
    #expect(answer.status == 200, "\(answer.text)")
    let team = try file.ask("/v1/objects/Team/1?select=seat").text
    #expect(team == #"{"id":1,"seat":\#(expected)}"#)
  }

  @Test("a list that names a member again undoes an earlier link to a later insert")
  func listOfMembers() throws {
    let file = try Self.cities()
    _ = try Self.save(file, [#"{"update":"Team","id":1,"values":{"seat":2}}"#])
    let changes = [
      #"{"update":"Team","id":1,"values":{"seat":{"temporaryID":"c"}}}"#,
      #"{"update":"City","id":2,"values":{"teams":[1]}}"#,
      #"{"insert":"City","temporaryID":"c","values":{}}"#,
    ]
    let answer = try Self.save(file, changes)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try file.ask("/v1/objects/Team/1?select=seat").text == #"{"id":1,"seat":2}"#)
  }

  @Test("what waits for a deleted object is not set for a new one with its id")
  func idUsedAgain() throws {
    let file = try Self.cities()
    let changes = [
      #"{"update":"Team","id":1,"values":{"seat":{"temporaryID":"c"}}}"#,
      #"{"delete":"Team","id":1}"#, #"{"insert":"Team","values":{"id":1,"name":"new"}}"#,
      #"{"insert":"City","temporaryID":"c","values":{}}"#,
    ]
    let answer = try Self.save(file, changes)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try file.ask("/v1/objects/Team/1?select=seat").text == #"{"id":1,"seat":null}"#)
  }

  @Test("a one-to-one link to an inserted object undoes an earlier one to a later insert")
  func oneToOne() throws {
    let file = try SampleModel.served(
      text: """
        {"entities":[
        {"name":"A","attributes":[{"name":"name","type":"String"}],
          "relationships":[{"name":"b","destination":"B","inverse":"a"}]},
        {"name":"B","attributes":[{"name":"name","type":"String"}],
          "relationships":[{"name":"a","destination":"A","inverse":"b"}]}]}
        """)
    _ = try file.insert("B", #"{"name":"first"}"#)
    let changes = [
      #"{"insert":"A","temporaryID":"a","values":{"b":{"temporaryID":"b"}}}"#,
      #"{"update":"B","id":1,"values":{"a":{"temporaryID":"a"}}}"#,
      #"{"insert":"B","temporaryID":"b","values":{"name":"second"}}"#,
    ]
    let answer = try Self.save(file, changes)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try file.ask("/v1/objects/A/1?select=b").text == #"{"id":1,"b":1}"#)
  }

  @Test("an ordered list keeps its order, whatever the order of the inserts; later members follow")
  func order() throws {
    let file = try Self.cities(isOrdered: true)
    let first = try Self.save(
      file,
      [
        Self.teams(#"[{"temporaryID":"t"},2,{"temporaryID":"u"},1]"#),
        #"{"insert":"Team","temporaryID":"u","values":{"name":"u"}}"#, Self.insertedTeam,
      ])
    #expect(first.status == 200, "\(first.text)")
    let teams = { try file.ask("/v1/objects/City/1?select=teams").text }
    #expect(try teams() == #"{"id":1,"teams":[4,2,3,1]}"#)
    let second = try Self.save(
      file,
      [
        Self.teams(#"[1,{"temporaryID":"t"},4]"#), Self.teams(#"{"add":[2]}"#), Self.insertedTeam,
      ])
    #expect(second.status == 200, "\(second.text)")
    #expect(try teams() == #"{"id":1,"teams":[1,5,4,2]}"#)
  }

  @Test("the failures of one change are listed in the order of the model's entities")
  func orderOfFailures() throws {
    let names = ["A", "B", "C", "D", "E"]
    let lists = names.map {
      #"{"name":"list\#($0)","destination":"\#($0)","toMany":true,"inverse":"root"}"#
    }
    let entities = names.map {
      """
      {"name":"\($0)","relationships":[{"name":"root","destination":"Root","inverse":"list\($0)"}],
        "access":{"read":true,"insert":true,"update":"root == nil","delete":true}}
      """
    }
    let fixture = try AccessFixture(
      model: """
        {"entities":[{"name":"Root","relationships":[\(lists.joined(separator: ","))],
          "access":{"read":true,"insert":true,"update":true,"delete":true}},
          \(entities.joined(separator: ","))]}
        """)
    for name in ["Root"] + names {
      #expect(try fixture.ask(nil, "POST", "/v1/objects/\(name)", "{}").status == 201)
    }
    let values = names.map { #""list\#($0)":[1]"# }.joined(separator: ",")
    let refused = try fixture.ask("1", "PATCH", "/v1/objects/Root/1", "{\(values)}")
    #expect(refused.status == 403, "\(refused.text)")
    #expect(try refused.errors().map { $0["entity"]?.string } == ["A", "B", "C", "D", "E"])
  }
}
