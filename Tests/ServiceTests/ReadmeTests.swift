// The README's table of operators and functions, each example run against the sample cities.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("The README's examples")
struct ReadmeTests {
  private struct Example {
    let entity: String
    let text: String
    let given: JSON?
    let count: Int64
  }

  private static let readme = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../../README.md")

  /// The rows of the table: `| … | `example` with `[arguments]` | count |`.
  private static func examples() throws -> [Example] {
    let text = try String(contentsOf: readme, encoding: .utf8)
    let section = try #require(text.components(separatedBy: "### Every operator and function").last)
    let row = /^\| .+ \| `(Country: )?(.+?)`(?: with `(.+)`)? \| ([0-9]+) \|$/
    return try section.split(separator: "\n").prefix { !$0.hasPrefix("#") }
      .compactMap { line -> Example? in
        guard let match = line.wholeMatch(of: row) else { return nil }
        return Example(
          entity: match.1 == nil ? "City" : "Country",
          text: String(match.2).replacing("\\|", with: "|"),
          given: try match.3.map { try JSON(parsing: Array($0.utf8)) },
          count: Int64(match.4) ?? -1)
      }
  }

  private static func request(_ example: Example) -> FetchRequest {
    var request = FetchRequest(entity: example.entity)
    request.predicate = example.text
    request.shape = .count
    switch example.given {
    case .array(let values)?: request.arguments = values.map { .json($0) }
    case .object(let members)?:
      for member in members { request.variables[member.name] = .json(member.value) }
    default: break
    }
    return request
  }

  @Test func everyExampleFindsWhatTheTableSays() throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("store.sqlite")
    try Sample.world.create(at: path)
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    let store = try SQLiteStore(path: path, options: options)
    defer { store.close() }
    let resolver = FetchResolver(model: store.model, maxItems: 10)
    let examples = try Self.examples()
    #expect(examples.count >= 80)
    for example in examples {
      let json = try JSON(
        parsing: store.snapshot(of: resolver.resolve(Self.request(example)), effort: .full).json)
      #expect(json["total"]?.integer == example.count, "\(example.text)")
    }
  }

  @Test func theTableHasEveryOperatorAndFunction() throws {
    let text = try String(contentsOf: Self.readme, encoding: .utf8)
    let names =
      ComparisonPredicate.Operator.allCases.map(\.rawValue) + [
        "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "[c]", "[d]", "[cd]", "[n]", "SELF",
        "@count", "@sum", "@avg", "@min", "@max", "@distinctUnionOfObjects", "SUBQUERY", "[SIZE]",
        "TERNARY", "CAST", "FUNCTION", "sum", "count", "min", "max", "average", "add:to:",
        "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "sqrt", "log", "ln",
        "raise:toPower:", "exp", "floor", "ceiling", "abs", "trunc", "uppercase", "lowercase",
        "canonical", "length", "now", "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:",
        "leftshift:by:", "rightshift:by:", "onesComplement:", "TRUEPREDICATE", "FALSEPREDICATE",
        "+", "-", "*", "/", "**", "#word", "%@", "%K", "%ld", "$name",
      ]
    for name in names { #expect(text.contains("`\(name)`"), "\(name)") }
  }
}
