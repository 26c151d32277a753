// Predicates and the conjuncts by which their fetches can be indexed.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

@Suite("Indexable conjuncts: values that a row must have to satisfy a condition", .mayBlock)
struct IndexableConjunctFinderTests {
  private static let model = MemoryStore.cityModel

  @Test(arguments: [
    ("population == 5", "[population in {5}]"),
    ("5 == population", "[population in {5}]"),
    ("population != 5", ""),
    ("population > 5", "[population in 5…]"),
    ("population <= 5.5", "[population in …5.5]"),
    ("NOT population > 5", "[population in …5, population in {nil}]"),
    ("population BETWEEN {1, 9}", "[population in 1…9]"),
    ("NOT population BETWEEN {1, 9}", ""),
    ("population IN {1, 2, nil}", "[population in {nil, 1, 2}]"),
    ("name BEGINSWITH 'Be'", "[name in Be…Bf]"),
    ("name BEGINSWITH[c] 'BE'", "[name(c) in be…bf]"),
    ("name LIKE 'Be*'", "[name in Be…Bf]"),
    ("name LIKE '?e*'", ""),
    ("name CONTAINS 'e'", ""),
    ("name ==[cd] 'Ä'", "[name(cd) in {a}]"),
    ("name == nil", "[name in {nil}]"),
    ("name != nil", ""),
    ("isCapital == TRUE", "[isCapital in {1}]"),
    ("country == 3", "[country in {3}]"),
    ("country.code == 'DE'", "[country.code in {DE}]"),
    ("SELF IN {1, 2}", "[SELF in {1, 2}]"),
    ("country.code == 'DE' AND population >= 5", "[country.code in {DE}] [population in 5…]"),
    ("population >= 5 AND population < 9", "[population in 5…9]"),
    ("name == 'a' OR country.name == 'b'", "[name in {a}, country.name in {b}]"),
    ("name == 'a' OR population != 1", ""),
    ("population + 1 == 5", ""),
    ("TRUEPREDICATE", ""),
    ("FALSEPREDICATE", "[]"),
  ])
  func conditions(text: String, expected: String) throws {
    let predicate = try ResolvedPredicate(parsing: text, entity: 0, model: Self.model)
    let finder = IndexableConjunctFinder(model: Self.model, columns: MemoryColumns())
    let found = finder.alternatives(predicate.condition)
      .map { "[\($0.map(Self.description).joined(separator: ", "))]" }
    #expect(found.joined(separator: " ") == expected)
  }

  private static func description(_ conjunct: IndexableConjunct) -> String {
    let options = conjunct.path.options
    let letters =
      (options.contains(.caseInsensitive) ? "c" : "")
      + (options.contains(.diacriticInsensitive) ? "d" : "")
    let place = model.text(of: conjunct.path.propertyPath) + (letters.isEmpty ? "" : "(\(letters))")
    switch conjunct.requirement {
    case .values(let values):
      return "\(place) in {\(values.map(description).joined(separator: ", "))}"
    case .range(let range):
      let (lower, upper) = (range.lower.map(description), range.upper.map(description))
      return "\(place) in \(lower ?? "")…\(upper ?? "")"
    }
  }

  private static func description(_ value: StoredValue) -> String {
    switch value {
    case .null: "nil"
    case .integer(let integer): "\(integer)"
    case .double(let double): "\(double)"
    case .text(let text): text
    case .blob(let bytes): "\(bytes)"
    }
  }
}
