// A live table in a terminal: an SQLite file or a server's address enters; the largest cities leave,
// drawn again whenever a save changes them, until Ctrl-C.

import Dispatch
import Foundation
import LiveFetch

/// The properties of a city that the table shows.
struct City: Codable, Fetchable, Identifiable {
  static let entityName = "City"
  static let propertiesToFetch: [String]? = ["name", "population", "country.name"]

  let id: Int
  var name: String
  var population: Int?
  var country: String?

  enum CodingKeys: String, CodingKey {
    case id, name, population
    case country = "country.name"
  }
}

/// Draws the controller's cities, marking those that changed since the last time.
@MainActor
final class CityTable {
  private let controller: FetchedResultsController<City>
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  private let hasColour =
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] ?? "" == ""

  init(_ controller: FetchedResultsController<City>) { self.controller = controller }

  func draw(_ snapshot: ResultsSnapshot) {
    let changed = snapshot.reconfiguredItemIdentifiers.union(snapshot.reloadedItemIdentifiers)
    var text = isTerminal ? "\u{1B}[H\u{1B}[2J" : ""
    for section in controller.sections {
      for city in section.objects {
        text += line(city, isChanged: changed.contains(.integer(Int64(city.id)))) + "\n"
      }
    }
    text += "\(snapshot.numberOfItems) cities · \(status)\n"
    FileHandle.standardOutput.write(Data(text.utf8))
  }

  private func line(_ city: City, isChanged: Bool) -> String {
    let name = city.name.padding(toLength: 24, withPad: " ", startingAt: 0)
    let people = city.population.map(String.init) ?? "–"
    let padding = String(repeating: " ", count: max(0, 12 - people.count))
    let line = "\(isChanged ? "*" : " ") \(name)\(padding)\(people)  \(city.country ?? "")"
    return isChanged && hasColour ? "\u{1B}[1;33m\(line)\u{1B}[0m" : line
  }

  private var status: String {
    switch controller.state {
    case .offline: "offline, trying again"
    case .failed(let error): "ended: \(error)"
    case .initial, .loading, .following: "live, Ctrl-C ends"
    }
  }
}

@main
@MainActor
struct LiveCities {
  static func main() async {
    guard CommandLine.arguments.count == 2 else {
      end("usage: LiveCities FILE | http://ADDRESS:PORT", 64)
    }
    let interrupt = endAtInterrupt()
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    request.fetchLimit = 20
    do {
      let store = try store(CommandLine.arguments[1])
      let controller = FetchedResultsController(
        fetchRequest: request, context: ManagedObjectContext(store: store))
      let table = CityTable(controller)
      let callbacks = FetchedResultsControllerCallbacks(controller)
      callbacks.didChangeContentWithSnapshot = { table.draw($0) }
      controller.stateDidChange = { [weak controller] _ in
        controller?.snapshot.map { table.draw($0) }
      }
      try await controller.performFetch()
      for await _ in controller.changes {}
      withExtendedLifetime((callbacks, interrupt)) {}
    } catch {
      end("\(error)", 1)
    }
  }

  private static func store(_ place: String) throws -> any ObjectStore {
    if place.hasPrefix("http://") || place.hasPrefix("https://"), let address = URL(string: place) {
      return RemoteStore(address)
    }
    return try LocalStore(path: place)
  }

  nonisolated private static func endAtInterrupt() -> any DispatchSourceSignal {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    source.setEventHandler { exit(0) }
    source.resume()
    return source
  }

  private static func end(_ message: String, _ status: Int32) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(status)
  }
}
