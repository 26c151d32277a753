// Hidden attributes in dictionaries, problems, ETags and saves.

import FetchModel
import TestSupport
import Testing

/// Hidden values occur neither in dictionaries nor in responses to saves, and saves do not change
/// them. The callers are those of ``AccessFixture``: 2 has the role `hr`.
@Suite("Hidden values stay hidden, and as they are", .mayBlock)
struct AccessLeakTests {
  private static let model = """
    {"entities":[{"name":"Plan","sort":["code"],
      "access":{"read":true,"insert":true,"update":true,"delete":true},
      "attributes":[{"name":"title","type":"String"},
        {"name":"code","type":"String","default":"DEF","hidden":"NOT 'hr' IN $user.roles"},
        {"name":"upper","type":"String","derivation":"uppercase:(code)"},
        {"name":"level","type":"Integer 64","default":1,"readOnly":true},
        {"name":"grade","type":"Integer 64","optional":false,"default":5,
         "hidden":"NOT 'hr' IN $user.roles"}],
      "uniquenessConstraints":[["code"]]}],
     "fetchTemplates":[{"name":"all","entity":"Plan"},
      {"name":"coded","entity":"Plan","predicate":"code BEGINSWITH 'a'"}]}
    """

  @Test("Dictionaries do not know a hidden attribute")
  func dictionaries() throws {
    let fixture = try AccessFixture()
    for query in [
      "select=salary", "select=x:salary", "select=x:salary%2B1", "select=x:name,salary",
      "select=x:TERNARY(salary>1,1,0)", "group=salary", "select=salary,n:@count&group=salary",
      "select=x:@max.salary", "select=name&sort=salary",
      "select=name,salary&distinct=true&sort=-salary",
      "select=name,n:@count&group=name&having=@max.salary>1",
    ] {
      let target = "/v1/objects/user?as=dictionaries&\(query)"
      let refused = try fixture.ask("1", "GET", target)
      let unknown = try fixture.ask("1", "GET", target.replacing("salary", with: "sulary"))
      #expect(refused.status == 400, "\(query): \(refused.text)")
      #expect(refused.code == unknown.code, "\(query)")
      #expect(try fixture.ask("2", "GET", target).status == 200, "\(query)")
    }
    let body = """
      {"fetches":{"a":{"entity":"note","as":"dictionaries","select":["x:owner.salary"]}}}
      """
    #expect(try fixture.ask("1", "POST", "/v1/live", body).status == 400)
  }

  @Test(
    "A replacement keeps what is hidden, read-only, or derived from it; an insertion sets defaults")
  func replacement() throws {
    let fixture = try AccessFixture(model: Self.model)
    let inserted = try fixture.ask("2", "POST", "/v1/objects/Plan", #"{"title":"a","code":"sec1"}"#)
    #expect(inserted.status == 201, "\(inserted.text)")
    let replaced = try fixture.ask("1", "PUT", "/v1/objects/Plan/1", #"{"title":"b"}"#)
    #expect(replaced.status == 200, "\(replaced.text)")
    let stored = try fixture.ask(nil, "GET", "/v1/objects/Plan/1").text
    #expect(
      stored
        == #"{"id":1,"title":"b","code":"sec1","upper":"SEC1","level":1,"grade":5}"#)
    #expect(try fixture.ask("1", "POST", "/v1/objects/Plan", #"{"title":"c"}"#).status == 201)
    #expect(
      try fixture.ask(nil, "GET", "/v1/objects/Plan/2").text
        == #"{"id":2,"title":"c","code":"DEF","upper":"DEF","level":1,"grade":5}"#)
    #expect(try fixture.ask("1", "PUT", "/v1/objects/Plan/9", #"{"title":"d"}"#).status == 409)
    #expect(try fixture.ask("2", "PATCH", "/v1/objects/Plan/2", #"{"code":"x"}"#).status == 200)
    #expect(try fixture.ask("1", "PUT", "/v1/objects/Plan/9", #"{"title":"d"}"#).status == 201)
    #expect(
      try fixture.ask(nil, "GET", "/v1/objects/Plan/9").text
        == #"{"id":9,"title":"d","code":"DEF","upper":"DEF","level":1,"grade":5}"#)
  }

  @Test("No problem of a save names a hidden attribute")
  func problems() throws {
    let fixture = try AccessFixture(model: Self.model)
    #expect(try fixture.ask("1", "POST", "/v1/objects/Plan", #"{"title":"c"}"#).status == 201)
    let taken = try fixture.ask("1", "POST", "/v1/objects/Plan", #"{"title":"d"}"#)
    #expect(taken.status == 409)
    #expect(!taken.text.contains("code`") && !taken.text.contains(#""property""#), "\(taken.text)")
    #expect(taken.text.contains("a rule for values that the caller does not see"))
    let shown = try fixture.ask("2", "POST", "/v1/objects/Plan", #"{"title":"d"}"#)
    #expect(shown.text.contains("another Plan has the same `code`"), "\(shown.text)")
  }

  @Test("The model shows no name of a hidden attribute, and its templates are not there")
  func documents() throws {
    let fixture = try AccessFixture(model: Self.model)
    let model = try fixture.ask("1", "GET", "/v1/model").text
    for word in ["code", "grade", "DEF"] { #expect(!model.contains(word), "\(model)") }
    #expect(try fixture.ask("2", "GET", "/v1/model").text.contains("uppercase:(code)"))
    #expect(try fixture.ask("1", "GET", "/v1/fetches/coded").status == 404)
    #expect(try fixture.ask("2", "GET", "/v1/fetches/coded").status == 200)
    #expect(try fixture.ask("1", "GET", "/v1/fetches/all").status == 200)
    #expect(try fixture.ask("1", "GET", "/v1/objects/Plan").status == 200)
  }

  @Test("The model shows no class that only hidden attributes use")
  func classes() throws {
    let fixture = try AccessFixture(
      model: """
        {"classes":[{"name":"Skill","fields":[{"name":"place","type":"Place"}]},
          {"name":"Secret","parent":"Skill","fields":[]},
          {"name":"Place","fields":[{"name":"x","type":"Double"}]}],
         "entities":[{"name":"Plan","access":{"read":true},"attributes":[
          {"name":"where","type":"Transformable","class":"Place"},
          {"name":"skill","type":"Transformable","class":"Skill","hidden":"NOT 'hr' IN $user.roles"}]}]}
        """)
    let names = try ["1", "2"].map { user -> [String] in
      guard case .array(let classes)? = try fixture.ask(user, "GET", "/v1/model").json["classes"]
      else { return [] }
      return classes.compactMap { $0["name"]?.string }
    }
    #expect(names == [["Place"], ["Skill", "Secret", "Place"]])
  }

  @Test("At the route of a parent entity too, an ETag says nothing about a hidden attribute")
  func etagOfSubentity() throws {
    let fixture = try AccessFixture(
      model: """
        {"entities":[{"name":"Base","access":{"read":true,"update":true},
          "attributes":[{"name":"title","type":"String"}]},
         {"name":"Sub","parent":"Base","attributes":[{"name":"code","type":"String",
          "hidden":"NOT 'hr' IN $user.roles"}]}]}
        """)
    #expect(
      try fixture.ask(nil, "POST", "/v1/objects/Sub", #"{"title":"a","code":"x"}"#).status == 201)
    let routes = ["/v1/objects/Base/1", "/v1/objects/Sub/1"]
    func tags(_ user: String) throws -> [String?] {
      try routes.map { try fixture.ask(user, "GET", $0)["ETag"] }
    }
    let (limited, whole) = (try tags("1"), try tags("2"))
    #expect(try fixture.ask(nil, "PATCH", "/v1/objects/Sub/1", #"{"code":"y"}"#).status == 200)
    #expect(try tags("1") == limited)
    for (tag, earlier) in zip(try tags("2"), whole) { #expect(tag != earlier) }
    for (route, tag) in zip(routes, limited) {
      let headers = [(name: "If-Match", value: tag ?? "")]
      let answer = try fixture.ask("1", "PATCH", route, #"{"title":"a"}"#, headers: headers)
      #expect(answer.status == 200, "\(route): \(answer.text)")
    }
  }

  @Test("A save that names a hidden attribute gets the problem of an unknown one")
  func hiddenNameInSave() throws {
    let fixture = try AccessFixture(model: Self.model)
    for (method, target) in [("POST", "/v1/objects/Plan"), ("PATCH", "/v1/objects/Plan/1")] {
      let hidden = try fixture.ask("1", method, target, #"{"code":3}"#)
      let unknown = try fixture.ask("1", method, target, #"{"c0de":3}"#)
      #expect(hidden.status == 422)
      #expect(hidden.text == unknown.text.replacing("c0de", with: "code"))
      #expect(hidden.text.contains("`Plan` has no property `code`"), "\(hidden.text)")
    }
  }

  @Test("A base is compared with the members that the caller reads, and shows no others")
  func base() throws {
    // User 1 does not read user 3, who is in the first team too.
    let fixture = try AccessFixture(
      AccessFixture.sql + "INSERT INTO member VALUES (1,3);",
      rules: AccessFixture.rules.replacing(
        #""read":"id == $user.id OR ANY team.user.id == $user.id""#, with: #""read":"id < 3""#
      )
      .replacing("'boss' IN $user.roles", with: "TRUEPREDICATE"))
    func save(_ base: String) throws -> Answer {
      try fixture.ask(
        "1", "POST", "/v1/save",
        #"{"changes":[{"update":"team","id":1,"values":{"name":"x"},"base":{"user":\#(base)}}]}"#)
    }
    let conflict = try save("[1]")
    #expect(conflict.status == 409)
    #expect(conflict.text.contains(#""stored":[1,2]"#), "\(conflict.text)")
    #expect(try save("[1,2]").status == 200)
  }

  @Test("A list of members takes no object that the caller does not read, a member or not")
  func members() throws {
    let fixture = try AccessFixture(
      AccessFixture.sql + "INSERT INTO member VALUES (1,3);",
      rules: AccessFixture.rules.replacing(
        #""read":"id == $user.id OR ANY team.user.id == $user.id""#,
        with: #""read":"id < 3","update":true"#
      ).replacing("'boss' IN $user.roles", with: "TRUEPREDICATE"))
    func save(_ members: String) throws -> Answer {
      try fixture.ask("1", "PATCH", "/v1/objects/team/1", #"{"user":\#(members)}"#)
    }
    let member = try save("[1,3]")
    let missing = try save("[1,9]")
    #expect(member.status == 409)
    #expect(member.text == missing.text)
    #expect(try save("[1]").status == 200)
    #expect(
      try fixture.ask(nil, "GET", "/v1/objects/team/1?select=user").text
        == #"{"id":1,"user":[1,3]}"#)
  }

  @Test("A caller without the right to insert cannot probe ids and unique values")
  func insertions() throws {
    let fixture = try AccessFixture(
      AccessFixture.sql + "CREATE UNIQUE INDEX one ON note(title);",
      rules: AccessFixture.rules.replacing(#""insert":"owner == $user.id","#, with: ""))
    for body in [
      #"{"title":"a1","owner":1}"#, #"{"title":"new","owner":1}"#, #"{"id":3,"owner":1}"#,
      #"{"id":77,"owner":1}"#,
    ] {
      #expect(try fixture.ask("1", "POST", "/v1/objects/note", body).status == 403)
    }
    let unreadable = try fixture.ask("1", "PUT", "/v1/objects/note/3", #"{"owner":1}"#)
    let missing = try fixture.ask("1", "PUT", "/v1/objects/note/77", #"{"owner":1}"#)
    #expect(unreadable.status == 404)
    #expect(unreadable.text == missing.text)
  }

  @Test("The relationships of rules count among the most that a fetch goes over")
  func joins() throws {
    let sql = """
      CREATE TABLE n(id INTEGER PRIMARY KEY, t TEXT, parent_id INTEGER REFERENCES n(id));
      INSERT INTO n VALUES (1,'a',NULL);
      """
    func rule(_ steps: Int) -> String {
      let path = String(repeating: "parent.", count: steps) + "t"
      return #"{"entities":{"n":{"access":{"read":"id == 1 OR \#(path) == 'z'"}}}}"#
    }
    let fixture = try AccessFixture(sql, rules: rule(3))
    func fetch(_ user: String?, _ steps: Int) throws -> Int {
      let path = String(repeating: "parent.", count: steps) + "t"
      return try fixture.ask(
        user, "POST", "/v1/fetch", #"{"entity":"n","select":["\#(path)"]}"#
      ).status
    }
    #expect(try fetch("1", 57) == 200)
    #expect(try fetch("1", 58) == 400)
    #expect(try fetch(nil, 60) == 200)
    #expect(try fetch(nil, 61) == 400)
    // The second request of the unrestricted caller puts the plan into the cache.
    let path = String(repeating: "parent.", count: 58)
    let target = "/v1/objects/n?where=\(path)t%3E'a'&select=t"
    for (user, status) in [(nil, 200), (nil, 200), ("1", 400)] as [(String?, Int)] {
      #expect(try fixture.ask(user, "GET", target).status == status)
    }
    #expect(throws: ModelFileError.self) {
      try AccessRules(
        AccessDeclaration(parsing: Array(rule(21).utf8)), model: fixture.file.store.model)
    }
  }

  @Test("An id that only reads as another's number is not that id")
  func ids() throws {
    let fixture = try AccessFixture()
    let declaration = try AccessDeclaration(parsing: Array(AccessFixture.rules.utf8))
    let rules = try AccessRules(declaration, model: fixture.file.store.model)
    let user = try #require(fixture.file.store.model.entityIndex(named: "note"))
    let own = rules.access(of: AccessCaller(id: "1")).rule(.insert, user)
    for id in ["01", "+1", " 1", "1.0", "[1]"] {
      let other = rules.access(of: AccessCaller(id: id)).rule(.insert, user)
      #expect(other != own, "\(id)")
      #expect(other.condition == .constant(false), "\(id)")
    }
  }
}
