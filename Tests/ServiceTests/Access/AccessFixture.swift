// The fixture of tests of access rules.

import FetchModel
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

/// A store with users, teams and notes, access rules, and an API key for each user.
struct AccessFixture {
  /// A user with an API key.
  struct User {
    /// The end of the key's name: `key1`.
    let name: String
    let id: String?
    var roles: [String] = []
    var scopes = ["read", "write"]
  }

  static let sql = """
    CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT, salary INTEGER);
    CREATE TABLE team(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE member(team_id INTEGER REFERENCES team(id), user_id INTEGER REFERENCES user(id),
      PRIMARY KEY (team_id, user_id));
    CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, owner_id INTEGER REFERENCES user(id),
      team_id INTEGER REFERENCES team(id), size INTEGER, created TEXT);
    INSERT INTO user VALUES (1,'Ada',10),(2,'Bob',20),(3,'Eve',30);
    INSERT INTO team VALUES (1,'red'),(2,'blue');
    INSERT INTO member VALUES (1,1),(1,2),(2,3);
    INSERT INTO note VALUES (1,'a1',1,NULL,1,'x'),(2,'a2',1,1,2,'x'),(3,'b1',2,NULL,3,'x'),
      (4,'e1',3,2,4,'x'),(5,'free',NULL,NULL,5,'x');
    """

  static let rules = """
    {"entities":{
      "user":{"access":{"read":"id == $user.id OR ANY team.user.id == $user.id"},
        "attributes":{"salary":{"hidden":"NOT 'hr' IN $user.roles"}}},
      "team":{"access":{"read":"ANY user.id == $user.id","update":"'boss' IN $user.roles"}},
      "note":{"access":{"read":"owner == $user.id OR ANY team.user.id == $user.id",
        "insert":"owner == $user.id","update":"owner == $user.id",
        "delete":"owner == $user.id AND size < 4"},
        "attributes":{"created":{"readOnly":true}}}}}
    """

  let file: ServedFile
  private let keys: [String: APIKey]

  /// The caller with the server's token, which no rule restricts.
  static let serverToken: String? = nil
  /// A caller with the scope `admin` alone.
  static let admin = "9"

  static let users = [
    User(name: "1", id: "1"), User(name: "2", id: "2", roles: ["hr"]),
    User(name: "3", id: "3", roles: ["boss"]), User(name: admin, id: admin, scopes: ["admin"]),
  ]

  /// A store of a model, whose rules are in it.
  init(model: String, users: [User] = users) throws {
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(model.utf8))
    try self.init("", rules: nil, options: options, users: users)
  }

  init(
    _ sql: String = sql, rules: String? = rules, options: SQLiteStoreOptions = SQLiteStoreOptions(),
    users: [User] = users
  ) throws {
    var configuration = ServiceConfiguration()
    configuration.bearerToken = "secret"
    configuration.explains = true
    configuration.access = try rules.map { try AccessDeclaration(parsing: Array($0.utf8)) }
    let file = try ServedFile(sql, options: options, configuration: configuration)
    var keys: [String: APIKey] = [:]
    try file.restart { file in
      for user in users {
        let key = APIKey()
        keys[user.name] = key
        let record = APIKeyRecord(
          id: key.id, name: "key\(user.name)", digest: key.digest, scopes: user.scopes,
          roles: user.roles, userID: user.id, created: 1)
        let isAdded = try file.addAPIKey(record)
        #expect(isAdded)
      }
    }
    self.file = file
    self.keys = keys
  }

  func headers(_ user: String?) -> [(name: String, value: String)] {
    let credential = user.flatMap { keys[$0]?.text } ?? "secret"
    return [("Authorization", "Bearer \(credential)")]
  }

  /// - Parameter user: nil for the server's token, which no rule restricts.
  func ask(
    _ user: String?, _ method: String, _ target: String, _ body: String? = nil,
    headers: [(name: String, value: String)] = []
  ) throws -> Answer {
    try file.ask(method, target, body: body, headers: self.headers(user) + headers)
  }

  func begin(_ user: String?, _ target: String) -> Pending {
    file.begin("GET", target, headers: headers(user))
  }

  /// The ids that a fetch of `target` gives a user.
  func ids(_ user: String?, _ target: String) throws -> [Int64] {
    let answer = try ask(user, "GET", target + (target.contains("?") ? "&" : "?") + "as=ids")
    #expect(answer.status == 200, "\(target): \(answer.text)")
    return answer.items.compactMap(\.integer)
  }
}
