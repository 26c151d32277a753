// The Swift blocks of the README and the manual do what the pages say, and stand in tests word for word.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("The manual's Swift blocks", .mayBlock)
struct ManualSwiftTests {
  @Test("draw the sections of results controllers")
  func controllers() async throws {
    let cities = try Cities(.local)
    try await cities.save(#"{"update":"City","id":1,"values":{"population":1000000}}"#)
    let (path, store) = (cities.opened.path, cities.store)
    let (large, all) = (ManualScreen(), ManualScreen())
    let request = FetchRequest<City>(sortedBy: [.ascending("name")])
    let reading = [
      Task { try await large.showCities(path) }, Task { try await all.show(request, of: store) },
    ]
    try await eventually { !large.names.isEmpty && !all.names.isEmpty }
    #expect(large.names == ["Japan"])
    #expect(all.names == ["Japan", "Mali", "Peru"])
    for task in reading {
      task.cancel()
      try await task.value
    }
    withExtendedLifetime(cities) {}
  }

  @Test("end a live list when its task is cancelled")
  func firstLiveList() async throws {
    let cities = try Cities(.local)
    let path = cities.opened.path
    let printing = Task { try await FirstLiveList.Cities.main(path) }
    printing.cancel()
    try await printing.value
    withExtendedLifetime(cities) {}
  }

  @Test("make stores of a server, with a storage and with a function that returns the credential")
  func stores() async throws {
    let server = try Restarting()
    let session = ManualStores.Session()
    let context = ManagedObjectContext(store: ManualStores.renewing(server.address, session))
    #expect(try await context.fetch(FetchRequest<City>()).count == 5)
    #expect(await session.count == 1)
    let directory = try TemporaryDirectory()
    let folder = URL(fileURLWithPath: directory.file("storage"))
    let store = try ManualStores.offline(server.address, folder)
    #expect(try await ManagedObjectContext(store: store).fetch(FetchRequest<City>()).count == 5)
    store.close()
    server.stop()
    withExtendedLifetime(directory) {}
  }

  @Test("make, migrate and fill a file of a model, and read rows by SQL")
  func files() async throws {
    let directory = try TemporaryDirectory()
    let (path, file) = (directory.file("world.sqlite"), directory.file("world.json"))
    try ManualModels.create(path, file).close()
    var model = try ModelFile(parsing: [UInt8](Data(contentsOf: URL(fileURLWithPath: file))))
    #expect(model.entities.map(\.name) == ["City", "Country"])
    #expect(try LocalStore.storedModel(path: path) == model)
    model.entities[0].uniquenessConstraints = [["name"]]
    let cities = [
      ManualModels.NamedCity(name: "Lima", population: 7_737_002),
      ManualModels.NamedCity(name: "Cusco", population: 312_140),
    ]
    for _ in 1...2 {
      try ManualModels.migrate(path, model, cities)
      #expect(try LocalStore.storedModel(path: path) == model)
    }
    try sqlite(
      path, "INSERT INTO Country(id, name) VALUES (3, 'Peru'); UPDATE City SET country = 3")
    let store = try LocalStore(path: path)
    let tallies = try await ManualStores.tallies(store)
    #expect(tallies.map(\.country) == [3])
    #expect(tallies.map(\.cities) == [1])
    store.close()
    withExtendedLifetime(directory) {}
  }

  @Test("insert, save, fetch and materialize managed objects")
  func objects() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [ManualObjects.List.self]))
    try await ManualObjects.insert(ManagedObjectContext(store: store))
    store.close()
  }

  @Test("build predicates that print as text")
  func predicates() {
    #expect(
      ManualPredicates.texts() == [
        #"population >= 1000000 AND country.continent == "Europe""#,
        "SUBQUERY(cities, $x1, $x1.population * 3 > population).@count > 0",
      ])
  }

  /// The blocks that are not compiled: the page, the beginning, and the reason.
  private static let others: [(page: String, start: String, reason: String)] = [
    ("swift.md", "struct CitiesView: View {", "SwiftUI exists on Apple's systems only"),
    ("swift.md", "let callbacks = dataSource", "UIKit and AppKit exist on Apple's systems only"),
  ]

  @Test("stand in tests word for word, or there is a reason why not")
  func texts() throws {
    let examples = "Tests/LiveFetchTests/Manual"
    let sources = try [
      examples + "Examples.swift", examples + "PredicateExamples.swift",
      "Tests/LiveFetchTests/LiveResultsTests.swift", "Tests/Newcomer/Package.swift",
      "Tests/Newcomer/Tests/NewcomerTests/EntityMacroTests.swift",
    ].map { Self.compact(try ManualPage($0).text) }
    var found: [String] = []
    for page in try ManualPage.all() {
      for block in page.blocks where block.language == "swift" {
        let reason = Self.others.first {
          $0.page == page.name && block.text.hasPrefix($0.start)
        }?.reason
        if let reason {
          found.append(reason)
          continue
        }
        for part in block.text.components(separatedBy: "\n\n") {
          let code = Self.compact(part)
          #expect(sources.contains { $0.contains(code) }, "\(page.name): \(part)")
        }
      }
    }
    #expect(found == Self.others.map(\.reason))
  }

  /// The code without comments and white space, with the names that the examples have in the tests.
  private static func compact(_ text: String) -> String {
    let names = [
      (#""world.sqlite""#, "path"), (#""world.json""#, "file"), ("@main", ""),
      ("main()", "main(_path:String)"), (#",traits:["Macros"]"#, ""),
      (#"path:"../LiveFetch""#, #"name:"LiveFetch",path:"../..""#),
    ]
    var code = text.components(separatedBy: "\n").map { $0.components(separatedBy: "//")[0] }
      .joined().filter { !$0.isWhitespace }
    for (old, new) in names { code = code.replacingOccurrences(of: old, with: new) }
    return code
  }
}
