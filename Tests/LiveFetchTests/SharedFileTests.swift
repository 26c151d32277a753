// Several local stores of one file in a process, the program's own SQL, migrations and imports.

import Foundation
import LiveFetch
import TestSupport
import Testing

@Suite("Several local stores of one file", .mayBlock)
struct SharedFileTests {
  private func file() throws -> (TemporaryDirectory, String) {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    try sqlite(path, Cities.schema)
    return (directory, path)
  }

  private func changes(_ text: String) throws -> JSON {
    try JSON(parsing: Array(#"{"changes":[\#(text)]}"#.utf8))
  }

  private func request(_ members: String) throws -> JSON {
    try JSON(parsing: Array(#"{"entity":"City"\#(members)}"#.utf8))
  }

  @Test("share it: each hears the saves of the others, and goes on when another closes")
  func sharing() async throws {
    let (directory, path) = try file()
    let first = try LocalStore(path: path)
    let second = try LocalStore(path: path)
    var names = second.live(FetchRequest<City>(sortedBy: [.ascending("name")])).makeAsyncIterator()
    #expect(try await names.next()?.elements.map(\.name).first == "Bamako")
    _ = try await first.save(changes(#"{"insert":"City","values":{"name":"Aden"}}"#))
    #expect(try await names.next()?.elements.map(\.name).first == "Aden")
    first.close()
    await #expect(throws: ObjectStoreError.self) {
      try await first.fetch(JSON(parsing: Array(#"{"entity":"City"}"#.utf8)))
    }
    _ = try await second.save(changes(#"{"delete":"City","id":6}"#))
    #expect(try await names.next()?.elements.map(\.name).first == "Bamako")
    second.close()
    #expect(try await names.next() == nil)
    let third = try LocalStore(path: path)
    third.close()
    withExtendedLifetime(directory) {}
  }

  @Test("end their own waiting requests only")
  func waiting() async throws {
    let (directory, path) = try file()
    let stores = try [LocalStore(path: path), LocalStore(path: path)]
    let token = try #require(try await stores[0].fetch(request(""))["token"]?.string)
    let waiting = try request(#","since":"\#(token)","wait":60"#)
    let waits = stores.map { store in Task { try? await store.fetch(waiting) } }
    stores[0].close()
    #expect(await waits[0].value == nil)
    _ = try await stores[1].save(changes(#"{"delete":"City","id":1}"#))
    let diff = try #require(await waits[1].value)
    guard case .array(let deleted)? = diff["items"]?["deleted"] else {
      Issue.record("\(diff)")
      return
    }
    #expect(deleted.map { $0["id"] } == [.number("1")])
    stores[1].close()
    withExtendedLifetime(directory) {}
  }

  @Test("are refused with another access or model")
  func refusals() async throws {
    let (directory, path) = try file()
    let store = try LocalStore(path: path)
    var options = LocalStore.Options()
    options.isReadOnly = true
    #expect(throws: StoreError.unusable("the file is open in this process with the other access")) {
      try LocalStore(path: path, options: options)
    }
    options = LocalStore.Options()
    options.model = try ModelFile(
      parsing: Array(#"{"version":"1","entities":[{"name":"Town"}]}"#.utf8))
    #expect(throws: StoreError.unusable("the file is open in this process with another model")) {
      try LocalStore(path: path, options: options)
    }
    store.close()
    withExtendedLifetime(directory) {}
  }

  private struct Tally: Decodable, Sendable, Equatable {
    let country: String
    let cities: Int
    let population: Double
  }

  @Test("read rows by SQL, and refuse statements that write")
  func rows() async throws {
    let (directory, path) = try file()
    let store = try LocalStore(path: path)
    let rows = try await store.rows(
      """
      SELECT country.name AS country, count(*) AS cities, sum(population) * 0.5 AS population
      FROM City JOIN country ON country.id = country_id WHERE population > ? GROUP BY 1 ORDER BY 1;
      """, 100, as: Tally.self)
    #expect(
      rows == [
        Tally(country: "Japan", cities: 2, population: 600),
        Tally(country: "Mali", cities: 1, population: 100),
        Tally(country: "Peru", cities: 1, population: 400),
      ])
    for sql in [
      "DELETE FROM City", "WITH a AS (SELECT 1) DELETE FROM City", "PRAGMA journal_mode = DELETE",
      "SELECT 1; SELECT 2", "SELECT no FROM City", "SELECT ?", "", "ATTACH 'x' AS y",
    ] {
      await #expect(throws: StoreError.self) { try await store.rows(sql, as: Tally.self) }
    }
    await #expect(throws: UnreadableValue.self) {
      try await store.rows("SELECT 1 AS country", as: Tally.self)
    }
    store.close()
    withExtendedLifetime(directory) {}
  }
}

@Suite("A file that no store has open", .mayBlock)
struct MaintainedFileTests {
  private func model(_ attributes: String) throws -> ModelFile {
    try ModelFile(
      parsing: Array(
        #"{"version":"1","entities":[{"name":"City","attributes":[\#(attributes)]}]}"#.utf8))
  }

  private struct Place: Codable, Fetchable, Sendable, Equatable {
    static let entityName = "City"
    var id: Int?
    var name: String
    var population: Int?
  }

  @Test("is migrated to another version of its model")
  func migration() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/m.sqlite"
    let old = try model(#"{"name":"name","type":"String"},{"name":"size","type":"Integer 64"}"#)
    let new = try model(
      #"{"name":"name","type":"String"},{"name":"population","type":"Integer 64","renamingIdentifier":"size"}"#
    )
    let store = try LocalStore(creating: path, model: old)
    _ = try await store.save(
      JSON(
        parsing: Array(
          #"{"changes":[{"insert":"City","values":{"name":"Lima","size":8}}]}"#.utf8)))
    #expect(throws: StoreError.inUse("this process has the file open as a store")) {
      try LocalStore.migrate(path: path, to: new)
    }
    store.close()
    #expect(try LocalStore.storedModel(path: path)?.entities == old.entities)
    var options = LocalStore.MigrationOptions()
    options.isDryRun = true
    #expect(try !LocalStore.migrate(path: path, to: new, options: options).steps.isEmpty)
    options.isDryRun = false
    options.after = ["UPDATE City SET name = 'Lima 2'"]
    try LocalStore.migrate(path: path, to: new, options: options)
    let migrated = try LocalStore(path: path)
    let places = try await migrated.rows("SELECT name, population FROM City", as: Place.self)
    #expect(places == [Place(name: "Lima 2", population: 8)])
    migrated.close()
    withExtendedLifetime(directory) {}
  }

  @Test("takes many values in one transaction, by insert or by key")
  func imports() async throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    try sqlite(
      path,
      """
      CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, population INTEGER);
      INSERT INTO City VALUES (1, 'Lima', 7);
      """)
    let places = [Place(name: "Lima", population: 8), Place(name: "Cusco", population: nil)]
    let counts = try LocalStore.importValues(places, path: path, key: ["name"])
    #expect(counts.inserted == 1)
    #expect(counts.updated == 1)
    let refused = [Place(name: "Puno", population: 1), Place(name: "Lima", population: 2)]
    #expect(throws: StoreError.self) { try LocalStore.importValues(refused, path: path) }
    let store = try LocalStore(path: path)
    let stored = try await store.rows("SELECT * FROM City ORDER BY id", as: Place.self)
    #expect(
      stored == [
        Place(id: 1, name: "Lima", population: 8), Place(id: 2, name: "Cusco", population: nil),
      ])
    #expect(throws: StoreError.self) { try LocalStore.importValues(places, path: path) }
    store.close()
    withExtendedLifetime(directory) {}
  }

  private struct Misspelt: Codable, Fetchable {
    static let entityName = "Citty"
    var name: String
  }

  private struct Wide: Codable, Fetchable {
    static let entityName = "City"
    var name: String
    var popullation: Int?
  }

  @Test("say in sentences why an import cannot begin")
  func refusedImports() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    try sqlite(path, Cities.schema)
    func reason(_ body: () throws(StoreError) -> Void) -> String {
      do {
        try body()
        return "no refusal"
      } catch {
        if case .unusable(let reason) = error { return reason }
        return "\(error)"
      }
    }
    #expect(
      reason { () throws(StoreError) in
        try LocalStore.importValues([Misspelt(name: "Lima")], path: path)
      } == "there is no entity `Citty`; did you mean `City`?")
    #expect(
      reason { () throws(StoreError) in
        try LocalStore.importValues([Wide(name: "Lima")], path: path)
      } == "there is no property `popullation`; did you mean `population`?")
    #expect(
      reason { () throws(StoreError) in
        try LocalStore.importValues([Place(name: "Lima")], path: path, key: ["name"])
      } == "key: `name` is no uniqueness constraint of the entity, so objects cannot be found by it"
    )
    withExtendedLifetime(directory) {}
  }

  @Test("name the path of a file that is missing, or is a folder")
  func missingFile() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/none.sqlite"
    #expect(throws: StoreError.unusable("there is no file at \(path)")) {
      try LocalStore(path: path)
    }
    #expect(throws: StoreError.unusable("\(directory.path) is a folder")) {
      try LocalStore(path: directory.path)
    }
  }
}
