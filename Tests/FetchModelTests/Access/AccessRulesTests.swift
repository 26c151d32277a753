// Access rules: reading, checking and resolving for a caller.

import FetchModel
import Testing

private let model = Model(entities: [
  Entity(
    name: "User", attributes: [Attribute(name: "name", type: .string)], relationships: [],
    idType: .integer),
  Entity(
    name: "Note",
    attributes: [
      Attribute(name: "title", type: .string), Attribute(name: "salary", type: .integer),
    ],
    relationships: [Relationship(name: "owner", destination: 0, isToMany: false)],
    idType: .integer),
])

/// The same model with the notes of each user.
private let linked = Model(entities: [
  Entity(
    name: "User", attributes: [Attribute(name: "name", type: .string)],
    relationships: [Relationship(name: "note", destination: 1, isToMany: true)],
    idType: .integer),
  model.entities[1],
])

private func rules(_ text: String) throws(ModelFileError) -> AccessRules {
  try AccessRules(AccessDeclaration(parsing: Array(text.utf8)), model: model)
}

private func problems(_ text: String) -> [String] {
  do throws(ModelFileError) {
    _ = try rules(text)
    return []
  } catch {
    return error.problems.map(\.description)
  }
}

@Suite("Access rules are read, checked and resolved for a caller")
struct AccessRulesTests {
  @Test(
    "A file's table with a column called true cannot be restricted",
    arguments: [
      (#"{"read":"x > 0"}"#, false), (#"{"read":false}"#, false), (#"{"read":true}"#, true),
      (#"{"read":true,"update":"x > 0"}"#, true), (#"{"update":true}"#, false),
    ])
  func columnCalledTrue(declared: String, isAccepted: Bool) throws {
    let table = Entity(
      name: "t",
      attributes: [
        Attribute(name: "x", type: .integer), Attribute(name: "True", type: .integer),
      ],
      relationships: [], idType: .integer, isObservable: false, isRestrictable: false)
    let text = #"{"entities":{"t":{"access":\#(declared)}}}"#
    let declaration = try AccessDeclaration(parsing: Array(text.utf8))
    do throws(ModelFileError) {
      _ = try AccessRules(declaration, model: Model(entities: [table]))
      #expect(isAccepted)
    } catch {
      #expect(!isAccepted)
      #expect(error.description.contains("its column called `true` or `false`"), "\(error)")
    }
  }

  @Test("An entity without a rule is denied once any entity has one")
  func deniedByDefault() throws {
    let access = try rules(#"{"entities":{"Note":{"access":{"read":true}}}}"#)
      .access(of: AccessCaller(id: "1"))
    #expect(access.rule(.read, 1).condition == .constant(true))
    #expect(access.rule(.update, 1).condition == .constant(false))
    #expect(access.rule(.read, 0).condition == .constant(false))
  }

  @Test("The default at the top allows what has no rule")
  func allowedByDefault() throws {
    let access = try rules(
      #"{"access":{"default":true},"entities":{"Note":{"access":{"delete":false}}}}"#
    ).access(of: AccessCaller())
    #expect(access.rule(.read, 0).condition == .constant(true))
    #expect(access.rule(.insert, 1).condition == .constant(true))
    #expect(access.rule(.delete, 1).condition == .constant(false))
  }

  @Test("Rules for attributes alone deny nothing else")
  func attributesOnly() throws {
    let access = try rules(
      #"{"entities":{"Note":{"attributes":{"salary":{"hidden":"NOT 'hr' IN $user.roles"}}}}}"#
    )
    let clerk = access.access(of: AccessCaller(id: "1", roles: ["clerk"]))
    #expect(clerk.rule(.read, 1).condition == .constant(true))
    #expect(clerk.hidden == [[], [1]])
    #expect(clerk.model.entities[1].property(named: "salary") == nil)
    #expect(clerk.model.entities[1].propertyNames == ["id", "title", "owner"])
    let hr = access.access(of: AccessCaller(id: "1", roles: ["hr"]))
    #expect(hr.hidden == [[], []])
  }

  @Test("$user.id is converted to the type that it is compared with")
  func converted() throws {
    let rules = try rules(#"{"entities":{"Note":{"access":{"read":"owner == $user.id"}}}}"#)
    let expected = try ResolvedPredicate(parsing: "owner == 7", entity: 1, model: model)
    #expect(rules.access(of: AccessCaller(id: "7")).rule(.read, 1) == expected)
  }

  @Test("A user's id that cannot be converted denies, also under NOT, and is not nil")
  func inconvertible() throws {
    let rules = try rules(#"{"entities":{"Note":{"access":{"read":"NOT owner == $user.id"}}}}"#)
    let access = rules.access(of: AccessCaller(id: "auth0|x"))
    #expect(access.rule(.read, 1).condition == .constant(false))
  }

  @Test("The anonymous caller's id is nil, and its roles are none")
  func anonymous() throws {
    let rules = try rules(
      #"{"entities":{"Note":{"access":{"read":"$user != nil","update":"'a' IN $user.roles"}}}}"#)
    let anonymous = rules.access(of: AccessCaller())
    #expect(anonymous.rule(.read, 1).condition == .constant(false))
    #expect(anonymous.rule(.update, 1).condition == .constant(false))
    let user = rules.access(of: AccessCaller(id: "1", roles: ["a", "b"]))
    #expect(user.rule(.read, 1).condition == .constant(true))
    #expect(user.rule(.update, 1).condition == .constant(true))
  }

  @Test("A claim is found by its path; one that is missing is nil")
  func claims() throws {
    let rules = try rules(
      #"{"entities":{"Note":{"access":{"read":"title == $user.claims.org.name"}}}}"#)
    let claims = try JSON(parsing: Array(#"{"org":{"name":"x"}}"#.utf8))
    let expected = try ResolvedPredicate(parsing: "title == 'x'", entity: 1, model: model)
    #expect(rules.access(of: AccessCaller(claims: claims)).rule(.read, 1) == expected)
    let missing = try ResolvedPredicate(parsing: "title == nil", entity: 1, model: model)
    #expect(rules.access(of: AccessCaller()).rule(.read, 1) == missing)
  }

  @Test(
    "A claim is compared with a number, a truth value and a text",
    arguments: [
      ("$user.claims.level < 5", false), ("$user.claims.level < 9.5", true),
      ("$user.claims.level >= 9", true), ("$user.claims.level == 9.0", true),
      ("$user.claims.staff == false", false), ("$user.claims.staff != false", true),
      ("$user.claims.group < 'k'", true), ("$user.claims.group ==[c] 'HR'", true),
      ("$user.claims.group ==[c] 'hq'", false), ("$user.claims.missing < 5", false),
      ("$user.claims.missing == 5", false), ("$user.claims.missing != 5", true),
    ])
  func comparedClaims(rule: String, holds: Bool) throws {
    let rules = try rules(
      #"{"entities":{"Note":{"attributes":{"salary":{"hidden":"\#(rule)"},"title":{"readOnly":"\#(rule)"}}}}}"#
    )
    let claims = try JSON(parsing: Array(#"{"level":9,"staff":true,"group":"hr"}"#.utf8))
    let access = rules.access(of: AccessCaller(claims: claims))
    #expect(access.hidden == [[], holds ? [1] : []])
    #expect(access.readOnly == [[], holds ? [0] : []])
  }

  @Test("A list of numbers in a claim is compared with numbers and ids; other claims deny")
  func listClaims() throws {
    let rules = try rules(
      #"{"entities":{"Note":{"access":{"read":"owner IN $user.claims.teams","update":"salary IN $user.claims.levels AND salary < $user.claims.most"}}}}"#
    )
    let claims = try JSON(parsing: Array(#"{"teams":[1,2],"levels":[1,2],"most":9}"#.utf8))
    let access = rules.access(of: AccessCaller(claims: claims))
    let owners = try ResolvedPredicate(parsing: "owner IN {1, 2}", entity: 1, model: model)
    #expect(access.rule(.read, 1) == owners)
    let levels = try ResolvedPredicate(
      parsing: "salary IN {1, 2} AND salary < 9", entity: 1, model: model)
    #expect(access.rule(.update, 1) == levels)
    #expect(rules.access(of: AccessCaller()).rule(.read, 1).condition == .constant(false))
    let text = try JSON(parsing: Array(#"{"teams":"1"}"#.utf8))
    let other = rules.access(of: AccessCaller(claims: text))
    #expect(other.rule(.read, 1).condition == .constant(false))
  }

  @Test("The smallest integer of a claim can be negated")
  func smallestClaim() throws {
    let rules = try rules(
      #"{"entities":{"Note":{"access":{"read":"salary < -$user.claims.level"}}}}"#)
    let claims = try JSON(parsing: Array(#"{"level":-9223372036854775808}"#.utf8))
    let access = rules.access(of: AccessCaller(claims: claims))
    #expect(access.rule(.read, 1).condition != .constant(false))
  }

  @Test("Callers with equal values of the rules' variables are equal, others are not")
  func equality() throws {
    let rules = try rules(#"{"entities":{"Note":{"access":{"read":"owner == $user.id"}}}}"#)
    let one = rules.access(of: AccessCaller(id: "1", roles: ["a"]))
    #expect(one == rules.access(of: AccessCaller(id: "1", roles: ["b"])))
    #expect(one != rules.access(of: AccessCaller(id: "2", roles: ["a"])))
    #expect(one.tag != rules.access(of: AccessCaller(id: "2")).tag)
  }

  @Test(
    "Callers share rules with parameters where these compare the caller's values",
    arguments: [
      ("owner == $user.id", true), ("title == $user.id", true), ("title != $user.id", true),
      ("$user != nil AND owner == $user.id", true), ("ANY owner.note.title == $user.id", true),
      ("title BEGINSWITH $user.id", false), ("title ==[c] $user.id", false),
      ("title > $user.id", false), ("title IN {$user.id, 'x'}", false), ("salary > 3", true),
      ("'a' IN $user.roles", true),
    ])
  func shared(rule: String, isShared: Bool) throws {
    let declaration = #"{"entities":{"Note":{"access":{"read":"\#(rule)"}}}}"#
    let rules = try AccessRules(AccessDeclaration(parsing: Array(declaration.utf8)), model: linked)
    let templates = ["1", "2"].map {
      rules.access(of: AccessCaller(id: $0, roles: ["a"])).parameterized?.template
    }
    #expect((templates[0] != nil) == isShared)
    #expect(templates[0] == templates[1])
    let other = rules.access(of: AccessCaller(id: "\u{0}", roles: ["a"]))
    #expect((other.parameterized == nil) == rule.contains("$user.id"))
  }

  @Test("The tag of a caller's rules changes with each rule, and not with the process")
  func tags() throws {
    let declarations = [
      #"{"entities":{"Note":{"access":{"read":"owner == $user.id"}}}}"#,
      #"{"entities":{"Note":{"access":{"read":"owner != $user.id"}}}}"#,
      #"{"entities":{"Note":{"access":{"update":"owner == $user.id"}}}}"#,
      #"{"access":{"default":true},"entities":{"Note":{"access":{"read":"owner == $user.id"}}}}"#,
    ]
    let tags = try declarations.map { try rules($0).access(of: AccessCaller(id: "1")).tag }
    #expect(Set(tags).count == 4)
    #expect(try rules(declarations[0]).access(of: AccessCaller(id: "1")).tag == tags[0])
    #expect(tags[0] == "39e1e61cce8a87ad")
  }

  @Test(
    "A rule that does not fit is refused with its place",
    arguments: [
      (
        #"{"entities":{"Nte":{"access":{"read":true}}}}"#,
        "entities/Nte: is no entity; did you mean `Note`?"
      ),
      (
        #"{"entities":{"Note":{"access":{"raed":true}}}}"#,
        "entities/Note/access/raed: is not known here; did you mean `read`?"
      ),
      (
        #"{"entities":{"Note":{"access":{}}}}"#,
        #"entities/Note/access: contains no rule; `"read": false` denies"#
      ),
      (
        #"{"entities":{"Note":{"access":{"read":7}}}}"#,
        "entities/Note/access/read: has to be true, false or a predicate, not a number"
      ),
      (
        #"{"entities":{"Note":{"access":{"read":"$user.nme == 'x'"}}}}"#,
        "entities/Note/access/read: `$user.nme` is none of $user, $user.id, $user.name, "
          + "$user.roles and $user.claims.NAME"
      ),
      (
        #"{"entities":{"Note":{"access":{"read":"owner == $userid"}}}}"#,
        "entities/Note/access/read: at 9: found `$userid`; in a rule only $user, $user.id, "
          + "$user.roles, $user.name and $user.claims.X exist"
      ),
      (
        #"{"entities":{"Note":{"access":{"read":"owner == $User.id"}}}}"#,
        "entities/Note/access/read: at 9: found `$User`; in a rule only $user, $user.id, "
          + "$user.roles, $user.name and $user.claims.X exist"
      ),
      (
        #"{"entities":{"Note":{"access":{"read":"true"}}}}"#,
        "entities/Note/access/read: is a text; write true without quotes"
      ),
      (
        #"{"entities":{"Note":{"attributes":{"owner":{"hidden":true}}}}}"#,
        "entities/Note/attributes/owner: is a relationship; restrict its entity instead"
      ),
      (
        #"{"entities":{"Note":{"access":{"read":true},"zzzzzz":1}}}"#,
        "entities/Note/zzzzzz: is not known here; known are `access`, `attributes`"
      ),
      (
        #"{"entities":{"Note":{"attributes":{"salry":{"hidden":true}}}}}"#,
        "entities/Note/attributes/salry: is no attribute; did you mean `salary`?"
      ),
      (
        #"{"entities":{"Note":{"attributes":{"salary":{"hidden":"title == 'x'"}}}}}"#,
        "entities/Note/attributes/salary/hidden: is the same for all objects: it may use $user "
          + "and no property"
      ),
    ])
  func refused(_ text: String, _ problem: String) {
    #expect(problems(text) == [problem])
  }

  @Test("An unknown property in a rule is refused with its offset")
  func unknownProperty() {
    let found = problems(#"{"entities":{"Note":{"access":{"read":"titel == 'x'"}}}}"#)
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("entities/Note/access/read: at 0: ") == true)
  }
}
