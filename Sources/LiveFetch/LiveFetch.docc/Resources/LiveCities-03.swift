@main
@MainActor
struct LiveCities {
  static func main() async throws {
    let store = try store(CommandLine.arguments[1])
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    request.fetchLimit = 20
    let controller = FetchedResultsController(
      fetchRequest: request, context: ManagedObjectContext(store: store))
    let callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.didChangeContentWithSnapshot = { snapshot in
      let changed = snapshot.reconfiguredItemIdentifiers.union(snapshot.reloadedItemIdentifiers)
      for city in controller.fetchedObjects ?? [] {
        let mark = changed.contains(.integer(Int64(city.id))) ? "*" : " "
        print(mark, city.name, city.population ?? 0)
      }
    }
    try await controller.performFetch()
    // The callbacks are called as long as the object that has them exists.
    for await _ in controller.changes {}
    withExtendedLifetime(callbacks) {}
  }
}
