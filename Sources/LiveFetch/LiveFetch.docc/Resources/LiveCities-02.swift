@main
@MainActor
struct LiveCities {
  static func main() async throws {
    let store = try store(CommandLine.arguments[1])
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    request.fetchLimit = 20
    let controller = FetchedResultsController(
      fetchRequest: request, context: ManagedObjectContext(store: store))
    try await controller.performFetch()
    for city in controller.fetchedObjects ?? [] { print(city.name, city.population ?? 0) }
  }

  private static func store(_ place: String) throws -> any ObjectStore {
    if place.hasPrefix("http://") || place.hasPrefix("https://"), let address = URL(string: place) {
      return RemoteStore(address)
    }
    return try LocalStore(path: place)
  }
}
