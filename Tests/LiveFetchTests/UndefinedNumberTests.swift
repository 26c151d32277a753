// Infinities and NaN as arguments of predicates, in each of their forms, in process and over HTTP.

import Foundation
import LiveFetch
import LiveFetchPredicates
import TestSupport
import Testing

private struct Reading: Codable, Fetchable, Queryable, PredicateKeyPathProviding {
  static let entityName = "Reading"
  static let keys = Keys()
  struct Keys: Sendable {
    let value = AttributeKey<Reading, Double>("value")
    /// A text in the store.
    let note = AttributeKey<Reading, Double>("note")
  }
  static var predicateKeyPaths: [AnyKeyPath: String] {
    [\Reading.value: "value", \Reading.at: "note", \Reading.exact: "note"]
  }

  let id: Int
  var value: Double?
  var at: Date?
  var exact: Decimal?
}

private struct Readings: OpenedSample {
  let opened: OpenedStore

  init(_ kind: Kind) throws {
    opened = try OpenedStore(
      kind,
      sql: """
        CREATE TABLE Reading(id INTEGER PRIMARY KEY, value REAL, note TEXT, at DATETIME);
        INSERT INTO Reading VALUES (1, 0.5, 'half', '2024-01-31T10:00:00Z'),
          (2, 9e999, 'much', NULL), (3, -9e999, 'little', NULL), (4, NULL, 'none', NULL);
        """)
  }

  @MainActor
  func ids(_ request: FetchRequest<Reading>) async throws -> [Int] {
    try await ManagedObjectContext(store: store).fetch(request).map(\.id)
  }

  @MainActor
  func ids(_ format: String, _ value: any PredicateArgumentConvertible) async throws -> [Int] {
    try await ids(FetchRequest(where: FetchPredicate(format, value)))
  }

  /// The code and the text of the refusal; nil if the predicate was accepted.
  @MainActor
  func refusal(_ request: FetchRequest<Reading>) async -> String? {
    do throws(ContextError) {
      _ = try await ManagedObjectContext(store: store).fetch(request)
      return nil
    } catch {
      guard case .store(let error) = error else { return "\(error)" }
      return "\(error.code ?? ""): \(error)"
    }
  }
}

@MainActor
@Suite("Infinities and NaN in a predicate", .mayBlock)
struct UndefinedNumberTests {
  @Test("infinity is compared like any other number", arguments: Kind.allCases)
  func infinities(kind: Kind) async throws {
    let readings = try Readings(kind)
    #expect(try await readings.ids("value < %@", Double.infinity) == [1, 3])
    #expect(try await readings.ids("value == %f", -Double.infinity) == [3])
    #expect(try await readings.ids("value >= %@", Float.infinity) == [2])
    #expect(try await readings.ids("value IN %@", [0.5, Double.infinity]) == [1, 2])
    #expect(try await readings.ids("value != %@", Double.infinity) == [1, 3, 4])
    #expect(try await readings.ids("value == 'Infinity' AND %@ == TRUE", true) == [2])
    #expect(try await readings.ids(FetchRequest(where: \Reading.Keys.value < .infinity)) == [1, 3])
    let (first, last) = (-Double.infinity, Double.infinity)
    #expect(try await readings.ids("at < %@", Date(timeIntervalSince1970: last)) == [1])
    #expect(try await readings.ids("at > %@", Date(timeIntervalSince1970: first)) == [1])
    let least = -Double.infinity
    #expect(
      try await readings.ids(try FetchRequest(where: #Predicate<Reading> { $0.value == least }))
        == [3])
  }

  @Test("a text is no number because it is infinite", arguments: Kind.allCases)
  func texts(kind: Kind) async throws {
    let readings = try Readings(kind)
    let request = FetchRequest<Reading>(where: FetchPredicate("note == %@", Double.infinity))
    #expect(await readings.refusal(request)?.hasPrefix("type-mismatch: ") == true)
  }

  @Test("NaN is refused by its name, and never taken for nil", arguments: Kind.allCases)
  func notANumber(kind: Kind) async throws {
    let readings = try Readings(kind)
    let requests = [
      FetchRequest<Reading>(where: FetchPredicate("value == %@", Double.nan)),
      FetchRequest<Reading>(where: FetchPredicate("value < %f", Double.nan)),
      FetchRequest<Reading>(where: FetchPredicate("value IN %@", [1, Double.nan])),
      FetchRequest<Reading>(where: FetchPredicate("value == %@", Float.nan)),
      FetchRequest<Reading>(where: FetchPredicate("value == %@", Decimal.nan)),
      FetchRequest<Reading>(where: FetchPredicate("value + %@ > 1", Double.nan)),
      FetchRequest<Reading>(where: FetchPredicate("at < %@", Date(timeIntervalSince1970: .nan))),
      FetchRequest<Reading>(where: \Reading.Keys.value == Double.nan),
      FetchRequest<Reading>(where: \Reading.Keys.note == Double.nan),
      FetchRequest<Reading>(where: \Reading.Keys.note < -Double.nan),
      FetchRequest<Reading>(where: Reading.keys.note.isIn([1, Double.nan])),
    ]
    for request in requests {
      let refusal = try #require(await readings.refusal(request), "\(request)")
      #expect(refusal.hasPrefix("type-mismatch: "), "\(refusal)")
      #expect(refusal.contains("NaN, which equals nothing"), "\(refusal)")
    }
  }

  @Test("NaN is refused by #Predicate before the store is queried")
  func translated() throws {
    let undefined = Double.nan
    let (never, nothing) = (Date(timeIntervalSince1970: .nan), Decimal.nan)
    let refusal = PredicateTranslationError.unsupported(
      operation: "NaN", reason: "it equals nothing, and no store holds it")
    #expect(throws: refusal) {
      _ = try FetchPredicate(#Predicate<Reading> { $0.value == undefined })
    }
    #expect(throws: refusal) { _ = try FetchPredicate(#Predicate<Reading> { $0.at == never }) }
    #expect(throws: refusal) {
      _ = try FetchPredicate(#Predicate<Reading> { $0.exact == nothing })
    }
  }
}
