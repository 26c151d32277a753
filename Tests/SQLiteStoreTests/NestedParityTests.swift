// Predicates nested in every position of an operand: evaluator, SQL, store and history find the same
// objects.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Nested predicates: evaluator, SQL, store and history agree", .mayBlock)
struct NestedParityTests {
  private static let environment = ProcessInfo.processInfo.environment

  /// The number of predicates, and the first of the seeds, one for each hundred.
  private static let count = environment["LIVEFETCH_PARITY_COUNT"].flatMap(Int.init) ?? 300
  private static let seed = environment["LIVEFETCH_PARITY_SEED"].flatMap(UInt64.init) ?? 1

  @Test("generated predicates find the same generated rows in all of them")
  func generatedPredicates() throws {
    print("Nested predicates: first seed \(Self.seed), \(Self.count) predicates")
    var tally = Tally()
    for round in 0..<UInt64(max(1, Self.count / 100)) {
      try check(seed: Self.seed &+ round, &tally)
    }
    print("Nested predicates: \(tally)")
    #expect(tally.refused < tally.all / 4, "\(tally)")
    #expect(tally.decided > tally.rows * 8 / 10, "\(tally)")
    #expect(tally.matched > tally.rows / 10, "\(tally)")
  }

  struct Tally {
    var all = 0
    var refused = 0
    var rows = 0
    var decided = 0
    var matched = 0

    /// Compares an evaluator's results with the ids that the store found.
    mutating func compare(
      _ evaluator: PredicateEvaluator, with found: Set<String>, on rows: [NestedRow],
      _ place: Comment
    ) {
      for row in rows {
        self.rows += 1
        guard let verdict = evaluator.evaluate(row) else { continue }
        decided += 1
        if verdict { matched += 1 }
        #expect(verdict == found.contains(row.id), "\(place): \(row)")
      }
    }
  }

  /// A predicate and the ids that it found.
  private struct Outcome {
    let text: String
    let entity: String
    let ids: Set<String>
    let place: Comment
  }

  private func check(seed: UInt64, _ tally: inout Tally) throws {
    var cases = NestedPredicateCases(seed: seed)
    let fixture = try NestedFixture(cases.fixture())
    var outcomes: [Outcome] = []
    for _ in 0..<100 {
      let entity = cases.pick(NestedPredicateCases.entities)
      let text = cases.predicate(about: entity)
      let place: Comment = "seed \(seed): \(entity): \(text)"
      guard let ids = check(text, entity, fixture, &tally, place) else { continue }
      outcomes.append(Outcome(text: text, entity: entity, ids: ids, place: place))
    }
    let position = try fixture.position()
    try fixture.change(cases.changes())
    for outcome in outcomes {
      do {
        let ids = try fixture.pastIDs(outcome.text, entity: outcome.entity, at: position)
        #expect(ids == outcome.ids, "\(outcome.place): past")
      } catch {
        Issue.record("\(outcome.place): past: \(error)")
      }
    }
  }

  /// The ids that the predicate finds; nil if it is refused.
  private func check(
    _ text: String, _ entity: String, _ fixture: NestedFixture, _ tally: inout Tally,
    _ place: Comment
  ) -> Set<String>? {
    tally.all += 1
    do {
      let database = fixture.database
      let predicate = try database.resolve(text, entity: entity)
      let fault = ScopeCheck(model: database.model).fault(in: predicate.condition, of: entity)
      #expect(fault == nil, place)
      guard fault == nil else { return nil }
      let found = Set(try database.run(predicate, entity: entity).ids)
      #expect(try fixture.fetchedIDs(text, entity: entity) == found, "\(place): store")
      evaluate(predicate, entity, found, fixture, &tally, place)
      return found
    } catch is FetchModel.PredicateError {
      tally.refused += 1
    } catch {
      Issue.record("\(place): \(error)")
    }
    return nil
  }

  private func evaluate(
    _ predicate: ResolvedPredicate, _ entity: String, _ found: Set<String>,
    _ fixture: NestedFixture,
    _ tally: inout Tally, _ place: Comment
  ) {
    let database = fixture.database
    let evaluator = PredicateEvaluator(
      predicate.condition, model: database.model, columns: database.columns)
    tally.compare(evaluator, with: found, on: fixture.rows(of: entity, for: evaluator), place)
  }
}
