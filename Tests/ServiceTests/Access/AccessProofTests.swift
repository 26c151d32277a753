// Access rules over generated stores, compared with a copy without the unreadable data.

import Foundation
import TestSupport
import Testing

/// Random models, rules, rows, callers and requests. Every response to a caller is, byte for byte, the
/// response of a store that has no hidden attribute and no row that the caller may not read, and in which
/// the caller may read everything; tokens alone differ. After every save the diffs are equal too.
///
/// `LIVEFETCH_ACCESS_SEED` and `LIVEFETCH_ACCESS_COUNT` set the first seed and how many follow. Stores
/// of an odd seed are tables that are served as they are, those of an even seed a model.
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
    #expect(outcomes.seen == Self.seen)
  }

  /// What the default seeds have to contain.
  private static let seen: Set = [
    "a caller with a role", "a caller without an id",
    "tables: links between entities", "tables: unreadable rows", "tables: hidden attributes",
    "tables: changes", "tables: saves of the caller", "tables: batches of the caller",
    "model: links between entities", "model: unreadable rows", "model: hidden attributes",
    "model: changes", "model: saves of the caller", "model: batches of the caller",
    "model: subentities",
  ]
}
