// The same generated scenario on a file in this process and on a server over it, by long polls and by
// a stream: saves, other predicates, orders, sections and windows. The delegate must receive the same
// calls, and applying them to the old content must give the new one.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A file and a server", .mayBlock)
struct EqualEventsTests {
  @Test("report the same changes for the same scenarios")
  func sameEvents() async throws {
    var moves = 0
    for offset: UInt64 in 11...14 { moves += try await compare(offset) }
    // One scenario in forty has none.
    #expect(moves > 0)
  }

  /// Returns the number of moves.
  private func compare(_ offset: UInt64) async throws -> Int {
    let seed = UInt64.random(in: 0...UInt64.max / 2) &+ offset
    let comment = Comment(rawValue: "seed \(seed)")
    let local = try await Scenario(.local, seed: seed).run(steps: 30)
    let remote = try await Scenario(.remote, seed: seed).run(steps: 30)
    let stream = try await Scenario(.stream, seed: seed).run(steps: 30)
    #expect(local.faults.isEmpty, comment)
    #expect(remote.faults.isEmpty, comment)
    #expect(stream.faults.isEmpty, comment)
    #expect(local.events == remote.events, comment)
    #expect(local.events == stream.events, comment)
    #expect(local.events.count > 60, comment)
    return local.moves
  }
}

/// A sequence of saves and requests, generated from a seed.
@MainActor
private final class Scenario {
  let cities: Cities
  var random: SeededRandom
  var events: [String] = []
  var faults: [String] = []
  private var ids = [1, 2, 3, 4, 5]
  private var nextID = 10
  private var replayed = ReplayedContent<City>(sections: [])
  private var sectionChanges: [SectionChange] = []
  private var changes: [ReplayedContent<City>.Change] = []
  /// Returns the order key of a city; nil while a new request changes the content.
  private var key: ((City) -> AnyHashable)?
  /// The number of objects reported as moved.
  private(set) var moves = 0

  init(_ kind: Kind, seed: UInt64) throws {
    cities = try Cities(kind)
    random = SeededRandom(seed: seed)
  }

  func run(steps: Int) async throws -> Scenario {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: cities.store))
    let callbacks = listen(to: controller)
    try await controller.performFetch()
    replayed.sections = content(of: controller)
    for step in 0..<steps {
      events.append("step \(step)")
      if Int.random(in: 0...4, using: &random) == 0 {
        try await changeRequest(of: controller)
      } else {
        key = Self.key(of: controller.fetchRequest)
        try await cities.save(save())
      }
      try await settle(controller)
      key = nil
    }
    withExtendedLifetime(callbacks) {}
    return self
  }

  /// Waits until the controller's content equals a new fetch.
  private func settle(_ controller: FetchedResultsController<City>) async throws {
    let fresh = FetchedResultsController(
      fetchRequest: controller.fetchRequest, context: controller.context,
      section: controller.section)
    try await fresh.performFetch()
    fresh.stop()
    try await eventually { content(of: controller) == content(of: fresh) }
    if replayed.sections != content(of: controller) { faults.append("replay at \(events.count)") }
    events.append("\(controller.fetchedObjects?.map(\.id) ?? [])")
  }

  private func content(
    of controller: FetchedResultsController<City>
  ) -> [ReplayedContent<City>.Section] {
    controller.sections.map { .init(name: $0.name, items: $0.objects) }
  }

  private func listen(
    to controller: FetchedResultsController<City>
  ) -> FetchedResultsControllerCallbacks<City> {
    let callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.willChangeContent = { [unowned self, unowned controller] in
      if content(of: controller) != replayed.sections {
        faults.append("will shows the new content")
      }
      (sectionChanges, changes) = ([], [])
      events.append("will")
    }
    callbacks.didChangeSection = { [unowned self] section, index, type in
      if !changes.isEmpty { faults.append("a section after objects") }
      sectionChanges.append(SectionChange(type: type, name: section.name, index: index))
      events.append("\(type) section \(section.name) \(index)")
    }
    callbacks.didChangeObject = { [unowned self] change, city in
      guard let city else { return faults.append("no city") }
      changes.append(
        .init(type: change.type, value: city, old: change.oldPosition, new: change.newPosition))
      events.append(ChangeLog.line(change, "\(city)"))
    }
    callbacks.didChangeContent = { [unowned self, unowned controller] in
      countMoves(to: content(of: controller))
      if let fault = replayed.apply(sectionChanges, changes) { faults.append(fault) }
      if replayed.sections != content(of: controller) { faults.append("another content") }
      events.append("did")
    }
    return callbacks
  }

  private static func key(of request: FetchRequest<City>) -> (City) -> AnyHashable {
    switch request.sortDescriptors.first?.keyPath {
    case "population": { $0.population }
    case "name": { $0.name }
    default: { $0.id }
    }
  }

  /// A save reports no more moved objects than necessary.
  private func countMoves(to new: [ReplayedContent<City>.Section]) {
    let received = changes.filter { $0.type == .move }
    moves += received.count
    guard let key else { return }
    let fewest = ReplayedContent.fewestMoves(from: replayed.sections, to: new) {
      key($0) == key($1)
    }
    if received.count != fewest { faults.append("\(received.count) moves for \(fewest)") }
  }

  private func changeRequest(of controller: FetchedResultsController<City>) async throws {
    var request = controller.fetchRequest
    var section = controller.section
    switch Int.random(in: 0...3, using: &random) {
    case 0:
      let least = Int.random(in: 0...500, using: &random)
      request.predicate =
        Bool.random(using: &random) ? nil : FetchPredicate("population >= %ld", least)
    case 1:
      let orders: [[SortTerm]] = [
        [.descending("population")], [.ascending("name")],
        [.ascending("id")],
      ]
      request.sortDescriptors = orders.randomElement(using: &random) ?? []
    case 2:
      let sections: [SortTerm?] = [nil, .ascending("country.name"), .descending("country.name")]
      section = sections.randomElement(using: &random) ?? nil
    default:
      request.fetchLimit = [nil, 3, 5].randomElement(using: &random) ?? nil
      request.fetchOffset = Int.random(in: 0...2, using: &random)
    }
    try await controller.update(fetchRequest: request, section: section)
  }

  private func save() -> String {
    var parts: [String] = []
    var (changed, gone) = (Set<Int>(), Set<Int>())
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      guard let id = ids.randomElement(using: &random), changed.insert(id).inserted else {
        continue
      }
      switch Int.random(in: 0...9, using: &random) {
      case 0 where ids.count > 4:
        gone.insert(id)
        parts.append(#"{"delete":"City","id":\#(id)}"#)
      case 1...3: parts.append(update(id, #""name":"N\#(number(20))""#))
      case 4: parts.append(update(id, #""country":\#(1 + number(2))"#))
      case 5: parts.append(update(id, #""population":null"#))
      default: parts.append(update(id, #""population":\#(number(9) * 100)"#))
      }
    }
    ids.removeAll { gone.contains($0) }
    if number(1) == 0 || parts.isEmpty {
      nextID += 1
      ids.append(nextID)
      parts.append(
        #"{"insert":"City","values":{"id":\#(nextID),"name":"I\#(nextID)","#
          + #""population":\#(number(9) * 100),"country":\#(1 + number(2))}}"#)
    }
    if number(5) == 0 {
      parts.append(
        #"{"update":"country","id":\#(1 + number(2)),"values":{"name":"L\#(number(5))"}}"#)
    }
    return parts.joined(separator: ",")
  }

  private func update(_ id: Int, _ values: String) -> String {
    #"{"update":"City","id":\#(id),"values":{\#(values)}}"#
  }

  private func number(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }
}
