// Predicates as deep as the resolver accepts: SQLite prepares and runs
// each of them in every statement that holds a predicate.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: the greatest depth that SQLite's parser accepts", .mayBlock)
struct PredicateDepthTests {
  /// Text around a part that can be nested in itself.
  struct Wrapping: Sendable, CustomTestStringConvertible {
    let open: String
    let close: String
    /// The depth that has to be accepted.
    let least: Int

    init(_ open: String, _ close: String, _ least: Int) {
      (self.open, self.close, self.least) = (open, close, least)
    }

    var testDescription: String { "\(open)…\(close)" }

    func nested(_ depth: Int, _ inner: String) -> String {
      var text = inner
      for level in 0..<depth {
        text = open.replacing("$V", with: "$v\(level)") + text + close
      }
      return text
    }
  }

  static let operations: [Wrapping] = ["+", "-", "*", "/", "**"].flatMap { symbol -> [Wrapping] in
    [Wrapping("(1 \(symbol) ", ")", 16), Wrapping("(", " \(symbol) 1)", 16)]
  }

  static let functions: [Wrapping] = [
    "abs", "sqrt", "exp", "ln", "log", "floor", "ceiling", "trunc", "onesComplement",
  ].map { name -> Wrapping in Wrapping("\(name)(", ")", 16) }

  static let functionsOfTwo: [Wrapping] = [
    "add:to", "from:subtract", "multiply:by", "divide:by", "modulus:by", "raise:toPower",
    "bitwiseAnd:with", "bitwiseOr:with", "bitwiseXor:with", "leftshift:by", "rightshift:by",
  ].flatMap { name -> [Wrapping] in
    [Wrapping("\(name):(1, ", ")", 16), Wrapping("\(name):(", ", 1)", 16)]
  }

  static let otherCalls: [Wrapping] = [
    Wrapping("- -", "", 8), Wrapping("(1.5 / ", ")", 16), Wrapping("(rating - ", ")", 16),
    Wrapping("modulus:by:(7.5, ", ")", 16), Wrapping("(1.5 / abs(", "))", 8),
    Wrapping("abs(1.5 / modulus:by:(7.5, ", "))", 5), Wrapping("FUNCTION('trunc', ", ")", 16),
    Wrapping("max({1, ", "})", 16), Wrapping("min({", ", 1})", 16),
    Wrapping("sum({1, ", "})", 4), Wrapping("average({", ", 1})", 4),
    Wrapping("CAST(CAST(", ", 'NSDate'), 'NSNumber')", 8),
    Wrapping("TERNARY(id > 0, ", ", 7)", 8), Wrapping("TERNARY(id < 0, 7, ", ")", 8),
    Wrapping("TERNARY(", " > 1, rating, population)", 8),
    Wrapping("TERNARY(NOT ", " BETWEEN {1, 3}, 1, 2)", 8),
    Wrapping("TERNARY(NOT ", " IN {1, 3}, 1, 2)", 8),
    Wrapping("TERNARY(", " <= population, 1, 2)", 8),
    Wrapping("TERNARY(", " != rating, 1, 2)", 8),
  ]

  /// Around numbers.
  static let numbers: [Wrapping] = operations + functions + functionsOfTwo + otherCalls

  /// Around texts.
  static let texts: [Wrapping] = [
    Wrapping("uppercase(", ")", 16), Wrapping("lowercase(", ")", 16),
    Wrapping("canonical(", ")", 16), Wrapping("uppercase(lowercase(", "))", 8),
    Wrapping("CAST(length(", "), 'NSString')", 8), Wrapping("TERNARY(id > 0, ", ", name)", 8),
  ]

  /// Around conditions.
  static let conditions: [Wrapping] = [
    Wrapping("NOT ", "", 64), Wrapping("(", ")", 64), Wrapping("NOT (", ")", 64),
    Wrapping("(id > 0 AND (name == 'x' OR ", "))", 32),
    Wrapping("((", " OR name == 'x') AND id > 0)", 32),
    Wrapping("NOT (id < 0 OR NOT ", ")", 21),
    Wrapping("(NOT name == 'x' OR (rating <= population AND ", "))", 32),
    Wrapping("TERNARY(", ", 1, 0) == 1", 8), Wrapping("NOT 1 != TERNARY(", ", 1, 0)", 8),
    Wrapping("TERNARY(", ", rating, population) <= population", 7),
    Wrapping("TERNARY(NOT ", ", 3, 2) IN {1, 2}", 8),
    Wrapping("NOT TERNARY(", ", 2, 5) BETWEEN {1, 3}", 8),
    Wrapping("NOT TERNARY(", ", name, nil) BEGINSWITH 'B'", 7),
    Wrapping("SUBQUERY(tag, $V, ", ").@count > 0", 8),
    Wrapping("SUBQUERY(country.city, $V, ", ").@count > 0", 8),
    Wrapping("SUBQUERY(country.city, $V, ", ").@count == 0", 8),
    Wrapping("SUBQUERY(country.city, $V, ", ").@count == 1", 8),
    Wrapping("SUBQUERY(country.city, $V, $V == SELF AND ", ").@count > 0", 8),
    Wrapping("SUBQUERY(country.city, $V, $V.name != 'x' OR ", ").@count > 1", 7),
    Wrapping("SUBQUERY(country.city, $V, ", ").@max.population > 0", 8),
    Wrapping("NOT SUBQUERY(country.city, $V, ", ").@min.population > 0", 8),
    Wrapping("SUBQUERY(country.city, $V, ", ").@sum.population > 0", 8),
    Wrapping("SUBQUERY(country.city, $V, ", ").@avg.rating > 0", 8),
  ]

  @Test("calls and arithmetic run at every accepted depth")
  func callsAndArithmetic() async throws {
    let fixture = try DepthFixture()
    let sides = [("", " > 1"), ("1 < ", ""), ("NOT ", " == 5")]
    for wrapping in Self.numbers {
      for (before, after) in sides {
        try await fixture.check(wrapping) { before + wrapping.nested($0, "population") + after }
      }
    }
  }

  @Test("calls on text run at every accepted depth")
  func callsOnText() async throws {
    let fixture = try DepthFixture()
    for wrapping in Self.texts {
      for relation in ["==", "CONTAINS[cd]", "!=", "BEGINSWITH"] {
        try await fixture.check(wrapping) { "NOT \(wrapping.nested($0, "name")) \(relation) 'b'" }
      }
    }
  }

  @Test("conditions run at every accepted depth")
  func logic() async throws {
    let fixture = try DepthFixture()
    for wrapping in Self.conditions {
      try await fixture.check(wrapping) { wrapping.nested($0, "population == 1") }
      try await fixture.check(Wrapping(wrapping.open, wrapping.close, 1)) {
        wrapping.nested($0, "country.name == 'x'")
      }
    }
  }

  @Test(
    "everything within everything runs or is too complex", arguments: 1...10 as ClosedRange<UInt64>)
  func mixed(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let fixture = try DepthFixture()
    var accepted = 0
    for _ in 0..<12 {
      var number = "population"
      for level in 0..<Int.random(in: 0...6, using: &random) {
        let wrapping = try #require(Self.numbers.randomElement(using: &random))
        number = wrapping.open.replacing("$V", with: "$n\(level)") + number + wrapping.close
      }
      var text = "\(number) > 1"
      for level in 0..<Int.random(in: 0...5, using: &random) {
        let wrapping = try #require(Self.conditions.randomElement(using: &random))
        text =
          wrapping.open.replacing("$V", with: "$v\(level)") + "(\(text))" + wrapping.close
      }
      // Some functions do not accept every number.
      guard fixture.isTyped(text) else { continue }
      if try await fixture.run(text, "seed \(seed)") { accepted += 1 }
    }
    #expect(accepted > 0, "seed \(seed)")
  }

  @Test("a deep predicate finds the same objects as the equivalent shallow one")
  func meaning() throws {
    let fixture = try PredicateFixture()
    for (open, close, depth) in [
      ("(0 + ", ")", 16), ("multiply:by:(1, ", ")", 16), ("TERNARY(id > 0, ", ", 7)", 8),
      ("max({", "})", 16), ("- -", "", 8), ("(", " / 1)", 16),
    ] {
      let deep = Wrapping(open, close, depth).nested(depth, "population")
      for (condition, ids) in [
        ("== 1000000", "2"), ("!= 1000000", "1 3 4 5 6"), ("<= 0", "5 6"), ("== nil", "4"),
        ("BETWEEN {-5, 0}", "5 6"), ("IN {0, 3600000}", "1 5"),
      ] {
        #expect(try fixture.ids("\(deep) \(condition)") == ids, "\(deep) \(condition)")
        let others = "1 2 3 4 5 6".split(separator: " ").filter {
          !ids.split(separator: " ").contains($0)
        }.joined(separator: " ")
        #expect(try fixture.ids("NOT \(deep) \(condition)") == others, "NOT \(deep) \(condition)")
      }
    }
  }

  @Test("columns of a deep part are compared as columns")
  func affinity() throws {
    let fixture = try PredicateFixture(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, loose, name TEXT COLLATE NOCASE);
      INSERT INTO city VALUES (1, 12, 'A'), (2, 'x', 'a'), (3, NULL, NULL);
      """)
    let wrapping = Wrapping("TERNARY(", ", 1, 0) == 1", 8)
    for text in ["name == 'a'", "name < 'a'", "name != 'A'", "name IN {'a', 'b'}"] {
      #expect(try fixture.ids(wrapping.nested(8, text)) == fixture.ids(text), "\(text)")
    }
  }

  @Test(
    "sixty nested parts are counted in linear time: they are refused at once",
    arguments: [
      Wrapping("SUBQUERY(country.city, $V, ", ").@count > 0", 1),
      Wrapping("NOT SUBQUERY(country.city, $V, ", ").@min.population > 0", 1),
      Wrapping("TERNARY(", ", 1, 0) == 1", 1),
      Wrapping("SUBQUERY(country.city, $V, $V.name != 'x' AND ", ").@avg.rating > 0", 1),
    ])
  func linear(_ wrapping: Wrapping) throws {
    let fixture = try PredicateFixture()
    let error = #expect(throws: PredicateError.self) {
      try fixture.resolve(wrapping.nested(60, "population == 1"))
    }
    #expect(error?.code == .tooComplex)
  }

  @Test("a value that would be repeated in too many conditions is refused")
  func multiplied() throws {
    let fixture = try PredicateFixture()
    for (open, close) in [
      ("TERNARY(", " BETWEEN {rating, 5}, 1, 2)"), ("TERNARY(", " IN {rating, id, 7}, 1, 2)"),
    ] {
      let text = Wrapping(open, close, 0).nested(40, "population")
      let error = #expect(throws: PredicateError.self) { try fixture.resolve(text + " == 1") }
      #expect(error?.code == .tooComplex)
    }
    // Each level is written once, though its negation has a nil case.
    let text = Wrapping("TERNARY(NOT ", " IN {1, 3}, 1, 2)", 8).nested(8, "population")
    #expect(try fixture.run(fixture.resolve(text + " == 1")).sql.utf8.count < 2_000)
  }
}

/// A served file and every kind of statement that holds a predicate.
private final class DepthFixture: Sendable {
  private let file: ScratchFile
  private let store: SQLiteStore
  private let before: Token
  private let city: Int

  init() throws {
    let file = try ScratchFile(PredicateFixture.sql)
    // No load makes a query run out of time.
    var options = SQLiteStoreOptions()
    options.queryTimeout = 600
    let store = try SQLiteStore(path: file.path, options: options)
    let city = try #require(store.model.entityIndex(named: "city"))
    (self.file, self.store, self.city) = (file, store, city)
    before = store.newestToken
    try file.runExternally(
      "UPDATE city SET population = population + 1; UPDATE country SET area = 1")
  }

  deinit { store.close() }

  /// Runs the deepest predicate that is accepted, which is at least as deep as `wrapping` says.
  func check(
    _ wrapping: PredicateDepthTests.Wrapping, _ text: (Int) -> String
  ) async throws {
    var deepest = 0
    while deepest < 70, try isAccepted(text(deepest + 1)) { deepest += 1 }
    #expect(deepest >= wrapping.least, "\(text(wrapping.least))")
    for depth in Set([wrapping.least, deepest]) where depth <= deepest {
      #expect(try await run(text(depth), "depth \(depth)"))
    }
  }

  private func isAccepted(_ text: String) throws -> Bool {
    guard let error = refusal(of: text) else { return true }
    #expect(error.code == .tooComplex, "\(error): \(text)")
    return false
  }

  /// True if the predicate is valid or refused only for its depth.
  func isTyped(_ text: String) -> Bool { refusal(of: text).map { $0.code == .tooComplex } ?? true }

  private func refusal(of text: String) -> PredicateError? {
    do {
      _ = try ResolvedPredicate(parsing: text, entity: city, model: store.model)
      return nil
    } catch {
      return error
    }
  }

  /// False where the predicate is too complex for a fetch.
  func run(_ text: String, _ comment: String) async throws -> Bool {
    guard try isAccepted(text) else { return false }
    do {
      try runFetch(text)
      try runDictionaries(text)
      try await runBatch(text)
    } catch let error as StoreError {
      Issue.record("\(comment): \(error): \(text)")
    }
    return true
  }

  private func plan(_ text: String, _ others: (String, String)...) throws -> FetchPlan? {
    let query = [(name: "where", value: text)] + others.map { (name: $0.0, value: $0.1) }
    let resolved = Result {
      try FetchResolver(model: store.model, maxItems: 100)
        .resolve(FetchRequest(entity: "city", query: query))
    }
    if case .failure(let failure) = resolved,
      case .predicate(_, let error)? = failure as? FetchRequestError
    {
      #expect(error.code == .tooComplex)
      return nil
    }
    return try resolved.get()
  }

  private func runFetch(_ text: String) throws {
    let plan = try #require(
      try plan(text, ("sort", "-country.name,rating"), ("count", "exact"), ("limit", "3")))
    _ = try store.snapshot(of: plan, queryClass: .full)
    try store.read { transaction throws(StoreError) in
      let keys = try transaction.keys(
        of: plan.definition, after: nil, limit: nil)
      _ = try transaction.keys(of: plan.definition, after: keys.first, limit: 2)
      let ids = Set([1, 2, 3].map { ObjectID.integer($0) })
      for state in [ReadPosition.now, .past(before.position)] {
        _ = try transaction.rows(of: plan, ids: ids, at: state)
      }
    }
  }

  private func runDictionaries(_ text: String) throws {
    let dictionaries = [
      try plan(text, ("as", "dictionaries"), ("select", "name"), ("distinct", "true")),
      try plan(
        text, ("as", "dictionaries"), ("select", "name,n:@count"), ("group", "name"),
        ("having", "n > 0"), ("count", "exact")),
    ]
    for plan in dictionaries.compactMap({ $0 }) {
      try store.read { transaction throws(StoreError) in
        for state in [ReadPosition.now, .past(before.position)] {
          _ = try transaction.dictionaries(of: plan, at: state)
        }
      }
    }
  }

  private func runBatch(_ text: String) async throws {
    let resolver = FetchResolver(model: store.model, maxItems: 100)
    let request = try FetchRequest(
      entity: "city", query: [(name: "where", value: "id < 0 AND (\(text))")])
    let predicate: ResolvedPredicate
    do {
      predicate = try resolver.batchPredicate(of: request)
    } catch FetchRequestError.predicate(_, let error) {
      #expect(error.code == .tooComplex)
      return
    }
    let values = JSON.object([.init(name: "rating", value: .number("1"))])
    let update = try SaveResolver(model: store.model)
      .batch(entity: city, values: values, where: predicate)
    let deletion = Change(.deleteAll(predicate), entity: city)
    for var save in [update, SaveRequest(changes: [deletion])] {
      save.maxAffected = 5
      let result = await withCheckedContinuation { continuation in
        store.save(save) { continuation.resume(returning: $0) }
      }
      if case .failure(let error) = result { Issue.record("\(error): \(text)") }
    }
  }
}
