// Access rules over generated stores, compared with a copy without the unreadable data.

import FetchModel
import Foundation
import SQLiteStore
import Service
import TestSupport
import Testing

/// Random models, rules, rows, callers and requests. Every response to a caller is, byte for byte, the
/// response of a store that has no hidden attribute and no row that the caller may not read, and in which
/// the caller may read everything; tokens alone differ. After every save the diffs are equal too.
///
/// `LIVEFETCH_ACCESS_SEED` and `LIVEFETCH_ACCESS_COUNT` set the first seed and how many follow. Stores
/// of an odd seed are tables that are served as they are, those of an even seed a model. Over PostgreSQL
/// there are only tables, and diffs are compared with later snapshots in place of the copy's diffs.
@Suite("Unreadable data never reaches a caller", .mayBlock)
struct AccessProofTests {
  @Test("A caller's responses and diffs equal those of a copy without the data it may not read")
  func proof() throws {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["LIVEFETCH_ACCESS_SEED"].flatMap { UInt64($0) } ?? 1
    let count = environment["LIVEFETCH_ACCESS_COUNT"].flatMap { UInt64($0) } ?? 10
    var outcomes = GeneratedProof.Outcomes()
    for seed in first..<(first + count) {
      var proof = try GeneratedProof(seed: seed)
      try proof.run()
      outcomes.add(proof.outcomes)
    }
    #expect(outcomes.successes > outcomes.requests / 4, "\(outcomes)")
    guard environment["LIVEFETCH_ACCESS_COUNT"] == nil else { return }
    #expect(outcomes.seen == (TestedStore.isPostgres ? Self.seenOfTables : Self.seen))
  }

  /// What the default seeds have to contain.
  private static let seen: Set = [
    "a caller with a role", "a caller without an id",
    "tables: links between entities", "tables: unreadable rows", "tables: hidden attributes",
    "tables: changes", "tables: saves of the caller",
    "model: links between entities", "model: unreadable rows", "model: hidden attributes",
    "model: changes", "model: saves of the caller", "model: subentities",
  ]
  private static let seenOfTables: Set = [
    "a caller with a role", "a caller without an id",
    "tables: links between entities", "tables: unreadable rows", "tables: hidden attributes",
    "tables: changes",
  ]
}

/// The proof for one generated store.
private struct GeneratedProof: SeededCaseGenerator {
  /// What has been tested.
  struct Outcomes {
    var requests = 0
    var successes = 0
    /// The kinds of stores, callers and effects.
    var seen: Set<String> = []

    mutating func add(_ other: Outcomes) {
      requests += other.requests
      successes += other.successes
      seen.formUnion(other.seen)
    }
  }

  var random: SeededRandom
  private var store: GeneratedStore
  private let model: ServedModel
  /// The caller of the proof, and another one.
  private let users: [AccessFixture.User]
  private var requests: GeneratedRequests
  private let access: GeneratedAccess
  /// The SQL of the first tables and rows; empty for a model.
  private let tables: String
  private let fixture: AccessFixture
  private let comment: String
  private(set) var outcomes = Outcomes()

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    let isPostgres = TestedStore.isPostgres
    store = GeneratedStore(
      seed: seed &* 7, isModel: !isPostgres && seed % 2 == 0, isExact: isPostgres)
    let tables = store.isModel ? "" : store.tables()
    self.tables = tables + (store.isModel ? "" : store.rows())
    let saves = store.isModel ? store.firstSaves() : []
    var options = SQLiteStoreOptions()
    options.model = store.isModel ? try ModelFile(parsing: Array(store.model().utf8)) : nil
    let plain = try ServedFile(self.tables, options: options)
    let model = ServedModel(
      try plain.ask("/v1/model").json, names: store.entities.map(\.name))
    try #require(model.entities.count == store.entities.count, "seed \(seed)")
    self.model = model
    requests = GeneratedRequests(seed: seed &* 11, store: store, model: model)
    let ids = ["1", "2", "b", nil].shuffled(using: &random)
    users = [
      AccessFixture.User(
        name: "1", id: seed % 5 == 0 ? nil : ids[0],
        roles: Bool.random(using: &random) ? ["hr"] : []),
      AccessFixture.User(name: "2", id: ids[1], roles: Bool.random(using: &random) ? ["hr"] : []),
    ]
    for save in saves {
      let saved = try plain.ask("POST", "/v1/save", body: save)
      try #require(saved.status == 200, "seed \(seed): \(save): \(saved.text)")
    }
    let user = users[0]
    access = try GeneratedAccess(seed: seed &* 13, store: store, model: model) { entity, rule in
      let target = "/v1/objects/\(model.entities[entity].name)?as=count&where="
      let predicates = ["TRUEPREDICATE", rule.predicate(for: user)]
      let totals = try predicates.map {
        try plain.ask(target + GeneratedRequest.escaped($0)).json["total"]?.integer ?? 0
      }
      return totals[1] > 0 && totals[1] < totals[0]
    }
    plain.stop()
    let file = store.isModel ? store.model(access.rules) : store.accessFile(access.rules)
    comment = "seed \(seed), \(users): \(tables) \(file)"
    fixture =
      store.isModel
      ? try AccessFixture(model: file, users: users)
      : try AccessFixture(self.tables, rules: file, users: users)
    for save in saves {
      let saved = try fixture.ask(AccessFixture.serverToken, "POST", "/v1/save", save)
      try #require(saved.status == 200, "\(comment): \(saved.text)")
    }
  }

  /// The ids of the objects of a root entity that the caller may read.
  private func readable(_ entity: Int) throws -> [JSON] {
    let rule = GeneratedRequest.escaped(access.rule(of: entity).predicate(for: users[0]))
    let target = "/v1/objects/\(store.entities[entity].name)?as=ids&where=\(rule)"
    let answer = try fixture.ask(AccessFixture.serverToken, "GET", target)
    try #require(answer.status == 200, "\(comment): \(target): \(answer.text)")
    return answer.items
  }

  private var roots: [Int] {
    store.entities.indices.filter { store.root(of: $0) == $0 }
  }

  // MARK: The copy

  /// A store with the rows that the caller may read, without the hidden columns.
  private func copy() throws -> AccessFixture {
    try copy(access.rulesOfCopy.without(access.hidden(from: users[0])))
  }

  /// - Parameter rules: Those of the copy; nil for none.
  private func copy(_ rules: GeneratedStore.Rules?) throws -> AccessFixture {
    let hidden = access.hidden(from: users[0])
    guard !store.isModel else {
      let file = store.model(rules ?? .init(), without: hidden)
      return try AccessFixture(model: file, users: users)
    }
    var sql = tables
    for entity in roots {
      let condition = store.condition(entity, ids: try readable(entity))
      let table = GeneratedStore.quoted(store.entities[entity].name)
      sql += "DELETE FROM \(table) WHERE NOT \(condition);"
      for attribute in store.entities[entity].attributes where hidden.contains(attribute.name) {
        sql += "ALTER TABLE \(table) DROP COLUMN \(GeneratedStore.quoted(attribute.name));"
      }
    }
    for join in store.joins() {
      let table = GeneratedStore.quoted(join.table)
      sql += "DELETE FROM \(table) WHERE NOT (\(isLinked(join.ends, "")));"
    }
    return try AccessFixture(sql, rules: rules.map(store.accessFile), users: users)
  }

  /// Compares the results of fetches with those of a copy that has no rules at all. Headers and ETags
  /// differ: those of responses under rules depend on the caller.
  private mutating func compareWithoutRules() throws {
    let copy = try copy(nil)
    if store.isModel { try synchronize(copy) }
    for _ in 1...12 {
      let fetch = oneIn(3) ? requests.dictionaries() : requests.fetch()
      let request = GeneratedRequest(target: fetch.target)
      let (own, copied) = (try ask(fixture, request), try ask(copy, request))
      #expect(
        "\(own.status) \(masked(own.text))" == "\(copied.status) \(masked(copied.text))",
        "\(comment)\n\(request.target)")
    }
  }

  /// SQL that is true for a row of a table between objects if both are in the tables of `schema`.
  private func isLinked(
    _ ends: [(columns: [String], target: Int)], _ schema: String
  ) -> String {
    ends.map { columns, target in
      let root = store.root(of: target)
      let table = schema + GeneratedStore.quoted(store.entities[root].name)
      let keys = GeneratedStore.list(store.keyColumns(of: root))
      return "(\(GeneratedStore.list(columns))) IN (SELECT \(keys) FROM \(table))"
    }.joined(separator: " AND ")
  }

  /// Makes the rows of the copy those that the caller may read, without the hidden columns.
  private func synchronize(_ copy: AccessFixture) throws {
    var list: [(name: String, keys: [String], condition: String)] = []
    for entity in roots {
      let condition = store.condition(entity, ids: try readable(entity))
      list.append((store.entities[entity].name, store.keyColumns(of: entity), condition))
    }
    for join in store.joins() {
      list.append((join.table, join.ends.flatMap(\.columns), isLinked(join.ends, "main.")))
    }
    var (deletions, insertions, updates) = ("", "", "")
    for (name, keys, condition) in list {
      let columns = try sqlite(
        copy.file.path, "SELECT name FROM pragma_table_info('\(name)')")
      let table = GeneratedStore.quoted(name)
      let (key, all) = (GeneratedStore.list(keys), GeneratedStore.list(columns))
      deletions += """
        DELETE FROM main.\(table) WHERE (\(key)) NOT IN
          (SELECT \(key) FROM w.\(table) WHERE \(condition));
        """
      insertions += """
        INSERT INTO main.\(table)(\(all)) SELECT \(all) FROM w.\(table)
          WHERE \(condition) AND (\(key)) NOT IN (SELECT \(key) FROM main.\(table));
        """
      let same = keys.map { "o.\"\($0)\" = \(table).\"\($0)\"" }.joined(separator: " AND ")
      for column in columns where !keys.contains(column) {
        let value = "(SELECT o.\"\(column)\" FROM w.\(table) o WHERE \(same))"
        updates +=
          "UPDATE main.\(table) SET \"\(column)\" = \(value) WHERE \"\(column)\" IS NOT \(value);"
      }
    }
    // A model's triggers change what refers to a deleted or changed row.
    try copy.file.runExternally(
      """
      ATTACH '\(fixture.file.path)' AS w; BEGIN; \(deletions) \(insertions) \(updates) \(updates)
      COMMIT; DETACH w;
      """)
    try copy.file.settle()
  }

  // MARK: Comparing

  /// The status, the headers and the body. Tokens, the ETags of snapshots and the names of databases
  /// differ between two stores.
  private func essence(_ answer: Answer, _ request: GeneratedRequest) -> String {
    let headers = answer.headers.map { name, value in
      name == "LiveFetch-Token" || name == "ETag" && !request.isSingle ? name : "\(name): \(value)"
    }
    return "\(answer.status) \(headers.sorted()) \(masked(answer.text))"
  }

  private func masked(_ text: String) -> String {
    text.replacing(/"(token|from|to|database)":"[^"]*"/, with: "")
  }

  private func ask(_ fixture: AccessFixture, _ request: GeneratedRequest) throws -> Answer {
    try fixture.ask(
      users[0].name, request.method, request.target, request.body, headers: request.headers)
  }

  private mutating func expectEqual(
    _ own: Answer, _ copied: Answer, _ request: GeneratedRequest
  ) {
    outcomes.requests += 1
    if (200..<300).contains(own.status) { outcomes.successes += 1 }
    #expect(
      essence(own, request) == essence(copied, request),
      "\(comment)\n\(request.method) \(request.target) \(request.body ?? "") \(request.headers)")
  }

  private mutating func compare(_ list: [GeneratedRequest], _ copy: AccessFixture) throws {
    for request in list {
      // What others have asked is no concern of the caller.
      if request.method == "GET", oneIn(4) {
        for user in [AccessFixture.serverToken, users[1].name] {
          _ = try fixture.ask(user, "GET", request.target)
        }
      }
      let (own, copied) = (try ask(fixture, request), try ask(copy, request))
      expectEqual(own, copied, request)
      guard request.method == "GET", own.status == 200, copied.status == 200 else { continue }
      // The ETags, the cursors and the tokens of the responses.
      var others: [(inout GeneratedRequest, Answer) -> Void] = []
      let separator = request.target.contains("?") ? "&" : "?"
      if own["ETag"] != nil, oneIn(3) {
        others.append { $0.headers += [("If-None-Match", $1["ETag"] ?? "")] }
      }
      if own.json["next"] != nil {
        others.append {
          let cursor = GeneratedRequest.escaped($1.json["next"]?.string ?? "")
          $0.target += "\(separator)after=\(cursor)"
        }
      }
      if own.json["token"] != nil, request.target.hasPrefix("/v1/objects/"), oneIn(3) {
        others.append { $0.target += "\(separator)wait=0&since=\($1.json["token"]?.string ?? "")" }
      }
      for change in others {
        var (first, second) = (request, request)
        change(&first, own)
        change(&second, copied)
        expectEqual(try ask(fixture, first), try ask(copy, second), first)
      }
    }
  }

  // MARK: The proof

  /// Records what this kind of store has.
  private mutating func see(_ what: String) {
    outcomes.seen.insert("\(store.isModel ? "model" : "tables"): \(what)")
  }

  mutating func run() throws {
    let copy = try copy()
    if store.isModel { try synchronize(copy) }
    if !users[0].roles.isEmpty { outcomes.seen.insert("a caller with a role") }
    if users[0].id == nil { outcomes.seen.insert("a caller without an id") }
    if !access.hidden(from: users[0]).isEmpty { see("hidden attributes") }
    if store.links.contains(where: { store.root(of: $0.owner) != store.root(of: $0.other) }) {
      see("links between entities")
    }
    if store.entities.contains(where: { $0.parent != nil }) { see("subentities") }
    for entity in store.entities {
      let target = "/v1/objects/\(entity.name)?as=count"
      let all = try fixture.ask(AccessFixture.serverToken, "GET", target).json["total"]
      let readable = try copy.ask(AccessFixture.serverToken, "GET", target).json["total"]
      if readable != all { see("unreadable rows") }
    }
    try compare(generatedRequests(), copy)
    try compareWithoutRules()
    if TestedStore.isPostgres {
      try apply()
    } else {
      try follow(copy)
      try save(copy)
      try compare(generatedRequests(), copy)
    }
  }

  /// The entities of which the rules allow every change.
  private var changeable: [Int] {
    store.entities.indices.filter { access.allowsChanges(of: store.root(of: $0)) }
  }

  /// Saves of the caller.
  private mutating func save(_ copy: AccessFixture) throws {
    let entities = changeable.filter { !store.refersToItself(store.root(of: $0)) }
    guard !entities.isEmpty else { return }
    for _ in 1...6 {
      let save = requests.callersSave(entities, hidden: access.hidden(from: users[0]))
      let request = GeneratedRequest(method: "POST", target: "/v1/save", body: save)
      let (own, copied) = (try ask(fixture, request), try ask(copy, request))
      expectEqual(own, copied, request)
      if own.status == 200 { see("saves of the caller") }
      try synchronize(copy)
    }
  }

  private mutating func generatedRequests() -> [GeneratedRequest] {
    var list: [GeneratedRequest] = []
    for _ in 1...12 { list.append(GeneratedRequest(target: requests.fetch().target)) }
    for _ in 1...5 { list.append(GeneratedRequest(target: requests.dictionaries().target)) }
    let changes = requests.refusedChanges(changeable, hidden: access.hidden(from: users[0]))
    for (requests, count) in [(requests.singles(), 14), (requests.others(), 14), (changes, 16)] {
      list += requests.shuffled(using: &random).prefix(count)
    }
    return list
  }

  /// Observes fetches and objects while the server token saves.
  private mutating func follow(_ copy: AccessFixture) throws {
    var watches: [GeneratedWatch] = []
    for observation in observations() {
      let request = observation.request()
      let (own, copied) = (try ask(fixture, request), try ask(copy, request))
      #expect(own.status == copied.status, "\(comment)\n\(request.target)")
      guard own.status == 200, copied.status == 200 else { continue }
      watches.append(
        try GeneratedWatch(
          observation, users[0], own: fixture, copy: copy,
          tokens: (own["LiveFetch-Token"] ?? "", copied["LiveFetch-Token"] ?? ""),
          isStream: oneIn(2), masked: masked))
    }
    for _ in 1...6 {
      let save = requests.save()
      let saved = try fixture.ask(AccessFixture.serverToken, "POST", "/v1/save", save)
      #expect([200, 404, 409, 422].contains(saved.status), "\(comment)\n\(save): \(saved.text)")
      try synchronize(copy)
      for index in watches.indices {
        let request = watches[index].observation.request()
        let place = Comment(
          rawValue: "\(comment)\n\(save)\n\(request.target) \(request.body ?? "")")
        let (pairs, isChange) = try watches[index].next(masked)
        for (own, copied) in pairs { #expect(own == copied, place) }
        if isChange { see("changes") }
      }
    }
  }

  private mutating func observations() -> [GeneratedObservation] {
    var list = (1...4).map { _ in
      GeneratedObservation(target: requests.fetch(isOrdered: true).target)
    }
    list.append(GeneratedObservation(target: requests.dictionaries().target))
    list.append(GeneratedObservation(fetches: (1...3).map { _ in requests.fetch() }))
    for _ in 1...2 { list.append(GeneratedObservation(target: requests.object())) }
    return list
  }
}

// MARK: - Diffs over PostgreSQL

extension GeneratedProof {
  /// After every save, the snapshots of every caller with their diffs applied equal new fetches.
  private mutating func apply() throws {
    var held: [(user: String, target: String, snapshot: ResultSnapshot)] = []
    for _ in 1...5 {
      var fetch = requests.fetch(isOrdered: true)
      fetch.parameters.removeAll { ["as", "digest", "int64"].contains($0.name) }
      let target = fetch.with("digest", "true").target
      for user in users {
        let answer = try fixture.ask(user.name, "GET", target)
        guard answer.status == 200 else { continue }
        held.append((user.name, target, try #require(ResultSnapshot(json: answer.json))))
      }
    }
    for _ in 1...5 {
      let save = requests.save()
      let saved = try fixture.ask(AccessFixture.serverToken, "POST", "/v1/save", save)
      #expect([200, 404, 409, 422].contains(saved.status), "\(comment)\n\(save): \(saved.text)")
      for index in held.indices {
        let (user, target, snapshot) = held[index]
        let place = Comment(rawValue: "\(comment)\n\(user): \(save)\n\(target)")
        let answer = try fixture.ask(user, "GET", "\(target)&since=\(snapshot.token)&wait=0")
        try #require(answer.status == 200, place)
        let diff = try #require(Diff(json: answer.json), place)
        try held[index].snapshot.apply(diff)
        let fresh = try fixture.ask(user, "GET", target).json
        PromiseTests.compare(
          held[index].snapshot, try #require(ResultSnapshot(json: fresh), place), place)
        if held[index].snapshot.sections != snapshot.sections { see("changes") }
      }
    }
  }
}
