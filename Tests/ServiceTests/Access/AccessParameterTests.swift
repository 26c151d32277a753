// Fetches whose plans callers share give the same as fetches that are planned for each caller.

import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Plans that callers share, with their own values in the rules", .mayBlock)
struct AccessParameterTests {
  private static let sql = """
    CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE team(id TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE note(id INTEGER PRIMARY KEY, owner TEXT, writer_id INTEGER REFERENCES user(id),
      team_id TEXT REFERENCES team(id), size INTEGER);
    CREATE INDEX note_owner ON note(owner, size);
    INSERT INTO user VALUES (1,'Ada'),(2,'Bob'),(3,NULL);
    INSERT INTO team VALUES ('red','1'),('Blue','2'),('blue','key2');
    INSERT INTO note VALUES (1,'1',1,'red',1),(2,'2',2,'Blue',2),(3,'01',3,'blue',3),
      (4,'Ada',NULL,NULL,4),(5,NULL,1,NULL,5),(6,'ada',2,'red',6),(7,'red',1,'red',7),
      (8,'key2',NULL,'blue',8),(9,'1.0',3,'Blue',9),(10,'',2,NULL,10);
    """

  /// Each is the rule of `note`. A rule that uses a value of the caller otherwise than in `==` and `!=`
  /// is planned for each caller.
  static let rules: [String] = [
    "owner == $user.id", "owner != $user.id", "$user.id == owner", "owner == $user",
    "owner == $user.name", "owner == $user.id OR owner == $user.name",
    "$user != nil AND owner == $user.id", "$user == nil OR owner == $user.id",
    "owner == $user.id OR 'boss' IN $user.roles", "NOT (owner == $user.id OR size == 3)",
    "writer == $user.id", "writer.id == $user.id", "writer != $user.id", "team == $user.id",
    "team.id == $user.id", "team.name == $user.id", "size == $user.id", "size >= $user.id",
    "writer == $user.id AND owner == $user.id", "ANY writer.note.owner == $user.id",
    "NONE writer.note.owner == $user.id",
    "SUBQUERY(writer.note, $n, $n.owner == $user.id).@count > 0",
    "SUBQUERY(writer.note, $n, $n.size > 2).@count == $user.id", "owner ==[c] $user.id",
    "owner BEGINSWITH $user.id", "owner IN $user.roles", "owner > $user.id",
    "size BETWEEN {$user.id, 9}", "$user.id == '1'", "owner == nil OR owner == $user.id",
    "size > 4",
  ]

  private typealias User = AccessFixture.User

  private static let users: [AccessFixture.User] = [
    User(name: "a", id: "1", roles: ["boss", "red"]), User(name: "b", id: "2"),
    User(name: "c", id: "01"), User(name: "d", id: "Ada", roles: ["Ada", "1"]),
    User(name: "e", id: "red"), User(name: "f", id: "Blue"),
    User(name: "g", id: "1.0", roles: ["boss"]), User(name: "h", id: ""),
    User(name: "i", id: "it's"), User(name: "j", id: nil), User(name: "k", id: "-1"),
    User(name: "l", id: "99999999999999999999"), User(name: "2", id: "9", roles: ["Ada"]),
  ]

  @Test("The rows of each caller are those of a fetch that no other one shares", arguments: rules)
  func parity(rule: String) throws {
    let rules = """
      {"access":{"default":true},"entities":{"note":{"access":{"read":"\(rule)"}}}}
      """
    let fixture = try AccessFixture(Self.sql, rules: rules, users: Self.users)
    for (query, fetch) in [
      ("where=size>=#&sort=-size&limit=7", #""where":"size >= #","sort":["-size"],"limit":7"#),
      (
        "where=ANY%20writer.note.size>#&select=owner,team&sort=owner",
        #""where":"ANY writer.note.size > #","select":["owner","team"],"sort":["owner"]"#
      ),
    ] {
      for number in 0...3 {
        for user in Self.users {
          let shared = try fixture.ask(
            user.name, "GET", "/v1/objects/note?\(query)".replacing("#", with: "\(number)"))
          let own = try fixture.ask(
            user.name, "POST", "/v1/fetch",
            #"{"entity":"note",\#(fetch)}"#.replacing("#", with: "\(number)"))
          #expect(shared.status == 200, "\(user): \(shared.text)")
          #expect(shared.text == own.text, "\(user), \(query), \(number)")
        }
      }
    }
  }

  @Test("An object that a caller reads or changes is one of its rows", arguments: rules)
  func objects(rule: String) throws {
    func fixture(_ action: String) throws -> AccessFixture {
      let rules = """
        {"access":{"default":true},"entities":{"note":{"access":{"\(action)":"\(rule)"}}}}
        """
      return try AccessFixture(Self.sql, rules: rules, users: Self.users)
    }
    let (reading, updating) = try (fixture("read"), fixture("update"))
    for user in Self.users {
      let rows = try reading.ask(
        user.name, "POST", "/v1/fetch", #"{"entity":"note","as":"ids"}"#)
      let ids = Set(rows.items.compactMap(\.integer))
      for id in 1...5 as ClosedRange<Int64> {
        let read = try reading.ask(user.name, "GET", "/v1/objects/note/\(id)")
        #expect(read.status == (ids.contains(id) ? 200 : 404), "\(user), \(id)")
        let change = try updating.ask(
          user.name, "PATCH", "/v1/objects/note/\(id)", "{\"size\":\(id)}")
        #expect(change.status == (ids.contains(id) ? 200 : 403), "\(user), \(id): \(change.text)")
      }
    }
  }

  @Test(
    "An object is read by its rule after another program has written a UUID in upper case",
    .onlyForFiles,
    arguments: [("blocked != $user.id", 404), ("owner == $user.id", 200)])
  func otherForm(rule: String, status: Int) throws {
    let user = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    let rules = """
      {"access":{"default":true},"entities":{"note":{"access":{"read":"\(rule)"}}}}
      """
    let fixture = try AccessFixture(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, blocked UUID, owner UUID);
      CREATE INDEX note_blocked ON note(blocked);
      CREATE INDEX note_owner ON note(owner);
      INSERT INTO note VALUES (1, '\(user)', '\(user)'),
        (2, 'aaaaaaaa-9dad-11d1-80b4-00c04fd430c8', 'aaaaaaaa-9dad-11d1-80b4-00c04fd430c8');
      """,
      rules: rules, users: [User(name: "a", id: user)])
    for id in [1, 2, 1] { _ = try fixture.ask("a", "GET", "/v1/objects/note/\(id)") }
    #expect(try fixture.ask("a", "GET", "/v1/objects/note/1").status == status)
    try fixture.file.runExternally("UPDATE note SET blocked = upper(blocked), owner = upper(owner)")
    #expect(try fixture.ask("a", "GET", "/v1/objects/note/1").status == status)
    #expect(try fixture.ids("a", "/v1/objects/note") == (status == 200 ? [1] : [2]))
  }
}
