// The examples of the documentation's articles do what the articles say, and stand in them word for word.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("The articles' examples", .mayBlock)
struct ArticleExamplesTests {
  @Test("do what the articles say")
  func running() async throws {
    let cities = try Cities(.local)
    try await ResultsControllerArticle.overview(cities.store)
    let controller = FetchedResultsController.article(cities.store)
    let (screen, other) = (DelegatesArticle.CitiesScreen(), DelegatesArticle.CitiesScreen())
    try await AdapterArticle.adapting(controller, screen, other)
    let view = CitiesView()
    controller.delegate = view
    let old = try #require(controller.snapshot)
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await eventually { view.draws == 1 }
    SnapshotsArticle.mapping(old, try #require(controller.snapshot))
    let reading = Task { @MainActor in await SnapshotsArticle.sequence(controller) }
    AdapterArticle.closures(controller)
    reading.cancel()
    await reading.value
    try await RequestsArticle.selecting(cities.store)
    for request in try RequestsArticle.requests() {
      try await controller.update(fetchRequest: request)
    }
    try await DataStoresArticle.overview()
    let server = try Restarting()
    try await DataStoresArticle.server(server.address)
    server.stop()
    try StoresArticle.stores(server.path, server.address)
    try await newFiles()
  }

  @Test("delete and insert a row that moves into a new section")
  func rowInNewSection() async throws {
    let cities = try Cities(.local)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.ascending("name")]),
      context: ManagedObjectContext(store: cities.store),
      section: .grouped(by: .initial, of: "name"))
    try await controller.performFetch()
    let screen = DelegatesArticle.CitiesScreen()
    controller.delegate = screen
    try await cities.save(#"{"update":"City","id":3,"values":{"name":"Xima"}}"#)
    try await eventually { screen.rows.last == "end" }
    #expect(
      screen.rows == [
        "begin", "delete section 2", "insert section 4", "delete 2.0", "insert Xima 4.0", "end",
      ])
  }

  @Test("show elements of any type by one generic delegate")
  func genericDelegate() async throws {
    let cities = try Cities(.local)
    let controller = FetchedResultsController.article(cities.store)
    let titles = try await DelegatesArticle.generic(controller)
    #expect(titles.count == 5)
    #expect(titles.first == "Tokyo")
  }

  private func newFiles() async throws {
    let directory = try TemporaryDirectory()
    let towns = try await StoresArticle.creating(directory.file("towns.sqlite"))
    #expect(towns.model.entities.map(\.name) == ["Town"])
    towns.close()
    let model = URL(fileURLWithPath: directory.file("towns.json"))
    try Data(#"{"entities":[{"name":"Town"}]}"#.utf8).write(to: model)
    #expect(try StoresArticle.reading(model).entities.map(\.name) == ["Town"])
  }

  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  @Test(
    "stand in the tests as they stand in the articles",
    arguments: [
      "ResultsController", "Delegates", "Snapshots", "Adapter", "Requests", "StoresAndOffline",
      "DataStores",
    ])
  func texts(article: String) throws {
    let folder = Self.root.appending(path: "Sources/LiveFetch/LiveFetch.docc")
    let text = try String(contentsOf: folder.appending(path: article + ".md"), encoding: .utf8)
    let sources = try [
      "ArticleExamples", "LiveResultsTests", "RestStoreTests", "SwiftPredicateTests",
    ].map {
      try lines(Self.root.appending(path: "Tests/LiveFetchTests/\($0).swift")).joined(
        separator: "\n")
    }
    let blocks = text.components(separatedBy: "```swift\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    #expect(!blocks.isEmpty)
    for block in blocks.flatMap({ $0.components(separatedBy: "\n\n") }) {
      let example = Self.trimmed(block)
      #expect(sources.contains { $0.contains(example) }, "\(article): \(block)")
    }
  }

  @Test("of the tutorial end with the program")
  func tutorial() throws {
    let last = Self.root.appending(
      path: "Sources/LiveFetch/LiveFetch.docc/Resources/LiveCities-04.swift")
    let program = Self.root.appending(path: "Sources/LiveCities/LiveCities.swift")
    #expect(try lines(last) == lines(program))
    #expect(try lines(program).count < 120)
  }

  private func lines(_ file: URL) throws -> [String] {
    let text = try String(contentsOf: file, encoding: .utf8)
    return Self.trimmed(text).components(separatedBy: "\n")
  }

  /// Without indentation, commas between list elements, and comments on lines of their own.
  private static func trimmed(_ text: String) -> String {
    text.components(separatedBy: "\n").map { line in
      var line = line.trimmingCharacters(in: .whitespaces)
      if line.hasSuffix(","), line.contains("FetchRequest") || line.hasSuffix("),") {
        line.removeLast()
      }
      return line
    }.filter { !$0.isEmpty }.joined(separator: "\n")
  }
}
