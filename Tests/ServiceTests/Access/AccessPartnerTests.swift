// Access rules and one-to-one relationships, whose partners a save changes too.

import FetchModel
import LiveFetchHTTPServer
import Testing

/// Setting one end of a one-to-one relationship changes the new partner, the new partner's former one
/// and the object's own former one.
@Suite("A one-to-one relationship is set by an update of every object that it changes", .mayBlock)
struct AccessPartnerTests {
  /// People read and update themselves alone. Everyone reads the desks and updates all but desk 2.
  private static let desks = """
    {"entities":[
     {"name":"Person","access":{"read":"id == $user.id","insert":true,"update":"id == $user.id",
       "delete":"id == $user.id"},
      "attributes":[{"name":"name","type":"String"}],
      "relationships":[{"name":"desk","destination":"Desk","inverse":"person"}]},
     {"name":"Chief","parent":"Person"},
     {"name":"Desk","access":{"read":true,"insert":true,"update":"id != 2","delete":"id != 2"},
      "attributes":[{"name":"label","type":"String"}],
      "relationships":[{"name":"person","destination":"Person","inverse":"desk"}]}]}
    """
  private static let deskRows = """
    {"changes":[
      {"insert":"Desk","values":{"id":1}},{"insert":"Desk","values":{"id":2}},
      {"insert":"Desk","values":{"id":3}},{"insert":"Person","values":{"id":1,"name":"me"}},
      {"insert":"Person","values":{"id":2,"desk":1}},{"insert":"Person","values":{"id":3,"desk":2}}]}
    """
  private static let firstLinks = "Desk 1:2 2:3 3:nil Person 1:nil 2:1 3:2"

  private func fixture(_ model: String, _ rows: String) throws -> AccessFixture {
    let fixture = try AccessFixture(model: model)
    let answer = try fixture.ask(nil, "POST", "/v1/save", rows)
    #expect(answer.status == 200, "\(answer.text)")
    return fixture
  }

  /// Both ends of every link.
  private func links(_ fixture: AccessFixture, _ ends: [(String, String)]) throws -> String {
    try ends.map { entity, relationship in
      let answer = try fixture.ask(
        nil, "GET", "/v1/objects/\(entity)?select=\(relationship)&sort=id")
      let pairs = answer.items.map {
        "\($0["id"]?.integer ?? 0):\($0[relationship]?.integer?.description ?? "nil")"
      }
      return "\(entity) \(pairs.joined(separator: " "))"
    }.joined(separator: " ")
  }

  private func deskLinks(_ fixture: AccessFixture) throws -> String {
    try links(fixture, [("Desk", "person"), ("Person", "desk")])
  }

  private static let refused: [(method: String, target: String, body: String, status: Int)] = [
    // Person 2, who is unreadable, would lose desk 1.
    ("PATCH", "objects/Person/1", #"{"desk":1}"#, 403),
    ("PATCH", "objects/Desk/1", #"{"person":1}"#, 403),
    ("PATCH", "objects/Desk/1", #"{"person":null}"#, 403),
    ("PUT", "objects/Person/1", #"{"name":"x","desk":1}"#, 403),
    ("PUT", "objects/Desk/1", #"{"label":"x","person":1}"#, 403),
    ("PUT", "objects/Desk/1", #"{"label":"x"}"#, 403),
    ("PUT", "objects/Person/77", #"{"desk":1}"#, 403),
    ("POST", "objects/Person", #"{"desk":1}"#, 403),
    ("POST", "objects/Chief", #"{"desk":1}"#, 403),
    // Desk 2 may not be updated.
    ("PATCH", "objects/Person/1", #"{"desk":2}"#, 403),
    ("PATCH", "objects/Desk/2", #"{"person":1}"#, 403),
    ("POST", "objects/Person", #"{"desk":2}"#, 403),
    // Person 2 is like one that is not there.
    ("PATCH", "objects/Desk/3", #"{"person":2}"#, 409),
    ("PATCH", "objects/Desk/3", #"{"person":99}"#, 409),
    ("PUT", "objects/Desk/77", #"{"person":2}"#, 409),
    ("POST", "objects/Desk", #"{"person":2}"#, 409),
    ("PATCH", "objects/Desk?where=id==1", #"{"person":null}"#, 422),
    ("PATCH", "objects/Person?where=TRUEPREDICATE", #"{"desk":3}"#, 422),
    (
      "POST", "save",
      #"{"changes":[{"update":"Desk","where":"id == 1","values":{"person":null}}]}"#, 422
    ),
    // The last change takes back the first one.
    (
      "POST", "save",
      """
      {"changes":[{"update":"Person","id":1,"values":{"desk":1}},
        {"update":"Person","id":1,"values":{"desk":null}}]}
      """, 403
    ),
    (
      "POST", "save",
      """
      {"changes":[{"insert":"Person","temporaryID":"p","values":{"id":50}},
        {"update":"Desk","id":1,"values":{"person":{"temporaryID":"p"}}}]}
      """, 403
    ),
    // Waits for its insert, and is checked then.
    (
      "POST", "save",
      """
      {"changes":[{"update":"Desk","id":1,"values":{"person":{"temporaryID":"p"}}},
        {"insert":"Chief","temporaryID":"p","values":{"id":50}}]}
      """, 403
    ),
    // Nothing would be different after the save.
    (
      "POST", "save",
      """
      {"changes":[{"update":"Desk","id":1,"values":{"person":null}},
        {"update":"Desk","id":1,"values":{"person":2}}]}
      """, 403
    ),
  ]

  @Test("A link is neither taken from nor given to an object that the caller may not update")
  func refusals() throws {
    let fixture = try fixture(Self.desks, Self.deskRows)
    #expect(try deskLinks(fixture) == Self.firstLinks)
    for request in Self.refused {
      let answer = try fixture.ask("1", request.method, "/v1/\(request.target)", request.body)
      let comment = "\(request.method) \(request.target) \(request.body): \(answer.text)"
      #expect(answer.status == request.status, "\(comment)")
      #expect(!answer.text.contains("$user"))
      #expect(try deskLinks(fixture) == Self.firstLinks, "\(comment)")
    }
    let taken = try fixture.ask("1", "PATCH", "/v1/objects/Person/1", #"{"desk":1}"#).text
    #expect(taken.contains(#""change":0"#) && taken.contains(#""entity":"Person""#), "\(taken)")
    #expect(
      try fixture.ask("1", "PATCH", "/v1/objects/Desk/3", #"{"person":2}"#).text
        == fixture.ask("1", "PATCH", "/v1/objects/Desk/3", #"{"person":99}"#).text)
  }

  @Test("What replaces an unreadable object is refused as for an object that is not there")
  func replacements() throws {
    let fixture = try fixture(Self.desks, Self.deskRows)
    for (body, status) in [
      (#"{"desk":1}"#, 403), (#"{"desk":2}"#, 403), (#"{"desk":99}"#, 409),
      (#"{"desk":1,"name":3}"#, 422),
    ] {
      let texts = try [2, 3, 99].map { id in
        let answer = try fixture.ask("1", "PUT", "/v1/objects/Person/\(id)", body)
        #expect(answer.status == status, "\(id) \(body): \(answer.text)")
        return answer.text
      }
      #expect(Set(texts).count == 1, "\(body): \(texts)")
    }
    #expect(try fixture.ask("1", "PUT", "/v1/objects/Person/2", #"{"desk":3}"#).status == 404)
    #expect(try deskLinks(fixture) == Self.firstLinks)
  }

  @Test("A link is set among objects that the caller may update; one that is kept needs no rule")
  func permitted() throws {
    let fixture = try fixture(Self.desks, Self.deskRows)
    let steps: [(method: String, target: String, body: String, links: String)] = [
      ("PATCH", "Desk/1", #"{"label":"a","person":2}"#, Self.firstLinks),
      ("PUT", "Desk/1", #"{"label":"b","person":2}"#, Self.firstLinks),
      ("PATCH", "Person/1", #"{"name":"n","desk":null}"#, Self.firstLinks),
      ("PUT", "Desk/3", #"{"label":"c"}"#, Self.firstLinks),
      ("PATCH", "Person/1", #"{"desk":3}"#, "Desk 1:2 2:3 3:1 Person 1:3 2:1 3:2"),
      ("PATCH", "Desk/3", #"{"person":1}"#, "Desk 1:2 2:3 3:1 Person 1:3 2:1 3:2"),
      ("PUT", "Desk/3", #"{"label":"c"}"#, Self.firstLinks),
      ("POST", "Desk", #"{"id":4,"person":1}"#, "Desk 1:2 2:3 3:nil 4:1 Person 1:4 2:1 3:2"),
      ("PATCH", "Desk/3", #"{"person":1}"#, "Desk 1:2 2:3 3:1 4:nil Person 1:3 2:1 3:2"),
      ("PUT", "Person/1", #"{"name":"m"}"#, "Desk 1:2 2:3 3:nil 4:nil Person 1:nil 2:1 3:2"),
    ]
    for step in steps {
      let answer = try fixture.ask("1", step.method, "/v1/objects/\(step.target)", step.body)
      #expect([200, 201].contains(answer.status), "\(step): \(answer.text)")
      #expect(try deskLinks(fixture) == step.links, "\(step)")
    }
  }

  @Test("A link to an object that the same save inserts needs no rule for updates")
  func inserted() throws {
    let model = Self.desks.replacing(#""update":"id == $user.id""#, with: #""update":false"#)
    let fixture = try fixture(model, Self.deskRows)
    let save = """
      {"changes":[{"update":"Desk","id":3,"values":{"person":{"temporaryID":"c"}}},
        {"insert":"Chief","temporaryID":"c","values":{"id":8}},
        {"insert":"Person","values":{"id":9,"desk":3}}]}
      """
    let answer = try fixture.ask("1", "POST", "/v1/save", save)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(
      try deskLinks(fixture) == "Desk 1:2 2:3 3:9 Person 1:nil 2:1 3:2 8:nil 9:3")
    #expect(try fixture.ask("1", "PATCH", "/v1/objects/Desk/3", #"{"person":1}"#).status == 403)
  }

  // MARK: Rules over the relationship

  /// A profile belongs to the account that it is linked to.
  private static let profiles = """
    {"entities":[
     {"name":"Account","access":{"read":"id == $user.id","insert":false,"update":"id == $user.id",
       "delete":false},
      "relationships":[{"name":"profile","destination":"Profile","inverse":"account"}]},
     {"name":"Profile","access":{"read":true,"insert":"account.id == $user.id",
       "update":"account.id == $user.id","delete":"account.id == $user.id"},
      "attributes":[{"name":"text","type":"String"}],
      "relationships":[{"name":"account","destination":"Account","inverse":"profile"}]}]}
    """
  private static let profileRows = """
    {"changes":[{"insert":"Account","values":{"id":1}},{"insert":"Account","values":{"id":2}},
      {"insert":"Profile","values":{"id":10,"text":"v","account":2}},
      {"insert":"Profile","values":{"id":11,"text":"m"}}]}
    """

  @Test("An object is not taken over by linking the caller's own object to it")
  func takeover() throws {
    let fixture = try fixture(Self.profiles, Self.profileRows)
    func state() throws -> String {
      try links(fixture, [("Account", "profile"), ("Profile", "account")])
    }
    for (method, target, body) in [
      ("PATCH", "objects/Account/1", #"{"profile":10}"#),
      ("PATCH", "objects/Account/1", #"{"profile":11}"#),
      ("PUT", "objects/Account/1", #"{"profile":10}"#),
      ("PATCH", "objects/Profile/10", #"{"text":"mine now"}"#),
      ("PATCH", "objects/Profile/10", #"{"account":1}"#),
      (
        "POST", "save",
        """
        {"changes":[{"update":"Account","id":1,"values":{"profile":10}},
          {"update":"Account","id":1,"values":{"profile":null}}]}
        """
      ),
    ] {
      let answer = try fixture.ask("1", method, "/v1/\(target)", body)
      #expect(answer.status == 403, "\(method) \(target) \(body): \(answer.text)")
    }
    for changes in [
      """
      {"insert":"Profile","temporaryID":"p","values":{"account":2}},
      {"delete":"Profile","id":{"temporaryID":"p"}}
      """,
      """
      {"insert":"Profile","temporaryID":"p","values":{"account":1}},
      {"update":"Profile","id":{"temporaryID":"p"},"values":{"account":2}},
      {"update":"Profile","id":{"temporaryID":"p"},"values":{"account":1}}
      """,
    ] {
      let answer = try fixture.ask("1", "POST", "/v1/save", #"{"changes":[\#(changes)]}"#)
      #expect(answer.status == 409, "\(changes): \(answer.text)")
    }
    #expect(try fixture.ask("1", "DELETE", "/v1/objects/Profile/10").status == 403)
    #expect(try state() == "Account 1:nil 2:10 Profile 10:2 11:nil")
  }

  @Test("The rule of a partner holds after the save too")
  func afterwards() throws {
    let fixture = try fixture(Self.profiles, Self.profileRows)
    #expect(
      try fixture.ask("1", "POST", "/v1/objects/Profile", #"{"id":12,"account":1}"#).status == 201)
    // Without an account the profile would be nobody's.
    for (target, body) in [
      ("Account/1", #"{"profile":null}"#), ("Profile", #"{"account":1}"#),
      ("Account/1", #"{"profile":11}"#),
    ] {
      let method = target == "Profile" ? "POST" : "PATCH"
      let answer = try fixture.ask("1", method, "/v1/objects/\(target)", body)
      #expect(answer.status == 403, "\(body): \(answer.text)")
    }
    #expect(
      try links(fixture, [("Account", "profile"), ("Profile", "account")])
        == "Account 1:12 2:10 Profile 10:2 11:nil 12:1")
  }

  // MARK: Relationships of an entity with itself

  private static let nodes = """
    {"entities":[{"name":"Node",
      "access":{"read":"shown == true","insert":true,"update":"open == true","delete":true},
      "attributes":[{"name":"shown","type":"Boolean"},{"name":"open","type":"Boolean"}],
      "relationships":[{"name":"twin","destination":"Node","inverse":"twin"},
        {"name":"next","destination":"Node","inverse":"previous"},
        {"name":"previous","destination":"Node","inverse":"next"}]}]}
    """
  /// Node 4 may not be updated; node 6 is not even readable.
  private static let nodeRows: String = {
    let nodes = (1...7).map {
      #"{"insert":"Node","values":{"id":\#($0),"shown":\#($0 != 6),"open":\#($0 != 4)}}"#
    }
    let links = [("twin", 1, 2), ("twin", 3, 4), ("twin", 5, 6), ("next", 1, 2), ("next", 4, 5)]
    let updates = links.map { #"{"update":"Node","id":\#($0.1),"values":{"\#($0.0)":\#($0.2)}}"# }
    return #"{"changes":[\#((nodes + updates).joined(separator: ","))]}"#
  }()

  @Test("An entity's one-to-one relationship with itself follows the same rules")
  func itself() throws {
    let fixture = try fixture(Self.nodes, Self.nodeRows)
    func state() throws -> [String] {
      try ["twin", "next", "previous"].map { try links(fixture, [("Node", $0)]) }
    }
    let before = [
      "Node 1:2 2:1 3:4 4:3 5:6 6:5 7:nil", "Node 1:2 2:nil 3:nil 4:5 5:nil 6:nil 7:nil",
      "Node 1:nil 2:1 3:nil 4:nil 5:4 6:nil 7:nil",
    ]
    #expect(try state() == before)
    for (id, body, status) in [
      (1, #"{"twin":3}"#, 403), (1, #"{"twin":5}"#, 403), (1, #"{"twin":6}"#, 409),
      (3, #"{"twin":null}"#, 403), (3, #"{"twin":3}"#, 403), (5, #"{"twin":null}"#, 403),
      (5, #"{"previous":null}"#, 403), (7, #"{"next":5}"#, 403), (7, #"{"previous":4}"#, 403),
      (7, #"{"next":1,"previous":4}"#, 403), (7, #"{"next":6}"#, 409),
    ] {
      let answer = try fixture.ask("1", "PATCH", "/v1/objects/Node/\(id)", body)
      #expect(answer.status == status, "\(id) \(body): \(answer.text)")
    }
    #expect(try state() == before)
    let body = #"{"twin":1,"next":1,"previous":2}"#
    let answer = try fixture.ask("1", "PATCH", "/v1/objects/Node/7", body)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(
      try state() == [
        "Node 1:7 2:nil 3:4 4:3 5:6 6:5 7:1", "Node 1:2 2:7 3:nil 4:5 5:nil 6:nil 7:1",
        "Node 1:7 2:1 3:nil 4:nil 5:4 6:nil 7:2",
      ])
  }
}
