// The evaluator of predicates without a store: true, false or undecided.

import FetchModel
import Testing

/// The evaluator's result for rows that it can decide, and for rows that it cannot.
@Suite("Evaluator: true, false, or undecided")
struct EvaluatorTests {
  private static let model = Model(entities: [
    Entity(
      name: "City",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "population", type: .integer),
      ],
      relationships: [
        Relationship(name: "country", destination: 1, isToMany: false),
        Relationship(name: "streets", destination: 1, isToMany: true),
      ], idType: .integer),
    Entity(
      name: "Country", attributes: [Attribute(name: "code", type: .string)], relationships: [],
      idType: .integer),
  ])

  /// Every column but the country's code, which only the store can compare.
  private struct Columns: ColumnTraits {
    func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule? {
      switch property {
      case .id, .relationship: .column(.integer)
      case .attribute(0): entity == 0 ? .column(.text) : nil
      case .attribute: .column(.integer)
      }
    }
  }

  private struct Row: EvaluatedRow {
    let values: [StoredValue?]
    func value(of slot: Int) -> StoredValue? { values[slot] }
  }

  private func evaluator(_ text: String) throws -> PredicateEvaluator {
    let predicate = try ResolvedPredicate(parsing: text, entity: 0, model: Self.model)
    return PredicateEvaluator(predicate.condition, model: Self.model, columns: Columns())
  }

  @Test(
    arguments: [
      ("population > 5", .whole), ("name LIKE 'a*' OR population == nil", .whole),
      ("country.code == 'DE'", .none), ("country.code == 'DE' AND population > 5", .partial),
      ("average({population, 3}) > 2", .none), ("streets.@count > 1", .whole),
    ] as [(String, PredicateEvaluator.Coverage)])
  func coverageIsKnownWhenItIsCompiled(text: String, coverage: PredicateEvaluator.Coverage) throws {
    #expect(try evaluator(text).coverage == coverage)
  }

  @Test(
    arguments: [
      ("population > 5", .integer(6), true), ("population > 5", .null, false),
      ("NOT population > 5", .null, true), ("population > 5", nil, nil),
      ("population > 5", .double(5.5), true),
      ("population == 9007199254740993", .double(0x1p53), false),
      ("population < 9007199254740993", .double(0x1p53), true),
      ("population == nil", .null, true), ("population BETWEEN {1, 3}", .integer(3), true),
      ("population / 2 == 3", .integer(7), true), ("population / 0 == nil", .integer(7), true),
      ("population + 1 > 0", .integer(.max), true), ("population + 1 == 1", .text("x"), nil),
      ("population IN {1, nil}", .null, true), ("population IN {1, 2}", .null, false),
      ("TERNARY(population > 5, 1, 2) == 2", .integer(1), true),
    ] as [(String, StoredValue?, Bool?)])
  func oneValue(text: String, value: StoredValue?, expected: Bool?) throws {
    #expect(try evaluator(text).evaluate(Row(values: [value])) == expected)
  }

  @Test(
    arguments: [
      ("country.code == 'DE' AND population > 5", .integer(1), false),
      ("country.code == 'DE' AND population > 5", .integer(6), nil),
      ("country.code == 'DE' OR population > 5", .integer(6), true),
      ("country.code == 'DE' OR population > 5", .integer(1), nil),
    ] as [(String, StoredValue?, Bool?)])
  func uncoveredPartsAreIgnoredIfTheRestDecides(
    text: String, population: StoredValue?, expected: Bool?
  ) throws {
    let evaluator = try evaluator(text)
    let row = Row(values: evaluator.paths.map { _ in population })
    #expect(evaluator.evaluate(row) == expected)
  }

  @Test func textIsComparedByItsBytes() throws {
    let evaluator = try evaluator("name == 'é'")
    #expect(evaluator.evaluate(Row(values: [.text("é")])) == true)
    #expect(evaluator.evaluate(Row(values: [.text("e\u{301}")])) == false)
    #expect(StoredValue.text("é") != .text("e\u{301}"))
  }

  @Test(
    arguments: [
      ("16", true), ("1.6e1", true), ("0x10", false), ("0x1p4", false), ("inf", false),
      ("16 ", false), ("", false),
    ])
  func aTextIsANumberInDecimalDigits(text: String, isSixteen: Bool) throws {
    let evaluator = try evaluator("CAST(name, 'NSNumber') == 16")
    #expect(evaluator.evaluate(Row(values: [.text(text)])) == isSixteen)
  }

  @Test func storedValuesHaveTheStoresOrder() {
    let values: [StoredValue] = [
      .null, .double(-.infinity), .integer(.min), .double(-0.5), .integer(0), .double(0x1p53),
      .integer((1 << 53) + 1), .integer(.max), .double(0x1p63), .text(""), .text("a"),
      .text("a\u{0}"), .text("é"), .blob([]), .blob([0]),
    ]
    for (left, right) in zip(values, values.dropFirst()) { #expect(left < right) }
    #expect(StoredValue.integer(1) == .double(1))
    #expect(StoredValue.integer(1).hashValue == StoredValue.double(1).hashValue)
    // Swift calls these texts equal.
    let (left, right) = ("e\u{301}\u{323}", "e\u{323}\u{301}")
    #expect(left == right && ObjectID.text(left) != .text(right))
    #expect(ObjectID.text(left).hashValue != ObjectID.text(right).hashValue)
    #expect(StoredValue.text(left).hashValue != StoredValue.text(right).hashValue)
    #expect(Value.string(left).hashValue != Value.string(right).hashValue)
    #expect(JSON.string(left) != .string(right) && JSON.string(left) == .string(left))
  }
}
