// The predicates of NestedParityTests over PostgreSQL: the evaluator, which the live engine uses, and
// the SQL of both stores find the same rows.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore
@testable import SQLiteStore

@Suite("Nested predicates: PostgreSQL, a file and the evaluator agree", .mayBlock)
struct NestedDatabaseParityTests {
  private static let environment = ProcessInfo.processInfo.environment

  /// The number of predicates, the number of them over the same rows, and the first of the seeds, one for
  /// each set of rows.
  private static let count = environment["LIVEFETCH_PARITY_COUNT"].flatMap(Int.init) ?? 2_000
  private static let countPerSeed = 400
  private static let seed = environment["LIVEFETCH_PARITY_SEED"].flatMap(UInt64.init) ?? 1

  @Test("generated predicates find the same generated rows in all of them")
  func generatedPredicates() throws {
    print("Nested predicates over PostgreSQL: first seed \(Self.seed), \(Self.count) predicates")
    var tally = NestedParityTests.Tally()
    for round in 0..<UInt64(max(1, Self.count / Self.countPerSeed)) {
      try check(seed: Self.seed &+ round, &tally)
    }
    print("Nested predicates over PostgreSQL: \(tally)")
    #expect(tally.refused < tally.all / 4, "\(tally)")
    #expect(tally.decided > tally.rows * 8 / 10, "\(tally)")
    #expect(tally.matched > tally.rows / 10, "\(tally)")
  }

  private func check(seed: UInt64, _ tally: inout NestedParityTests.Tally) throws {
    var cases = NestedPredicateCases(seed: seed)
    // The two stores order a UUID and another text differently.
    cases.hasUUIDs = false
    // PostgreSQL's columns contain only dates.
    let dates = ["o", "p", "c", "t", "tag"].map { "UPDATE \($0) SET d = NULL WHERE d = 'none';" }
    let file = try ScratchFile(cases.fixture() + dates.joined())
    let target = try PostgresServer.shared().newDatabase(copying: file.path)
    let database = try PostgresStore(target)
    defer { database.close() }
    let contents = try Self.contents(of: database, target)
    let copied = try SQLiteStore(path: file.path)
    defer { copied.close() }
    for _ in 0..<Self.countPerSeed {
      let entity = cases.pick(NestedPredicateCases.entities)
      let text = cases.predicate(about: entity)
      let place: Comment = "seed \(seed): \(entity): \(text)"
      tally.all += 1
      let plan = try Self.plan(text, entity, database)
      let filePlan = try Self.plan(text, entity, copied)
      #expect((plan == nil) == (filePlan == nil), "\(place): refused by one store")
      guard let plan, let filePlan else {
        tally.refused += 1
        continue
      }
      do {
        let found = try NestedFixture.ids(of: plan, in: database)
        #expect(try found == NestedFixture.ids(of: filePlan, in: copied), "\(place): file")
        evaluate(plan, entity, found, contents, database, &tally, place)
      } catch StoreError.unsupported(_) {
        tally.refused += 1
      } catch {
        Issue.record("\(place): \(error)")
      }
    }
  }

  private func evaluate(
    _ plan: FetchPlan, _ entity: String, _ found: Set<String>, _ contents: NestedContents,
    _ store: PostgresStore, _ tally: inout NestedParityTests.Tally, _ place: Comment
  ) {
    let evaluator = PredicateEvaluator(
      plan.definition.predicate.condition, model: store.model,
      columns: PostgresColumns(schema: store.composer.schema, model: store.model))
    tally.compare(evaluator, with: found, on: contents.rows(of: entity, for: evaluator), place)
  }

  /// The plan of a fetch of ids; nil if the predicate is refused.
  private static func plan(
    _ text: String, _ entity: String, _ store: any Store
  ) throws -> FetchPlan? {
    var request = FetchRequest(entity: entity)
    request.predicate = text
    request.shape = .ids
    do {
      return try FetchResolver(model: store.model, maxItems: 1_000).resolve(request)
    } catch FetchRequestError.predicate(_, _) {
      return nil
    }
  }

  /// The values as the live engine reads them.
  private static func contents(of store: PostgresStore, _ target: String) throws -> NestedContents {
    let model = store.model
    let connection = try PostgresConnection(target)
    defer { connection.close() }
    var tables: [String: [[StoredValue]]] = [:]
    for (name, columns) in NestedFixture.columns {
      let entity = try #require(model.entityIndex(named: name))
      let paths = try columns.map { try path(to: $0, of: entity, in: model) }
      let ids = try connection.query("SELECT id FROM \(name)").rows().map { row -> ObjectID in
        switch row[0] {
        case .integer(let id): .integer(id)
        case let value: .text(value.string ?? "")
        }
      }
      let values = try store.read { transaction throws(StoreError) in
        try transaction.values(of: paths, ids: Set(ids), at: .now) ?? [:]
      }
      tables[name] = try values.values.map { row in try row.map { try #require($0) } }
    }
    let links = try connection.query("SELECT o_id, tag_id FROM o_tag").rows()
    return NestedContents(
      model: model, tables: tables, links: links.map { $0.map { StoredValue($0) } })
  }

  private static func path(
    to name: String, of entity: Int, in model: Model
  ) throws -> PropertyPath {
    let shape = model.entities[entity]
    if name == "id" { return PropertyPath(root: entity, target: .object) }
    if let index = shape.attributes.firstIndex(where: { $0.name == name }) {
      return PropertyPath(root: entity, target: .attribute(index))
    }
    let step = try #require(shape.relationships.firstIndex { $0.name == name })
    return PropertyPath(root: entity, steps: [step], target: .object)
  }
}
