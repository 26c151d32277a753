// Windows, batches and parts of values: negative numbers are refused, others are applied.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A fetch's window", .mayBlock)
struct FetchWindowTests {
  private func request(limit: Int? = nil, offset: Int = 0, batch: Int = 0) -> FetchRequest<City> {
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    (request.fetchLimit, request.fetchOffset, request.fetchBatchSize) = (limit, offset, batch)
    return request
  }

  @Test("limits the fetch and its count", arguments: Kind.allCases)
  func counts(kind: Kind) async throws {
    let cities = try Cities(kind)
    let context = ManagedObjectContext(store: cities.store)
    let windows: [(limit: Int?, offset: Int, count: Int)] = [
      (nil, 0, 5), (2, 0, 2), (2, 4, 1), (nil, 3, 2), (0, 0, 0), (9, 0, 5), (3, 9, 0), (nil, 5, 0),
    ]
    for window in windows {
      let request = request(limit: window.limit, offset: window.offset)
      #expect(try await context.count(request) == window.count, "\(window)")
      #expect(try await context.fetch(request).count == window.count, "\(window)")
    }
  }

  @Test("of negative numbers is refused by its name, by contexts and controllers alike")
  func negatives() async throws {
    let cities = try Cities(.local)
    let context = ManagedObjectContext(store: cities.store)
    let refused = [
      (request(limit: -1), "`fetchLimit`: -1 is negative."),
      (request(offset: -2), "`fetchOffset`: -2 is negative."),
      (request(batch: -3), "`fetchBatchSize`: -3 is negative."),
      (request(limit: .min, offset: .min), "`fetchLimit`: \(Int.min) is negative."),
    ]
    for (request, reason) in refused {
      for call in ["fetch", "count"] {
        do throws(ContextError) {
          if call == "fetch" { _ = try await context.fetch(request) }
          if call == "count" { _ = try await context.count(request) }
          Issue.record("\(call) did not refuse: \(reason)")
        } catch {
          guard case .store(let error) = error else { throw error }
          #expect(error.code == "bad-parameter")
          #expect(error.description == reason)
        }
      }
      let controller = FetchedResultsController(fetchRequest: self.request(), context: context)
      try await controller.performFetch()
      await #expect(throws: FetchError.self) { try await controller.update(fetchRequest: request) }
      #expect(controller.fetchRequest == self.request())
      let other = FetchedResultsController(fetchRequest: request, context: context)
      await #expect(throws: FetchError.self) { try await other.performFetch() }
      #expect(try await other.load(0..<3).isEmpty)
    }
  }

  @Test("can be sectioned by the initial of a text", arguments: Kind.allCases)
  func initials(kind: Kind) async throws {
    let cities = try Cities(kind)
    try await cities.save(#"{"insert":"City","values":{"id":6,"name":"Ōtsu","population":3}}"#)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.ascending("name")]),
      context: ManagedObjectContext(store: cities.store),
      section: .grouped(by: .initial, of: "name"))
    try await controller.performFetch()
    #expect(controller.sections.map(\.name) == ["B", "C", "L", "O", "T"])
    #expect(controller.sections[3].objects.map(\.name) == ["Osaka", "Ōtsu"])
    #expect(SortTerm.grouped(by: .month, of: "founded", .descending).text == "-founded:month")
  }
}

@Suite("A new file", .mayBlock)
struct NewFileTests {
  private static var model: ModelFile {
    var town = ModelFile.Entity(name: "Town")
    town.attributes = [
      .init(name: "name", type: .string), .init(name: "people", type: .integer64),
    ]
    var model = ModelFile()
    model.entities = [town]
    return model
  }

  @Test("is made with the model's tables, and remembers the model")
  func creating() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("towns.sqlite")
    let store = try LocalStore(creating: path, model: Self.model)
    #expect(store.model.entities.map(\.name) == ["Town"])
    let insert = #"{"changes":[{"insert":"Town","values":{"name":"Bonn","people":3}}]}"#
    #expect(try await store.save(JSON(parsing: Array(insert.utf8))).inserted == 1)
    store.close()
    let again = try LocalStore(path: path)
    let people = again.model.entities[0].attributes.map(\.name)
    #expect(people == ["name", "people"])
    again.close()
  }

  @Test("finds UUIDs in either case, and numbers of any size")
  func uuids() async throws {
    struct Doc: Codable, Fetchable {
      static let entityName = "Doc"
      let id: Int?
      var u: UUID
      var n: Int16
    }
    var entity = ModelFile.Entity(name: "Doc")
    entity.attributes = [.init(name: "u", type: .uuid), .init(name: "n", type: .integer16)]
    var model = ModelFile()
    model.entities = [entity]
    let directory = try TemporaryDirectory()
    let store = try LocalStore(creating: directory.file("docs.sqlite"), model: model)
    let context = ManagedObjectContext(store: store)
    let (upper, lower) = (UUID(), UUID())
    _ = try context.insert(Doc(id: nil, u: upper, n: 3))
    try await context.save()
    let insert = #"{"insert":"Doc","values":{"u":"\#(lower.uuidString.lowercased())","n":4}}"#
    _ = try await store.save(JSON(parsing: Array(#"{"changes":[\#(insert)]}"#.utf8)))
    for (uuid, number) in [(upper, Int16(3)), (lower, 4)] {
      for text in [uuid.uuidString, uuid.uuidString.lowercased()] {
        let found = try await context.fetch(
          FetchRequest<Doc>(where: FetchPredicate("u == %@", text)))
        #expect(found.map(\.n) == [number])
      }
      let both = FetchPredicate("u IN %@ AND n == %d", [uuid], number)
      #expect(try await context.count(FetchRequest<Doc>(where: both)) == 1)
    }
    store.close()
  }

  @Test("is not made where there is one, or of a model that cannot be, and nothing is left then")
  func refusals() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile("towns.sqlite")
    #expect(throws: StoreError.unusable("there is a file already")) {
      try LocalStore(creating: path, model: Self.model)
    }
    var wrong = Self.model
    wrong.entities[0].relationships = [.init(name: "land", destination: "Country")]
    #expect(throws: StoreError.self) {
      try LocalStore(creating: directory.file("other.sqlite"), model: wrong)
    }
    var readOnly = LocalStore.Options()
    readOnly.isReadOnly = true
    #expect(throws: StoreError.self) {
      try LocalStore(
        creating: directory.file("other.sqlite"), model: Self.model, options: readOnly)
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path)
        .filter { $0.hasPrefix("other") } == [])
  }
}
