// Access rules over generated stores of a model, compared with a copy without the unreadable rows.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

/// Random rows of a model with subentities and hidden attributes. Every response to a caller equals the
/// response of a store without rules, whose model has no hidden attribute and whose tables have no
/// row that the caller may not read. After every save the diffs are equal too.
@Suite("Nothing of a model's hidden attributes and unreadable objects reaches a caller", .mayBlock)
struct AccessModelProofTests {
  /// Rules for `read` by root entity; `U` is the user's id.
  private static let pool: [(entity: String, rules: [String])] = [
    ("Person", ["TRUEPREDICATE", "id == U OR boss == U", "pay < 7", "ANY teams.members == U"]),
    ("Team", ["TRUEPREDICATE", "ANY members == U", "lead.rank > 1 OR name > 'm'", "lead == U"]),
    (
      "Note",
      [
        "TRUEPREDICATE", "owner == U OR ANY team.members == U", "secret != 'a'", "fan == U",
        "entity == 'Memo' OR size > 3", "SUBQUERY(replies, $n, $n.secret > 'b').@count == 0",
      ]
    ),
  ]

  /// Attributes that a rule may hide, and their rules. User 2 alone has the role `hr`.
  private static let hideable = ["Person.pay", "Chief.rank", "Note.secret", "Memo.code"]
  private static let hidings: [(rule: String, hides: @Sendable (String) -> Bool)] = [
    ("true", { _ in true }), ("false", { _ in false }),
    (#""$user.id == '1'""#, { $0 == "1" }), (#""NOT 'hr' IN $user.roles""#, { $0 != "2" }),
  ]

  private struct Declared {
    var rules: [(entity: String, read: String)] = []
    var hidings: [String: Int] = [:]

    init(_ random: inout SeededRandom) {
      rules = AccessModelProofTests.pool.map {
        ($0.entity, $0.rules.randomElement(using: &random) ?? "")
      }
      for name in AccessModelProofTests.hideable {
        hidings[name] = Int.random(in: 0...3, using: &random)
      }
    }

    func hides(_ name: String, from user: String) -> Bool {
      hidings[name].map { AccessModelProofTests.hidings[$0].hides(user) } ?? false
    }

    /// - Parameter user: the caller whose copy has this model; nil for the store with the rules.
    func model(for user: String?) -> String {
      func attribute(_ entity: String, _ name: String, _ type: String) -> String? {
        let member = #""name":"\#(name)","type":"\#(type)""#
        guard let hiding = hidings["\(entity).\(name)"] else { return "{\(member)}" }
        guard let user else {
          return #"{\#(member),"hidden":\#(AccessModelProofTests.hidings[hiding].rule)}"#
        }
        return AccessModelProofTests.hidings[hiding].hides(user) ? nil : "{\(member)}"
      }
      func entity(_ name: String, _ attributes: [(String, String)], _ more: String) -> String {
        let list = attributes.compactMap { attribute(name, $0.0, $0.1) }.joined(separator: ",")
        var access = ""
        if user == nil, let rule = rules.first(where: { $0.entity == name })?.read {
          let text = AccessModelProofTests.rule(rule, "$user.id")
          access = #""access":{"read":"\#(text)","insert":true,"update":true,"delete":true},"#
        }
        return #"{"name":"\#(name)",\#(access)"attributes":[\#(list)],\#(more)}"#
      }
      func link(_ name: String, _ to: String, _ inverse: String, many: Bool = false) -> String {
        #"{"name":"\#(name)","destination":"\#(to)","inverse":"\#(inverse)","toMany":\#(many)}"#
      }
      func links(_ list: String...) -> String {
        #""relationships":[\#(list.joined(separator: ","))]"#
      }
      let entities = [
        entity(
          "Person", [("name", "String"), ("pay", "Integer 64")],
          links(
            link("boss", "Person", "reports"), link("reports", "Person", "boss", many: true),
            link("teams", "Team", "members", many: true),
            link("notes", "Note", "owner", many: true), link("favorite", "Note", "fan"))),
        entity(
          "Chief", [("rank", "Integer 64")],
          #""parent":"Person","# + links(link("leads", "Team", "lead", many: true))),
        entity(
          "Team", [("name", "String")],
          links(
            link("members", "Person", "teams", many: true), link("lead", "Chief", "leads"),
            link("notes", "Note", "team", many: true))),
        entity(
          "Note", [("title", "String"), ("size", "Integer 64"), ("secret", "String")],
          links(
            link("owner", "Person", "notes"), link("team", "Team", "notes"),
            link("fan", "Person", "favorite"),
            link("parent", "Note", "replies"), link("replies", "Note", "parent", many: true))),
        entity("Memo", [("code", "String")], #""parent":"Note""#),
      ]
      let templates = #"[{"name":"large","entity":"Note","predicate":"size > 4","sort":["title"]}]"#
      return #"{"entities":[\#(entities.joined(separator: ","))],"fetchTemplates":\#(templates)}"#
    }
  }

  private static func rule(_ text: String, _ user: String) -> String {
    text.replacing(" U", with: " \(user)")
  }

  // MARK: Rows

  private static let tables: [(name: String, columns: [(column: String, attribute: String)])] = [
    (
      "Person",
      [
        ("entity", ""), ("name", ""), ("pay", "Person.pay"), ("boss", ""), ("favorite", ""),
        ("rank", "Chief.rank"),
      ]
    ),
    ("Team", [("name", ""), ("lead", "")]),
    (
      "Note",
      [
        ("entity", ""), ("title", ""), ("size", ""), ("secret", "Note.secret"), ("owner", ""),
        ("team", ""), ("parent", ""), ("fan", ""), ("code", "Memo.code"),
      ]
    ),
  ]

  private static func rows(_ random: inout SeededRandom) -> String {
    func id(_ ids: ClosedRange<Int>) -> String {
      let number = Int.random(in: (ids.lowerBound - 1)...ids.upperBound, using: &random)
      return number < ids.lowerBound ? "NULL" : "\(number)"
    }
    func text() -> String { "'\("abcnxyz".randomElement(using: &random) ?? "a")'" }
    func number() -> Int { Int.random(in: 0...9, using: &random) }
    var sql = ""
    for person in 1...5 {
      // Only 4 and 5 lead a team.
      let (entity, rank) = person > 3 ? ("'Chief'", "\(number())") : ("'Person'", "NULL")
      sql += """
        INSERT INTO Person(id,entity,name,pay,boss,rank)
        VALUES (\(person),\(entity),\(text()),\(number()),\(id(1...5)),\(rank));
        """
    }
    for team in 1...4 { sql += "INSERT INTO Team VALUES (\(team),\(text()),\(id(4...5)));" }
    for team in 1...4 {
      for person in 1...5 where Bool.random(using: &random) {
        sql += "INSERT INTO Person_teams VALUES (\(person),\(team));"
      }
    }
    for note in 1...10 {
      let (entity, code) = note > 6 ? ("'Memo'", text()) : ("'Note'", "NULL")
      sql += """
        INSERT INTO Note(id,entity,title,size,secret,owner,team,parent,code)
        VALUES (\(note),\(entity),\(text()),\(number()),\(text()),\(id(1...5)),\(id(1...4)),
          \(note == 1 ? "NULL" : id(1...(note - 1))),\(code));
        """
    }
    // A trigger sets the other end.
    for person in 1...5 where Bool.random(using: &random) {
      sql += "UPDATE Person SET favorite = \(person * 2) WHERE id = \(person);"
    }
    return sql
  }

  private static func save(_ random: inout SeededRandom) -> String {
    let note = Int.random(in: 1...10, using: &random)
    let person = Int.random(in: 1...5, using: &random)
    let team = Int.random(in: 1...4, using: &random)
    let number = Int.random(in: 0...9, using: &random)
    let text = "abcnxyz".randomElement(using: &random) ?? "a"
    let kind = Bool.random(using: &random) ? "add" : "remove"
    let changes = [
      #"{"update":"Note","id":\#(note),"values":{"owner":\#(person),"size":\#(number)}}"#,
      #"{"update":"Note","id":\#(note),"values":{"secret":"\#(text)"}}"#,
      #"{"update":"Note","id":\#(note),"values":{"team":\#(team),"title":"\#(text)"}}"#,
      #"{"update":"Memo","id":\#(7 + number % 4),"values":{"code":"\#(text)"}}"#,
      #"{"update":"Chief","id":\#(4 + number % 2),"values":{"rank":\#(number)}}"#,
      #"{"update":"Person","id":\#(person),"values":{"pay":\#(number)}}"#,
      #"{"update":"Person","id":\#(person),"values":{"name":"\#(text)","boss":\#(person % 5 + 1)}}"#,
      #"{"update":"Team","id":\#(team),"values":{"lead":\#(4 + number % 2)}}"#,
      #"{"update":"Person","id":\#(person),"values":{"favorite":\#(note)}}"#,
      #"{"update":"Note","id":\#(note),"values":{"fan":\#(number > 6 ? "null" : "\(person)")}}"#,
      #"{"update":"Team","id":\#(team),"values":{"members":{"\#(kind)":[\#(person)]}}}"#,
      #"{"insert":"Memo","values":{"title":"\#(text)","owner":\#(person),"size":\#(number)}}"#,
      #"{"delete":"Note","id":\#(note)}"#,
    ]
    return #"{"changes":[\#(changes.randomElement(using: &random) ?? "")]}"#
  }

  // MARK: Requests

  private struct Request {
    var method = "GET"
    let target: String
    var body: String?
    var headers: [(name: String, value: String)] = []
  }

  /// Changes with preconditions that no object fulfils: nothing is changed.
  private static let refusedChanges: [Request] =
    [1, 4, 7, 10].flatMap { id in
      [("PUT", #"{"title":"x","owner":1}"#), ("PATCH", #"{"title":"x"}"#), ("DELETE", nil)].map {
        Request(
          method: $0.0, target: "/v1/objects/Note/\(id)", body: $0.1,
          headers: [(name: "If-Match", value: "\"x\"")])
      }
    } + [
      Request(
        method: "PUT", target: "/v1/objects/Memo/3", body: "{}", headers: [("If-Match", "*")]),
      Request(method: "PUT", target: "/v1/objects/Note/3", body: #"{"size":"x"}"#),
    ]

  private static let requests: [Request] =
    [
      "Person", "Person?sort=-pay,name", "Chief", "Chief?where=rank > 2&sort=id",
      "Person?subentities=false&sort=id", "Person?where=entity == 'Chief'", "Person?where=pay > 3",
      "Person?where=pya > 3", "Note?section=owner.pay", "Note?section=secret&sort=size",
      "Note?select=title,secret&sort=id", "Note?select=title,owner.name,owner.pay&sort=id",
      "Note?where=secret == nil", "Note?where=fan.pay > 3 OR fan.favorite.size > 4&sort=id",
      "Person?select=name,favorite,favorite.title&sort=favorite.size,id",
      "Memo?sort=code", "Memo?where=code > 'b' OR size > 3&sort=id",
      "Note?expand=owner,team.lead,parent&sort=id", "Team?expand=lead,notes,members&sort=id",
      "Team?where=lead.rank > 1", "Team?select=name,members,notes,lead.name,lead.rank&sort=id",
      "Person?select=name,notes,reports,teams&sort=id", "Chief?select=name,leads,@etag&sort=id",
      "Note?as=dictionaries&select=o:owner.name,n:@count,m:@max.size&group=owner.name",
      "Note?as=dictionaries&select=p:owner.pay,n:@count&group=owner.pay",
      "Person?as=dictionaries&select=name,s:@sum.notes.size&distinct=true&sort=name",
      "Note?select=title,@etag&sort=id&digest=true", "Person?sort=boss.pay:nullslast,id",
      "Note?where=ANY replies.owner.name > 'b'&as=ids", "Note?as=count",
      "Person?where=SUBQUERY(notes,$n,$n.secret == 'a').@count > 0&as=ids",
      "Person?where=SUBQUERY(notes,$n,$n.size > 4).@count > 0&sort=-name&count=exact&limit=2",
      "Team?where=members.@max.pay > 3&as=ids", "Team?where=ALL notes.size > 2&as=ids",
      "Note?where=TERNARY(team == nil, size, team.notes.@sum.size) > 4&sort=id",
      "Note?sort=owner.boss.name,-size&limit=3&offset=1&count=exact", "Note?where=code == 'a'",
      "Note/1", "Note/3", "Note/7", "Memo/8", "Memo/2", "Person/1", "Person/4", "Chief/4",
      "Chief/2", "Person/2/pay", "Note/2/secret", "Note/3/title", "Memo/9/code", "Note/8/code",
      "Note/4?select=owner.name,owner.pay", "Note/5?expand=owner,replies", "Note/99",
    ].map { Request(target: "/v1/objects/\(escaped($0))") } + [
      Request(target: "/v1/model"), Request(target: "/v1/fetches/large"),
      Request(
        method: "POST", target: "/v1/fetch",
        body: #"{"entity":"Note","where":"owner.pay > %@","arguments":[3],"sort":["id"]}"#),
      Request(
        method: "POST", target: "/v1/live",
        body: """
          {"fetches":{"a":{"entity":"Note","sort":["-size"]},"b":{"entity":"Chief"},
            "c":{"entity":"Team","select":["name","members"]}},"wait":0}
          """),
      Request(method: "PATCH", target: "/v1/objects/Note/3", body: #"{"secrte":"x"}"#),
      Request(method: "PATCH", target: "/v1/objects/Note/99", body: #"{"title":"x"}"#),
      Request(method: "POST", target: "/v1/objects/Memo", body: #"{"owner":77}"#),
      Request(method: "POST", target: "/v1/objects/Memo", body: #"{"code":3}"#),
      Request(method: "POST", target: "/v1/objects/Memo", body: #"{"doce":3}"#),
      Request(
        method: "POST", target: "/v1/objects/Person", body: #"{"entity":"Chief","rank":"x"}"#),
    ]

  private static func escaped(_ target: String) -> String {
    target.replacing(" ", with: "%20").replacing(">", with: "%3E").replacing("$", with: "%24")
  }

  /// The status and the body without tokens, which differ between two stores; of a single object
  /// its ETag too.
  private static func essence(_ answer: Answer, of target: String = "") -> String {
    let isObject = target.contains(/objects\/[A-Z][a-z]+\/[0-9]+$/)
    return "\(answer.status) \(isObject ? answer["ETag"] ?? "" : "") "
      + answer.text.replacing(/"(token|from|to)":"[^"]*"/, with: "")
  }

  // MARK: The proof

  @Test("A caller's responses and diffs equal those of a copy without the data it may not read")
  func proof() throws {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["LIVEFETCH_ACCESS_SEED"].flatMap { UInt64($0) } ?? 1
    let count = environment["LIVEFETCH_ACCESS_COUNT"].flatMap { UInt64($0) } ?? 6
    var changes = 0
    for seed in first..<(first + count) {
      var random = SeededRandom(seed: seed)
      let user = "\(1 + seed % 3)"
      let declared = Declared(&random)
      let fixture = try AccessFixture(model: declared.model(for: nil))
      let rows = Self.rows(&random)
      try fixture.file.restart { try $0.runExternally(rows) }
      let comment = "seed \(seed), user \(user): \(declared.rules) \(declared.hidings)"
      changes += try compare(fixture, user, declared, &random, comment)
    }
    #expect(changes > 0)
  }

  private static let followed = [
    "Note?sort=id", "Note?section=owner.name&sort=-size,id", "Chief?sort=name,id",
    "Person?where=notes.@count > 1&sort=id", "Team?sort=lead.name,id&limit=2",
    "Note?where=owner.boss.name != 'q'&sort=size,id&limit=4", "Team?select=name,members&sort=id",
    "Memo?sort=title,id", "Note?sort=fan.name,id", "Person?where=favorite.size > 3&sort=id",
  ].map { "/v1/objects/\(escaped($0))&digest=true" }

  /// Returns how many diffs tell of a change.
  private func compare(
    _ fixture: AccessFixture, _ user: String, _ declared: Declared, _ random: inout SeededRandom,
    _ comment: String
  ) throws -> Int {
    var changes = 0
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(declared.model(for: user).utf8))
    let copy = try ServedFile("", options: options)
    try synchronize(copy, with: fixture, user, declared)
    var tokens: [(own: String, copied: String)] = []
    for target in Self.followed {
      let (own, copied) = (try fixture.ask(user, "GET", target), try copy.ask(target))
      tokens.append((own.json["token"]?.string ?? "", copied.json["token"]?.string ?? ""))
    }
    for _ in 1...4 {
      let save = Self.save(&random)
      let saved = try fixture.ask(nil, "POST", "/v1/save", save)
      #expect([200, 404, 409].contains(saved.status), "\(saved.text)")
      try synchronize(copy, with: fixture, user, declared)
      for (index, target) in Self.followed.enumerated() {
        let since = "\(target)&wait=0&since="
        let own = try fixture.ask(user, "GET", since + tokens[index].own)
        let copied = try copy.ask(since + tokens[index].copied)
        #expect(Self.essence(own) == Self.essence(copied), "\(comment), \(save): \(target)")
        if own.text.contains(/(?:inserted|deleted|updated|moved)":\[\{/) { changes += 1 }
        let fresh = Self.essence(try fixture.ask(user, "GET", target))
        #expect(fresh == Self.essence(try copy.ask(target)), "\(comment), \(save): \(target)")
        tokens[index].own = own.json["to"]?.string ?? tokens[index].own
        tokens[index].copied = copied.json["to"]?.string ?? tokens[index].copied
      }
    }
    for request in Self.requests + Self.refusedChanges {
      let own = try fixture.ask(
        user, request.method, request.target, request.body, headers: request.headers)
      let copied = try copy.ask(
        request.method, request.target, body: request.body, headers: request.headers)
      #expect(
        Self.essence(own, of: request.target) == Self.essence(copied, of: request.target),
        "\(comment): \(request.method) \(request.target)")
    }
    return changes
  }

  /// Makes the rows of `copy` those that the caller may read, without the hidden columns.
  private func synchronize(
    _ copy: ServedFile, with fixture: AccessFixture, _ user: String, _ declared: Declared
  ) throws {
    var sql = ""
    for table in Self.tables {
      let rule = declared.rules.first { $0.entity == table.name }?.read ?? ""
      let query =
        Self.rule(rule, user)
        .addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      let ids = try fixture.ids(nil, "/v1/objects/\(table.name)?where=\(query)")
      let readable = "(\(ids.map(String.init).joined(separator: ",")))"
      let columns = table.columns.filter { !declared.hides($0.attribute, from: user) }
        .map { "\"\($0.column)\"" }.joined(separator: ",")
      let (own, source) = ("main.\(table.name)", "w.\(table.name)")
      sql += """
        DELETE FROM \(own) WHERE id NOT IN \(readable);
        INSERT INTO \(own)(id,\(columns)) SELECT id,\(columns) FROM \(source)
          WHERE id IN \(readable) AND id NOT IN (SELECT id FROM \(own));
        """
    }
    // The triggers of a deletion clear references that the rows of the original still have.
    for table in Self.tables {
      let names = table.columns.filter { !declared.hides($0.attribute, from: user) }.map(\.column)
      let (own, source) = ("main.\(table.name)", "w.\(table.name)")
      for name in names {
        let value = "(SELECT o.\"\(name)\" FROM \(source) o WHERE o.id = \(table.name).id)"
        sql += "UPDATE \(own) SET \"\(name)\" = \(value) WHERE \"\(name)\" IS NOT \(value);"
      }
    }
    let links = """
      SELECT Person,Team FROM w.Person_teams
        WHERE Person IN (SELECT id FROM main.Person) AND Team IN (SELECT id FROM main.Team)
      """
    sql += """
      DELETE FROM main.Person_teams WHERE (Person,Team) NOT IN (\(links));
      INSERT OR IGNORE INTO main.Person_teams \(links);
      """
    try copy.runExternally("ATTACH '\(fixture.file.path)' AS w; BEGIN; \(sql) COMMIT; DETACH w;")
    try copy.settle()
  }
}
