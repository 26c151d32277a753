// Values that cannot be read, or not be read again: reported by name, and nothing else stops.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A value that cannot be read", .mayBlock)
struct UnreadableTests {
  final class Player: ManagedObject, ManagedObjectType {
    static let entityName = "player"
    static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.name)] }
    enum Key: String, KeyCodable { case name, score }

    @Managed(.name) var name = ""
    @Managed(.score) var score: Int?
  }

  struct PlainPlayer: Codable, Fetchable, Identifiable, Hashable {
    static let entityName = "player"
    let id: Int
    var name: String
    var score: Int?
  }

  /// A file that a shell writes as well.
  private struct Players {
    let directory: TemporaryDirectory
    let path: String
    let store: LocalStore

    init() throws {
      directory = try TemporaryDirectory()
      path = try directory.emptyFile()
      try sqlite(
        path,
        """
        CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT NOT NULL, score INTEGER);
        INSERT INTO player VALUES (1, 'Ada', 10), (2, 'Ben', 20), (3, 'Cleo', 30);
        """)
      store = try LocalStore(path: path)
    }
  }

  private final class Errors<Element: Fetchable>: FetchedResultsControllerDelegate {
    var errors: [String] = []
    func controller(_ controller: Controller, didFailWith error: FetchError) {
      errors.append(error.description)
    }
  }

  @Test("leaves a controller without the object, until it can be read again")
  func recovery() async throws {
    let players = try Players()
    let context = ManagedObjectContext(store: players.store)
    let controller = FetchedResultsController(
      fetchRequest: Player.sortedFetchRequest, context: context)
    let plain = FetchedResultsController(
      fetchRequest: FetchRequest<PlainPlayer>(sortedBy: [.ascending("name")]), context: context)
    let (log, plainLog) = (Errors<Player>(), Errors<PlainPlayer>())
    (controller.delegate, plain.delegate) = (log, plainLog)
    try await controller.performFetch()
    try await plain.performFetch()
    let ben = try #require(controller.object(withID: .integer(2)))

    try sqlite(players.path, "UPDATE player SET score = 'abc' WHERE id = 2")
    try await eventually {
      !controller.unreadableObjects.isEmpty && !plain.unreadableObjects.isEmpty
    }
    #expect(controller.fetchedObjects?.map(\.name) == ["Ada", "Cleo"])
    #expect(plain.fetchedObjects?.map(\.name) == ["Ada", "Cleo"])
    #expect(log.errors == ["player 2: `score` is a string, not a whole number"])
    #expect(plainLog.errors.count == 1 && plainLog.errors[0].hasPrefix("player 2: `score`"))
    #expect(ben.score == 20)

    try sqlite(players.path, "UPDATE player SET score = 31 WHERE id = 3")
    try await eventually { controller.fetchedObjects?.last?.score == 31 }
    try await eventually { plain.fetchedObjects?.last?.score == 31 }
    #expect(log.errors.count == 1)
    if case .following = controller.state {} else { Issue.record("\(controller.state)") }

    try sqlite(players.path, "UPDATE player SET score = 21 WHERE id = 2")
    try await eventually { controller.fetchedObjects?.map(\.score) == [10, 21, 31] }
    try await eventually { plain.fetchedObjects?.map(\.score) == [10, 21, 31] }
    #expect(controller.unreadableObjects.isEmpty && plain.unreadableObjects.isEmpty)
    #expect(controller.fetchedObjects?[1] === ben && ben.score == 21)
  }

  @Test("of a fetch that begins leaves the other objects, and is thrown where there are none")
  func firstFetch() async throws {
    let players = try Players()
    try sqlite(players.path, "UPDATE player SET score = 'abc' WHERE id = 1")
    let context = ManagedObjectContext(store: players.store)
    let all = FetchedResultsController(fetchRequest: Player.sortedFetchRequest, context: context)
    try await all.performFetch()
    #expect(all.fetchedObjects?.map(\.name) == ["Ben", "Cleo"])
    #expect(all.unreadableObjects.map(\.id) == [.integer(1)])
    let one = FetchedResultsController(
      fetchRequest: Player.sortedFetchRequest(where: "name == 'Ada'"), context: context)
    await #expect(throws: FetchError.self) { try await one.performFetch() }
    try sqlite(players.path, "UPDATE player SET score = 11 WHERE id = 1")
    try await eventually { one.fetchedObjects?.map(\.score) == [11] }
    try await eventually { all.fetchedObjects?.map(\.score) == [11, 20, 30] }
  }

  @Test("does not keep a batched controller from loading the others")
  func batches() async throws {
    let players = try Players()
    try sqlite(players.path, "UPDATE player SET score = 'abc' WHERE id = 1")
    var request = Player.sortedFetchRequest
    request.fetchBatchSize = 10
    let controller = FetchedResultsController(
      fetchRequest: request, context: ManagedObjectContext(store: players.store))
    try await controller.performFetch()
    let loaded = try await controller.load(0..<3)
    #expect(loaded.map(\.name) == ["Ben", "Cleo"])
    #expect(controller.unreadableObjects.map(\.id) == [.integer(1)])
    try sqlite(players.path, "UPDATE player SET score = 11 WHERE id = 1")
    _ = try await becomesTrue(within: .seconds(60)) {
      _ = try await controller.load(0..<3)
      return controller.fetchedObjects?.count == 3
    }
    #expect(controller.fetchedObjects?.map(\.score) == [11, 20, 30])
    #expect(controller.unreadableObjects.isEmpty)
  }

  @Test("is left out of a context's fetches of several objects")
  func contextFetch() async throws {
    let players = try Players()
    let context = ManagedObjectContext(store: players.store)
    var reports: [[String]] = []
    let token = context.observe(DidFindUnreadableObjects.self) { found in
      reports.append(found.errors.map(\.description))
    }
    defer { token.cancel() }
    try sqlite(players.path, "UPDATE player SET score = 'abc' WHERE id = 1")
    let all = try await context.fetch(Player.sortedFetchRequest)
    #expect(all.map(\.name) == ["Ben", "Cleo"])
    let reason = "player 1: `score` is a string, not a whole number"
    #expect(reports == [[reason]])
    #expect(context.unreadableObjects.map(\.description) == [reason])
    all[0].score = 21
    #expect(try await context.fetch(Player.sortedFetchRequest) == all)
    #expect(reports == [[reason]])
    context.rollback()
    let plain = try await context.fetch(FetchRequest<PlainPlayer>(sortedBy: [.ascending("name")]))
    #expect(plain.map(\.name) == ["Ben", "Cleo"])
    let some = try await context.objects(Player.self, with: [.integer(3), .integer(1)])
    #expect(some.map(\.name) == ["Cleo"])
    await #expect(throws: ContextError.self) {
      _ = try await context.materializedObject(Player.self, with: .integer(1))
    }
    await #expect(throws: ContextError.self) {
      _ = try await context.fetch(Player.sortedFetchRequest(where: "name == 'Ada'"))
    }
    try sqlite(players.path, "UPDATE player SET score = 11 WHERE id = 1")
    let again = try await context.fetch(Player.sortedFetchRequest)
    #expect(again.map(\.score) == [11, 20, 30])
    _ = try await context.fetch(PlainPlayer.sortedFetchRequest)
    #expect(context.unreadableObjects.isEmpty)
  }

  @Test("is left out of the members and the prefetched objects of a relationship")
  func members() async throws {
    final class Team: ManagedObject, ManagedObjectType {
      static let entityName = "team"
      enum Key: String, KeyCodable { case name, player }
      @Managed(.name) var name = ""
      @ManagedToMany(.player) var player: ToManyProxy<Player>
    }
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    try sqlite(
      path,
      """
      CREATE TABLE team(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
      CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT NOT NULL, score INTEGER,
        team INTEGER REFERENCES team(id));
      INSERT INTO team VALUES (1, 'A');
      INSERT INTO player VALUES (1, 'Ada', 'abc', 1), (2, 'Ben', 20, 1), (3, 'Cleo', 30, 1);
      """)
    let context = ManagedObjectContext(store: try LocalStore(path: path))
    let team = try await context.materializedObject(Team.self, with: .integer(1))
    #expect(try await team.player.materialize().map(\.name) == ["Ben", "Cleo"])
    #expect(context.unreadableObjects.map(\.id) == [.integer(1)])
    let second = ManagedObjectContext(store: context.store)
    var request = Team.sortedFetchRequest
    request.relationshipsToPrefetch = ["player"]
    let teams = try await second.fetch(request)
    #expect(teams[0].player.ids?.count == 3)
    withExtendedLifetime(teams) { #expect(second.registeredObjects.count == 3) }
    #expect(second.unreadableObjects.map(\.id) == [.integer(1)])
  }

  @Test("is no deletion to an observer of the object")
  func observer() async throws {
    let players = try Players()
    let context = ManagedObjectContext(store: players.store)
    let ben = try await context.materializedObject(Player.self, with: .integer(2))
    var received: [String] = []
    let observer = ManagedObjectObserver(ben) { received.append("\($0)") }
    observer.didFail = { received.append($0.description) }
    try await Task.sleep(for: .milliseconds(100))
    try sqlite(players.path, "UPDATE player SET score = 'abc' WHERE id = 2")
    try await eventually { received == ["player 2: `score` is a string, not a whole number"] }
    #expect(!observer.isEnded)
    try sqlite(players.path, "UPDATE player SET score = 21 WHERE id = 2")
    try await eventually { received.last == "update" && ben.score == 21 }
    try sqlite(players.path, "DELETE FROM player WHERE id = 2")
    try await eventually { received.last == "delete" && observer.isEnded }
  }

  @Test("does not keep a merge from taking over everything else")
  func merging() async throws {
    let players = try Players()
    let context = ManagedObjectContext(store: players.store)
    let all = try await context.fetch(Player.sortedFetchRequest)
    try sqlite(
      players.path,
      "UPDATE player SET score = 'abc' WHERE id = 2; UPDATE player SET score = 31 WHERE id = 3")
    try await context.mergeChanges()
    #expect(all.map(\.score) == [10, 20, 31])
    #expect(context.unreadableObjects.map(\.id) == [.integer(2)])
    try sqlite(players.path, "UPDATE player SET score = 21 WHERE id = 2")
    try await context.mergeChanges()
    #expect(all.map(\.score) == [10, 21, 31])
    #expect(context.unreadableObjects == [])
  }

  // MARK: - Values that could not be read again

  @Test(
    "is not saved: a date without an end", arguments: [Double.infinity, -.infinity, .nan, 1e300])
  func dates(seconds: Double) async throws {
    let sample = try await SampleStore(.local, "todo")
    let context = ManagedObjectContext(store: sample.store)
    let item: ToDo.Item = context.insertObject()
    item.title = "Bread"
    item.due = Date(timeIntervalSince1970: seconds)
    do throws(ContextError) {
      try await context.save()
      Issue.record("it was saved")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.failures(of: item).map(\.property) == ["due"])
    }
    item.due = .distantFuture
    try await context.save()
    let fresh = try await ManagedObjectContext(store: sample.store)
      .fetch(ToDo.Item.sortedFetchRequest)
    #expect(fresh.map(\.due) == [.distantFuture])
  }

  @Test("is not assigned by a key: the property stays, and the save names it")
  func wrongType() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(
      SampleCities.City.self, with: #require(ids["osaka"]))
    osaka.setValue("many", for: .population)
    osaka.setValue(5, for: .name)
    osaka.setValue(nil as String?, for: .name)
    #expect(osaka.population == 2_700_000 && osaka.name == "Osaka")
    do throws(ContextError) {
      try await context.save()
      Issue.record("it was saved")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(
        refusal.failures(of: osaka).map(\.description).sorted() == [
          "City \(osaka.objectID) name: is null, not a text",
          "City \(osaka.objectID) population: is a string, not a whole number",
        ])
    }
    osaka.setValue(7, for: .population)
    osaka.setValue("Naniwa", for: .name)
    try await context.save()
    #expect(osaka.population == 7 && osaka.name == "Naniwa")
  }

  @Test("of a key that no property declares says so")
  func undeclared() async throws {
    let players = try Players()
    final class Named: ManagedObject, ManagedObjectType {
      static let entityName = "player"
      enum Key: String, KeyCodable { case name, score }
      @Managed(.name) var name = ""
    }
    let context = ManagedObjectContext(store: players.store)
    let ada = try await context.materializedObject(Named.self, with: .integer(1))
    #expect(ada.value(for: .score) == nil)
    #expect(throws: UnreadableValue("is declared by no property of Named")) {
      try ada.value(Int.self, for: .score)
    }
  }
}
