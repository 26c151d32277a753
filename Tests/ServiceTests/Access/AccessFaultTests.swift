// Access rules that no longer fit the tables of a served file.

import FetchModel
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

@Suite("Access rules that do not fit the tables", .mayBlock)
struct AccessFaultTests {
  private static let rules = """
    {"entities":{"note":{"access":{"read":"owner == $user.id"}},
      "user":{"attributes":{"pay":{"hidden":true}}}}}
    """

  @Test("No request is served under them")
  func requests() throws {
    let fixture = try AccessFixture(rules: Self.rules)
    let requests: [(method: String, target: String, body: String?)] = [
      ("GET", "/v1/objects/note", nil), ("GET", "/v1/objects/note/1", nil),
      ("GET", "/v1/model", nil), ("GET", "/v1/changes", nil),
      ("POST", "/v1/live", #"{"fetches":{"a":{"entity":"team"}}}"#),
      ("PATCH", "/v1/objects/team/1", #"{"name":"x"}"#),
    ]
    for request in requests {
      let user = request.target == "/v1/changes" ? AccessFixture.admin : "1"
      let answer = try fixture.ask(user, request.method, request.target, request.body)
      #expect(answer.status == 503, "\(request.target)")
      #expect(answer.code == "not-ready")
      #expect(answer.text.contains("The access rules do not fit the tables."), "\(answer.text)")
      #expect(!answer.text.contains("pay"))
    }
  }

  @Test("The server is not ready, names no rule, and serves the server token")
  func readiness() throws {
    let fixture = try AccessFixture(rules: Self.rules)
    let ready = try fixture.ask(nil, "GET", "/health/ready")
    #expect(ready.status == 503)
    #expect(ready.text.contains(#""code":"access-rules""#), "\(ready.text)")
    #expect(!ready.text.contains("pay"))
    #expect(try fixture.ids(nil, "/v1/objects/note") == [1, 2, 3, 4, 5])
  }

  @Test(
    "Rules that read another relationship since the tables changed serve nobody until a reload",
    .enabled(if: Sqlite3.isInstalled), .onlyForFiles,
    arguments: [
      // `team` of a note is now what refers to it by this column, not by the join table.
      "ALTER TABLE team ADD COLUMN note_id INTEGER REFERENCES note(id);",
      // The join table has another column for the team.
      "ALTER TABLE note_team RENAME COLUMN team_id TO guest_id;",
    ])
  func changedMeaning(_ change: String) throws {
    let rules = #"{"entities":{"note":{"access":{"read":"ANY team.name == 'red'"}}}}"#
    var configuration = ServiceConfiguration()
    configuration.bearerToken = "secret"
    configuration.servesAnonymous = true
    configuration.access = try AccessDeclaration(parsing: Array(rules.utf8))
    let file = try HostedFile(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT);
      CREATE TABLE team(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE note_team(note_id INTEGER REFERENCES note(id),
        team_id INTEGER REFERENCES team(id), PRIMARY KEY (note_id, team_id));
      """, configuration: configuration)
    #expect(try file.ask("/v1/objects/note").status == 200)
    try file.shell("ALTER TABLE note ADD COLUMN size INTEGER;")
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/note").status == 200)
    try file.shell(change)
    #expect(file.reopenings(atLeast: 2) == 2)
    let refused = try file.ask("/v1/objects/note")
    #expect(refused.status == 503)
    #expect(
      refused.text.contains("The access rules read other tables or columns than before."),
      "\(refused.text)")
    #expect(file.host.hasChangedRules)
    let token = ScopeMatrixTests.bearer("secret")
    #expect(try file.ask("GET", "/v1/objects/note", headers: token).status == 200)
    let path = file.path
    file.host.reload(configuration) { () throws(StoreError) in try SQLiteStore(path: path) }
    #expect(try file.ask("/v1/objects/note").status == 200)
    #expect(!file.host.hasChangedRules)
  }
}
