// A fetch as a sequence that any task can read, its differences since a token, and controllers outside an
// actor.

import LiveFetch
import TestSupport
import Testing

@Suite("A live sequence", .mayBlock)
struct LiveResultsTests {
  private let request = FetchRequest<City>(
    where: FetchPredicate("population >= 200"), sortedBy: [.descending("population")])

  @Test(
    "gives the content and a snapshot after each change, outside any actor",
    arguments: Kind.allCases)
  func following(kind: Kind) async throws {
    let cities = try Cities(kind)
    var iterator = cities.store.live(request).makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(first.elements.map(\.name) == ["Tokyo", "Lima", "Osaka", "Bamako"])
    #expect(first.change == nil)
    try await cities.save(#"{"update":"City","id":5,"values":{"population":850}}"#)
    let second = try #require(try await iterator.next())
    #expect(second.elements.map(\.name) == ["Tokyo", "Bamako", "Lima", "Osaka"])
    #expect(second.change?.objects.map(\.id) == [.integer(5)])
    #expect(second.ids.itemIdentifiers == [1, 5, 3, 2].map { .integer($0) })
    #expect(second.token != first.token)
  }

  @Test("combines all changes since the last snapshot for a slow reader")
  func slow() async throws {
    let cities = try Cities(.local)
    var iterator = cities.store.live(request).makeAsyncIterator()
    _ = try await iterator.next()
    try await cities.save(#"{"delete":"City","id":1}"#)
    try await cities.save(#"{"delete":"City","id":2}"#)
    let snapshot = try #require(try await iterator.next())
    #expect(snapshot.elements.map(\.name) == ["Lima", "Bamako"])
    #expect(snapshot.change?.objects.map(\.type) == [.delete, .delete])
  }

  @Test("groups its elements by a section key path")
  func sections() async throws {
    let cities = try Cities(.local)
    var iterator = cities.store.live(request, section: .ascending("country.name"))
      .makeAsyncIterator()
    let snapshot = try #require(try await iterator.next())
    #expect(snapshot.sections.map(\.name) == ["Japan", "Mali", "Peru"])
    #expect(snapshot.sections.map { $0.objects.map(\.id) } == [[1, 2], [5], [3]])
  }

  @Test("is read by several tasks, each from its own beginning")
  func sharing() async throws {
    let cities = try Cities(.local)
    let results = cities.store.live(request)
    try await withThrowingTaskGroup(of: [Int].self) { group in
      for _ in 0..<4 {
        group.addTask {
          for try await snapshot in results { return snapshot.elements.map(\.id) }
          return []
        }
      }
      for try await ids in group { #expect(ids == [1, 3, 2, 5]) }
    }
  }

  /// The example of the article.
  private func printNames(_ store: any ObjectStore) async throws {
    for try await snapshot in store.live(FetchRequest<City>(sortedBy: [.ascending("name")])) {
      print(snapshot.elements.map(\.name))
    }
  }

  @Test("ends when its task is cancelled, and when the store is closed")
  func ending() async throws {
    let cities = try Cities(.local)
    let results = cities.store.live(request)
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let reading = (0..<2).map { _ in
      Task {
        var count = 0
        for try await _ in results {
          count += 1
          start.yield()
        }
        return count
      }
    }
    let printing = Task { try await printNames(cities.store) }
    printing.cancel()
    try await printing.value
    var started = starts.makeAsyncIterator()
    for _ in 0..<2 { await started.next() }
    reading[0].cancel()
    #expect(try await reading[0].value == 1)
    (cities.store as? LocalStore)?.close()
    #expect(try await reading[1].value == 1)
  }

  @Test("throws what the store refuses, and a negative limit")
  func refusals() async throws {
    let cities = try Cities(.local)
    var iterator = cities.store.live(FetchRequest<City>(where: FetchPredicate("size > 1")))
      .makeAsyncIterator()
    let error = await #expect(throws: FetchError.self) { try await iterator.next() }
    guard case .store(.refused) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try await iterator.next() == nil)
    var limited = request
    limited.fetchLimit = -1
    var second = cities.store.live(limited).makeAsyncIterator()
    await #expect(throws: FetchError.self) { try await second.next() }
  }
}

@MainActor
@Suite("The differences of a fetch since a token", .mayBlock)
struct FetchDifferencesTests {
  private let request = FetchRequest<City>(
    where: FetchPredicate("population >= 200"), sortedBy: [.descending("population")])
  private let section = SortTerm.ascending("country.name")

  private func lines(_ differences: FetchDifferences) -> [String] {
    let change = differences.change
    return change.sections.map { "\($0.type) section \($0.name) \($0.index)" }
      + change.objects.map { ChangeLog.line($0, "\($0.id)") }
  }

  @Test("are those of sections and objects, with the values", arguments: Kind.allCases)
  func sectionsAndObjects(kind: Kind) async throws {
    let cities = try Cities(kind)
    var old: LiveSnapshot<City>?
    for try await snapshot in cities.store.live(request, section: section) {
      old = snapshot
      break
    }
    let token = try #require(old).token
    try await cities.save(#"{"delete":"City","id":5}"#)
    try await cities.save(#"{"update":"City","id":2,"values":{"population":950}}"#)
    try await cities.save(#"{"update":"City","id":3,"values":{"name":"Callao"}}"#)
    try await cities.save(
      #"{"insert":"City","values":{"id":6,"name":"Nara","population":250,"country":1}}"#)
    let differences = try await cities.store.differences(
      from: token, of: request, section: section)
    #expect(
      lines(differences) == [
        "delete section Mali 1", "delete 5 1.0 -", "insert 6 - 0.2", "move 2 0.1 0.0",
        "update 3 2.0 1.0",
      ])
    #expect(differences.values.count == 3)
    #expect(differences.values[.integer(2)]?.names == ["id", "population"])
    #expect(differences.values[.integer(2)]?["population"] == .number("950"))
    #expect(differences.values[.integer(3)]?["name"] == .string("Callao"))
    #expect(differences.values[.integer(6)]?["name"] == .string("Nara"))
    #expect(differences.summary.count == 4)
    let later = try await cities.store.differences(
      from: differences.token, of: request, section: section)
    #expect(later.change.isEmpty && later.values.isEmpty)
  }

  /// The example of the article.
  private func newToken(_ store: any ObjectStore, _ token: String) async throws -> String {
    let request = FetchRequest<City>(sortedBy: [.ascending("name")])
    let differences = try await store.differences(from: token, of: request)
    for change in differences.change.objects {
      print(change.type, change.id, differences.values[change.id]?["name"]?.string ?? "")
    }
    return differences.token
  }

  @Test("begin at any token, also of a save, and after a file was opened again")
  func savedToken() async throws {
    let cities = try Cities(.local)
    var token = try await cities.save(#"{"delete":"City","id":4}"#).token
    (cities.store as? LocalStore)?.close()
    let store = try LocalStore(path: cities.opened.path)
    defer { store.close() }
    #expect(try await lines(store.differences(from: token, of: request)) == [])
    let delete = #"{"changes":[{"delete":"City","id":1}]}"#
    _ = try await store.save(JSON(parsing: Array(delete.utf8)))
    #expect(
      try await lines(store.differences(from: token, of: request)) == ["delete 1 0.0 -"])
    token = try await newToken(store, token)
    #expect(try await lines(store.differences(from: token, of: request)) == [])
  }

  @Test("say that a token of another history has expired", arguments: Kind.allCases)
  func otherHistory(kind: Kind) async throws {
    let cities = try Cities(kind)
    let error = await #expect(throws: FetchError.self) {
      try await cities.store.differences(from: "another-1-00000000", of: request)
    }
    guard case .store(.tokenExpired) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("throw what the store refuses, and a negative limit")
  func refusals() async throws {
    let cities = try Cities(.local)
    let error = await #expect(throws: FetchError.self) {
      try await cities.store.differences(from: "no token", of: request)
    }
    guard case .store(.refused(let problem)) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(problem.code == "bad-token")
    var limited = request
    limited.fetchLimit = -1
    let negative = limited
    await #expect(throws: FetchError.self) {
      try await cities.store.differences(from: "another-1-00000000", of: negative)
    }
  }
}

@Suite("A controller outside an actor", .mayBlock)
struct UnisolatedControllerTests {
  @Test("refuses to fetch, because it could not report changes")
  func refusal() async throws {
    let cities = try Cities(.local)
    let context = ManagedObjectContext(store: cities.store)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.ascending("name")]), context: context)
    for update in [false, true] {
      let error = await #expect(throws: FetchError.self) {
        if update {
          try await controller.update(fetchRequest: FetchRequest<City>())
        } else {
          try await controller.performFetch()
        }
      }
      guard case .outsideActor = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
    #expect(controller.fetchedObjects == nil)
  }

  @Test("of a data store refuses as well")
  func dataStore() async throws {
    let cities = try Cities(.local)
    let controller = DataStoreResultsController(
      store: ObjectDataStore<City>(cities.store), request: FetchRequest<City>())
    let error = await #expect(throws: FetchError.self) { try await controller.performFetch() }
    guard case .outsideActor = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(controller.sections.isEmpty)
  }
}
