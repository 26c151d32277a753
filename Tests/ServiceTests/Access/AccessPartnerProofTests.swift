// Access rules over generated saves of one-to-one relationships.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import TestSupport
import Testing

/// Random rules, links and saves of one-to-one relationships. A save succeeds exactly if the caller may
/// update every object that it changes, which a save without rules shows.
@Suite("A save changes by one-to-one relationships exactly what the rules allow", .mayBlock)
struct AccessPartnerProofTests {
  private struct Object: Hashable {
    let entity: String
    let id: Int64
  }

  /// The store's objects, and those that the rules let the caller read and update.
  private struct State {
    var rows: [Object: JSON] = [:]
    var readable: Set<Object> = []
    var updatable: Set<Object> = []

    func allows(_ object: Object) -> Bool {
      readable.contains(object) && updatable.contains(object)
    }
  }

  /// A request that sets the relationships of one object.
  private struct Save {
    let method: String
    let entity: String
    /// nil for an insert.
    let id: Int64?
    let body: String
    /// The new partners.
    let partners: [(relationship: String, object: Object)]

    var target: String { "/v1/objects/\(entity)\(id.map { "/\($0)" } ?? "")" }
  }

  private static let rules = [
    "TRUEPREDICATE", "n != 3", "n < 4", "mate == nil OR n > 1", "mate.n > 2", "mate == nil",
  ]
  private static let twinRules = rules + ["twin == nil OR twin.n < 4", "twin.mate == nil"]
  private static let entities = ["Left", "Right"]

  private static func model(_ rules: [String: (read: String, update: String)]) -> String {
    let entities = Self.entities.map { name in
      let twin = #"{"name":"twin","destination":"Left","inverse":"twin"}"#
      let mate =
        #"{"name":"mate","destination":"\#(name == "Left" ? "Right" : "Left")","inverse":"mate"}"#
      return """
        {"name":"\(name)","access":{"read":"\(rules[name]?.read ?? "")","insert":true,
          "update":"\(rules[name]?.update ?? "")","delete":true},
         "attributes":[{"name":"n","type":"Integer 64"}],
         "relationships":[\(name == "Left" ? "\(mate),\(twin)" : mate)]}
        """
    }
    return #"{"entities":[\#(entities.joined(separator: ","))]}"#
  }

  private static func rows(_ random: inout SeededRandom) -> String {
    var changes = entities.flatMap { entity in
      (1...5).map {
        #"{"insert":"\#(entity)","values":{"id":\#($0),"n":\#(random.number(0...5))}}"#
      }
    }
    for id in 1...5 where random.oneIn(2) {
      let partner = random.number(1...5)
      changes.append(#"{"update":"Left","id":\#(id),"values":{"mate":\#(partner)}}"#)
      changes.append(#"{"update":"Left","id":\#(partner),"values":{"twin":\#(id)}}"#)
    }
    return #"{"changes":[\#(changes.joined(separator: ","))]}"#
  }

  /// - Parameter number: Makes the id of an inserted object different from that of every other save.
  private static func save(_ random: inout SeededRandom, _ number: Int = 0) -> Save {
    let entity = random.pick(entities)
    let method = random.pick(["PATCH", "PATCH", "PUT", "POST"])
    var members = random.oneIn(2) ? [#""n":\#(random.number(0...5))"#] : []
    if method == "POST" { members.append(#""id":\#(100 + number)"#) }
    var partners: [(relationship: String, object: Object)] = []
    for relationship in entity == "Left" ? ["mate", "twin"] : ["mate"] where !random.oneIn(3) {
      let id = random.number(0...5)
      members.append(#""\#(relationship)":\#(id == 0 ? "null" : "\(id)")"#)
      guard id > 0 else { continue }
      let other = relationship == "mate" && entity == "Left" ? "Right" : "Left"
      partners.append((relationship, Object(entity: other, id: Int64(id))))
    }
    return Save(
      method: method, entity: entity, id: method == "POST" ? nil : Int64(random.number(1...5)),
      body: "{\(members.joined(separator: ","))}", partners: partners)
  }

  private func state(
    _ fixture: AccessFixture, _ rules: [String: (read: String, update: String)]
  ) throws -> State {
    var state = State()
    for entity in Self.entities {
      let answer = try fixture.ask(nil, "GET", "/v1/objects/\(entity)?sort=id")
      let own = try #require(rules[entity])
      for item in answer.items {
        state.rows[Object(entity: entity, id: item["id"]?.integer ?? 0)] = item
      }
      func objects(_ rule: String) throws -> Set<Object> {
        let rule = rule.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let ids = try fixture.ids(nil, "/v1/objects/\(entity)?where=\(rule)")
        return Set(ids.map { Object(entity: entity, id: $0) })
      }
      state.readable.formUnion(try objects(own.read))
      state.updatable.formUnion(try objects(own.update))
    }
    return state
  }

  /// True if the rules allow what `save` has changed.
  private func isAllowed(_ save: Save, _ before: State, _ after: State) -> Bool {
    let named = save.id.map { Object(entity: save.entity, id: $0) }
    if let named, !before.allows(named) || !after.updatable.contains(named) { return false }
    for (relationship, partner) in save.partners where !before.readable.contains(partner) {
      // An unreadable object may stay where it is.
      let row = named.flatMap { before.rows[$0] }
      guard row?[relationship]?.integer == partner.id else { return false }
    }
    return changed(before, after).allSatisfy { before.allows($0) && after.updatable.contains($0) }
  }

  private func changed(_ before: State, _ after: State) -> [Object] {
    before.rows.filter { after.rows[$0.key] != $0.value }.map(\.key)
  }

  @Test("A random save is allowed exactly if every changed object may be updated, before and after")
  func proof() throws {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["LIVEFETCH_ACCESS_SEED"].flatMap { UInt64($0) } ?? 1
    let count = environment["LIVEFETCH_ACCESS_COUNT"].flatMap { UInt64($0) } ?? 6
    var outcomes: [Bool: Int] = [:]
    for seed in first..<(first + count) {
      var random = SeededRandom(seed: seed)
      let rules = [
        "Left": (read: random.pick(Self.twinRules), update: random.pick(Self.twinRules)),
        "Right": (read: random.pick(Self.rules), update: random.pick(Self.rules)),
      ]
      let fixture = try AccessFixture(model: Self.model(rules))
      let filled = try fixture.ask(nil, "POST", "/v1/save", Self.rows(&random))
      #expect(filled.status == 200, "\(filled.text)")
      var before = try state(fixture, rules)
      for number in 1...20 {
        let save = Self.save(&random, number)
        let comment = "seed \(seed), \(rules): \(save.method) \(save.target) \(save.body)"
        let answer = try fixture.ask("1", save.method, save.target, save.body)
        var after = try state(fixture, rules)
        // Without the object if the caller may not read it any more.
        let isDone = [200, 201, 204].contains(answer.status)
        if !isDone {
          #expect(after.rows == before.rows, "\(comment)")
          let forced = try fixture.ask(nil, save.method, save.target, save.body)
          #expect([200, 201].contains(forced.status), "\(comment): \(forced.text)")
          after = try state(fixture, rules)
        }
        #expect(isDone == isAllowed(save, before, after), "\(comment): \(answer.text)")
        outcomes[isDone, default: 0] += 1
        before = try saveTwice(fixture, rules, &random, from: after, comment)
      }
    }
    #expect(outcomes[true, default: 0] > 0 && outcomes[false, default: 0] > 0, "\(outcomes)")
  }

  /// Several changes in one save: a successful one has changed nothing that the rules refuse. Returns
  /// the state after it.
  private func saveTwice(
    _ fixture: AccessFixture, _ rules: [String: (read: String, update: String)],
    _ random: inout SeededRandom, from before: State, _ comment: String
  ) throws -> State {
    let changes = (1...2).map { _ in
      var save = Self.save(&random)
      while save.method != "PATCH" { save = Self.save(&random) }
      return #"{"update":"\#(save.entity)","id":\#(save.id ?? 0),"values":\#(save.body)}"#
    }
    let body = #"{"changes":[\#(changes.joined(separator: ","))]}"#
    let answer = try fixture.ask("1", "POST", "/v1/save", body)
    let after = try state(fixture, rules)
    let isDone = answer.status == 200
    #expect(isDone || [403, 404, 409].contains(answer.status), "\(body): \(answer.text)")
    for object in changed(before, after) {
      #expect(
        isDone && before.allows(object) && after.updatable.contains(object),
        "\(comment), then \(body): \(object)")
    }
    return after
  }
}
