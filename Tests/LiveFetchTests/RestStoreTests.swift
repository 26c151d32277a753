// A custom data store, as in the article: a JSON REST service that is polled.

import Foundation
import LiveFetch
import LiveFetchHTTPServer
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request for the towns with a minimum population.
struct LargeTowns: DataStoreRequest {
  var people = 0

  func includes(_ town: Town) -> Bool? { town.people >= people }
}

/// The towns of a JSON REST service: `GET`, `POST`, `PUT` and `DELETE` under `/towns`.
final class RestTowns: DataStore<Town, LargeTowns>, @unchecked Sendable {
  private let address: URL
  private let interval: Duration

  init(_ address: URL, every interval: Duration = .seconds(5)) {
    self.address = address
    self.interval = interval
    super.init()
  }

  override func execute(_ query: Query) {
    Task {
      while !query.isFinished {
        do {
          query.enqueue(all: try await towns(query.request))
          query.processPendingChanges()
        } catch let error as URLError {
          query.suspend(error)  // tried again
        } catch {
          query.reject(error)
        }
        try? await Task.sleep(for: interval)
      }
    }
  }

  override func save(_ changes: [Change]) async throws {
    for change in changes {
      let path = "towns" + (change.type == .insert ? "" : "/\(change.result.id)")
      var request = URLRequest(url: address.appending(path: path))
      request.httpMethod =
        switch change.type {
        case .insert: "POST"
        case .update: "PUT"
        case .delete: "DELETE"
        }
      if change.type != .delete { request.httpBody = try JSONEncoder().encode(change.result) }
      let (_, response) = try await URLSession.shared.data(for: request)
      guard (response as? HTTPURLResponse)?.statusCode == 200 else {
        throw URLError(.badServerResponse)
      }
    }
  }

  private func towns(_ request: LargeTowns) async throws -> [Town] {
    let url = address.appending(path: "towns")
      .appending(queryItems: [URLQueryItem(name: "people", value: "\(request.people)")])
    let (data, _) = try await URLSession.shared.data(from: url)
    return try JSONDecoder().decode([Town].self, from: data)
  }
}

/// A REST service of towns, without LiveFetch.
private final class TownService: HTTPHandler {
  let towns = Mutex([
    Town(id: 1, name: "Aba", people: 30), Town(id: 2, name: "Bonn", people: 20),
    Town(id: 3, name: "Cork", people: 10),
  ])
  let isBroken = Mutex(false)

  func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
    if isBroken.withLock({ $0 }) { return exchange.respond(.init(body: .text("no JSON"))) }
    let towns = towns.withLock { towns in
      answer(request, &towns)
      return towns
    }
    let least = request.query.flatMap { Int($0.dropFirst("people=".count)) } ?? 0
    let body = try? JSONEncoder().encode(towns.filter { $0.people >= least })
    exchange.respond(.init(body: .bytes(Array(body ?? Data()))))
  }

  private func answer(_ request: HTTPRequest, _ towns: inout [Town]) {
    let id = Int(request.path.split(separator: "/").last ?? "")
    let town = try? JSONDecoder().decode(Town.self, from: Data(request.body))
    switch (request.method, town) {
    case ("POST", let town?): towns.append(town)
    case ("PUT", let town?): towns = towns.map { $0.id == id ? town : $0 }
    case ("DELETE", _): towns.removeAll { $0.id == id }
    default: break
    }
  }
}

@MainActor
@Suite("A custom data store", .mayBlock)
struct RestStoreTests {
  @Test("shows the content of a REST service, changes it, and reports its failures")
  func rest() async throws {
    let service = TownService()
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    let http = try HTTPServer(configuration, handler: service)
    defer { http.stop() }
    let address = try #require(URL(string: "http://127.0.0.1:\(http.port)"))
    let store = RestTowns(address, every: .milliseconds(20))
    let controller = DataStoreResultsController(store: store, request: LargeTowns(people: 15))
    controller.itemOrder = { $0.people > $1.people }
    var changes: [String] = []
    controller.controllerDidChangeResults = { change in
      changes += change.objects.map { "\($0.type) \($0.object.name)" }
    }
    try await controller.performFetch()
    #expect(changes == ["insert Aba", "insert Bonn"])
    changes = []
    try await store.update(Town(id: 3, name: "Cork", people: 50))
    try await eventually { changes == ["insert Cork"] }
    try await store.delete(Town(id: 1, name: "Aba", people: 30))
    try await store.insert(Town(id: 4, name: "Derry", people: 40))
    try await eventually { controller.fetchedResults.map(\.name) == ["Cork", "Derry", "Bonn"] }
    let draft = store.draft()
    try await draft.delete(Town(id: 2, name: "Bonn", people: 20))
    try await draft.commit()
    try await eventually { controller.fetchedResults.map(\.name) == ["Cork", "Derry"] }
    service.isBroken.withLock { $0 = true }
    try await eventually { if case .failed = controller.state { true } else { false } }
    #expect(controller.fetchedResults.count == 2)
  }
}
