// The proof over one generated store: requests and diffs of a caller, compared with a copy.

import FetchModel
import Foundation
import SQLiteStore
import Service
import TestSupport
import Testing

/// The proof for one generated store.
struct GeneratedProof: SeededCaseGenerator {
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
  var store: GeneratedStore
  let model: ServedModel
  /// The caller of the proof, and another one.
  let users: [AccessFixture.User]
  var requests: GeneratedRequests
  let access: GeneratedAccess
  /// The SQL of the first tables and rows; empty for a model.
  let tables: String
  let fixture: AccessFixture
  let comment: String
  private(set) var outcomes = Outcomes()

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    store = GeneratedStore(
      seed: seed &* 7, isModel: seed % 2 == 0, isExact: TestedStore.isPostgres)
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
  func readable(_ entity: Int) throws -> [JSON] {
    let rule = GeneratedRequest.escaped(access.rule(of: entity).predicate(for: users[0]))
    let target = "/v1/objects/\(store.entities[entity].name)?as=ids&where=\(rule)"
    let answer = try fixture.ask(AccessFixture.serverToken, "GET", target)
    try #require(answer.status == 200, "\(comment): \(target): \(answer.text)")
    return answer.items
  }

  var roots: [Int] {
    store.entities.indices.filter { store.root(of: $0) == $0 }
  }

  // MARK: Comparing

  /// The status, the headers and the body. Tokens, the ETags of snapshots and the names of databases
  /// differ between two stores.
  func essence(_ answer: Answer, _ request: GeneratedRequest) -> String {
    let headers = answer.headers.map { name, value in
      name == "LiveFetch-Token" || name == "ETag" && !request.isSingle ? name : "\(name): \(value)"
    }
    return "\(answer.status) \(headers.sorted()) \(masked(answer.text))"
  }

  func masked(_ text: String) -> String {
    text.replacing(/"(token|from|to|database)":"[^"]*"/, with: "")
  }

  func ask(_ fixture: AccessFixture, _ request: GeneratedRequest) throws -> Answer {
    try fixture.ask(
      users[0].name, request.method, request.target, request.body, headers: request.headers)
  }

  mutating func expectEqual(
    _ own: Answer, _ copied: Answer, _ request: GeneratedRequest
  ) {
    outcomes.requests += 1
    if (200..<300).contains(own.status) { outcomes.successes += 1 }
    #expect(
      essence(own, request) == essence(copied, request),
      "\(comment)\n\(request.method) \(request.target) \(request.body ?? "") \(request.headers)")
  }

  mutating func compare(_ list: [GeneratedRequest], _ copy: AccessFixture) throws {
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
  mutating func see(_ what: String) {
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
    try follow(copy)
    try save(copy)
    try compare(generatedRequests(), copy)
  }

  /// The entities of which the rules allow every change.
  var changeable: [Int] {
    store.entities.indices.filter { access.allowsChanges(of: store.root(of: $0)) }
  }

  /// Saves and batches of the caller.
  mutating func save(_ copy: AccessFixture) throws {
    let entities = changeable.filter { !store.refersToItself(store.root(of: $0)) }
    guard !entities.isEmpty else { return }
    for _ in 1...6 {
      let save = requests.callersSave(entities, hidden: access.hidden(from: users[0]))
      if try keepsReference(save) { continue }
      let request = GeneratedRequest(method: "POST", target: "/v1/save", body: save)
      let (own, copied) = (try ask(fixture, request), try ask(copy, request))
      expectEqual(own, copied, request)
      if own.status == 200 { see("saves of the caller") }
      try synchronize(copy)
    }
    for _ in 1...4 {
      let request = requests.batch(entities)
      let (own, copied) = (try ask(fixture, request), try ask(copy, request))
      expectEqual(own, copied, request)
      if own.status == 200 { see("batches of the caller") }
      try synchronize(copy)
    }
  }

  /// True if a save sets a relationship to the object that it has. A caller may keep one that it cannot
  /// read, whose id it sees; the copy does not have that object.
  private func keepsReference(_ save: String) throws -> Bool {
    let change = try JSON(parsing: Array(save.utf8))["changes"]?.elements?.first
    guard let entity = change?["update"]?.string, let id = change?["id"],
      case .object(let values)? = change?["values"]
    else { return false }
    let text = id.string.map { "'\($0)'" } ?? "\(id.integer ?? 0)"
    let fetch = GeneratedFetch(entity: entity).with("where", "id == \(text)")
    let object = try fixture.ask(AccessFixture.serverToken, "GET", fetch.target).items.first
    let references = store.entities.flatMap(\.references).map(\.name)
    return values.contains { references.contains($0.name) && object?[$0.name] == $0.value }
  }

  mutating func generatedRequests() -> [GeneratedRequest] {
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
  mutating func follow(_ copy: AccessFixture) throws {
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

  mutating func observations() -> [GeneratedObservation] {
    var list = (1...4).map { _ in
      GeneratedObservation(target: requests.fetch(isOrdered: true).target)
    }
    list.append(GeneratedObservation(target: requests.dictionaries().target))
    list.append(GeneratedObservation(fetches: (1...3).map { _ in requests.fetch() }))
    for _ in 1...2 { list.append(GeneratedObservation(target: requests.object())) }
    return list
  }
}
