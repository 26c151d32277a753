// Generated changes of an array: the reported changes transform the old content into the new one, with
// the fewest moves, and never contradict each other.

import LiveFetch
import TestSupport
import Testing

/// A list of sections of ids, to which changes are applied as ``ContentChange`` documents it.
struct ReplayedContent<Value: Equatable>: Equatable {
  struct Section: Equatable {
    var name: String
    var items: [Value]
  }

  struct Change {
    let type: ObjectChangeType
    let value: Value
    let old: Position?
    let new: Position?
  }

  var sections: [Section]

  /// The contradiction in the changes; nil if they could be applied.
  mutating func apply(_ sectionChanges: [SectionChange], _ changes: [Change]) -> String? {
    let leaving = changes.filter { $0.type == .delete || $0.type == .move }
      .compactMap(\.old).sorted(by: >)
    for place in leaving {
      guard sections.indices.contains(place.section),
        sections[place.section].items.indices.contains(place.item)
      else { return "nothing leaves \(place)" }
      sections[place.section].items.remove(at: place.item)
    }
    for change in sectionChanges where change.type == .delete {
      guard sections.indices.contains(change.index), sections[change.index].items.isEmpty,
        sections[change.index].name == change.name
      else { return "section \(change.name) is not empty at \(change.index)" }
      sections.remove(at: change.index)
    }
    for change in sectionChanges where change.type == .insert {
      guard change.index <= sections.count else { return "no section \(change.index)" }
      sections.insert(Section(name: change.name, items: []), at: change.index)
    }
    let coming = changes.filter { $0.type == .insert || $0.type == .move }
      .sorted { ($0.new ?? .first) < ($1.new ?? .first) }
    for change in coming {
      guard let place = change.new, sections.indices.contains(place.section),
        place.item <= sections[place.section].items.count
      else { return "nothing comes to \(String(describing: change.new))" }
      sections[place.section].items.insert(change.value, at: place.item)
    }
    for change in changes where change.type == .update {
      guard let place = change.new, sections.indices.contains(place.section),
        sections[place.section].items.indices.contains(place.item)
      else { return "nothing to update" }
      sections[place.section].items[place.item] = change.value
    }
    return nil
  }
}

@MainActor
@Suite("Generated changes", .mayBlock)
struct GeneratedResultsTests {
  @Test(
    "lead from content to content by the fewest moves", arguments: [1, 2, 3], [10, nil])
  func changes(offset: UInt64, limit: Int?) async throws {
    let seed = UInt64.random(in: 0...UInt64.max / 2) &+ offset
    var random = SeededRandom(seed: seed)
    let comment = Comment(rawValue: "seed \(seed)")
    let store = Towns((0..<12).map { Self.town($0, &random) })
    let controller = TownsController(
      store: store, request: FilterRequest(),
      arrangement: .init(
        sectionName: { $0.land }, itemOrder: { $0.people < $1.people }, limit: limit))
    var replayed = ReplayedContent<Town>(sections: [])
    var (old, faults) = ([Town](), [String]())
    controller.controllerDidChangeResults = { [unowned controller] change in
      let changes = change.objects.map {
        ReplayedContent<Town>.Change(
          type: $0.type, value: $0.object, old: $0.oldPosition, new: $0.newPosition)
      }
      let before = replayed
      if let fault = replayed.apply(change.sections, changes) { faults.append(fault) }
      let now = controller.sections.map {
        ReplayedContent<Town>.Section(name: $0.name, items: $0.objects)
      }
      if replayed.sections != now { faults.append("\(replayed.sections) is not \(now)") }
      let least = ReplayedContent<Town>.fewestMoves(from: before.sections, to: now) {
        $0.people == $1.people
      }
      let moves = changes.count { $0.type == .move }
      if moves != least { faults.append("\(moves) moves instead of \(least)") }
      for change in changes where change.type == .move {
        let was = old.first { $0.id == change.value.id }
        if was?.people == change.value.people, was?.land == change.value.land {
          faults.append("\(change.value.name) moved unchanged")
        }
      }
      if Set(changes.map(\.value.id)).count != changes.count { faults.append("named twice") }
    }
    controller.controllerDidChangeContent = { [unowned controller] in
      old = controller.fetchedResults
    }
    try await controller.performFetch()
    for _ in 0..<60 {
      try await store.save(Self.save(store.results, &random))
      let wanted = Self.window(store.results, limit)
      try await eventually { controller.fetchedResults == wanted }
      #expect(faults.isEmpty, comment)
      if !faults.isEmpty { return }
    }
  }

  private static func town(_ id: Int, _ random: inout SeededRandom) -> Town {
    Town(
      id: id, name: "T\(id)", people: Int.random(in: 0...9, using: &random),
      land: ["A", "B", "C"].randomElement(using: &random) ?? "A")
  }

  private static func save(
    _ towns: [Town], _ random: inout SeededRandom
  ) -> [DataStoreChange<Town>] {
    var changes: [DataStoreChange<Town>] = []
    for town in towns.shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random)) {
      switch Int.random(in: 0...5, using: &random) {
      case 0 where towns.count > 6: changes.append(.init(.delete, town))
      case 1:
        var renamed = town
        renamed.name += "'"
        changes.append(.init(.update, renamed))
      default: changes.append(.init(.update, self.town(town.id, &random)))
      }
    }
    if Bool.random(using: &random) {
      let id = (towns.map(\.id).max() ?? 0) + 1
      changes.append(.init(.insert, town(id, &random)))
    }
    return changes
  }

  private static func window(_ towns: [Town], _ limit: Int?) -> [Town] {
    let ordered = towns.enumerated().sorted { left, right in
      let keys = (left.element.land, left.element.people, left.offset)
      return keys < (right.element.land, right.element.people, right.offset)
    }
    return ordered.prefix(limit ?? .max).map(\.element)
  }
}
