// Expressions that the compiler refuses: each line below is type-checked against the module.

import Foundation
import TestSupport
import Testing

@Suite("Predicates in Swift with types that do not fit", .mayBlock)
struct PredicateBuilderRefusalTests {
  private static let refused = [
    "\\.population == \"5\"", "\\.name > 5", "\\.name == \\.population", "\\.populaton > 5",
    "\\.name > nil", "\\.capital > true", "\\.country.name == 5", "\\.tags.label == \"x\"",
    "any(\\.name) == \"x\"", "any(\\.tags.label) > 5",
    "City.predicate { $0.population.isIn([\"a\"]) }",
    "City.predicate { $0.population.beginsWith(\"1\") }",
    "City.predicate { $0.name.isBetween(1, 2) }",
    "City.predicate { $0.name + 1 == 2 }", "City.predicate { $0.population.length > 1 }",
    "City.predicate { $0.tags.label.sum > 1 }",
    "\\.population > 5 && Tag.predicate(\\.label == \"x\")",
    "!(\\.population)", "\\.population", "\\.tags.count == 1.5",
  ]
  private static let accepted = [
    "\\.population == 5", "\\.name > \"a\"", "\\.country.name == nil", "\\.population != nil",
    "any(\\.tags.label) == \"x\"", "\\.tags.count == 1",
    "City.predicate { $0.population.isIn([1, nil]) }",
    "City.predicate { $0.population + 1 == 2 && $0.name.length > 1 }",
  ]

  private static let entities = """
    import LiveFetch
    import LiveFetchPredicates
    enum City: Queryable {
      static let entityName = "City"
      static let keys = Keys()
      struct Keys: Sendable {
        let name = AttributeKey<City, String>("name")
        let population = AttributeKey<City, Int>("population")
        let capital = AttributeKey<City, Bool>("capital")
        let country = ToOne<City, City>("country")
        let tags = ToMany<City, Tag>("tags")
      }
    }
    enum Tag: Queryable {
      static let entityName = "Tag"
      static let keys = Keys()
      struct Keys: Sendable { let label = AttributeKey<Tag, String>("label") }
    }

    """

  private static let modules = BuiltProgram.named("Modules")

  /// The folders of the C libraries' module maps.
  private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Sources").standardizedFileURL

  private static let canCompile = FileManager.default.fileExists(
    atPath: modules.appendingPathComponent("LiveFetchPredicates.swiftmodule").path)

  @Test("types that do not fit do not compile", .enabled(if: canCompile))
  func refusals() throws {
    let lines = Self.refused + Self.accepted
    var source = Self.entities
    let first = source.split(separator: "\n", omittingEmptySubsequences: false).count
    for (index, line) in lines.enumerated() {
      source += "func line\(index)() -> TypedPredicate<City> { \(line) }\n"
    }
    let wrong = try linesWithErrors(source)
    let refused = Self.refused.indices.map { $0 + first }
    #expect(wrong == Set(refused), "\(wrong.symmetricDifference(refused).sorted())")
  }

  /// The lines of `source` that the compiler objects to.
  private func linesWithErrors(_ source: String) throws -> Set<Int> {
    let folder = try TemporaryDirectory()
    defer { withExtendedLifetime(folder) {} }
    let file = URL(fileURLWithPath: folder.file("Lines.swift"))
    try Data(source.utf8).write(to: file)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "swiftc", "-typecheck", "-swift-version", "6", "-diagnostic-style", "llvm", "-I",
      Self.modules.path, file.path,
    ]
    let modules = [
      "CCurl", "LiveFetchCMappedFiles/include", "LiveFetchCSQLite", "CThreads", "CZlib",
    ]
    process.arguments? += modules.flatMap {
      ["-I", Self.sources.appendingPathComponent($0).path]
    }
    let pipe = Pipe()
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let errors = output.matches(of: /Lines\.swift:([0-9]+):[0-9]+: error:/)
    return Set(errors.compactMap { Int($0.1) })
  }
}
