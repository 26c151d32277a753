// Saves of a context beside the same saves of its store, and the removal of members.

import Foundation
import LiveFetch

final class Station: ManagedObject, ManagedObjectType {
  static let entityName = "Station"
  enum Key: String, KeyCodable { case name, sensors }

  @Managed(.name) var name = ""
  @ManagedToMany(.sensors) var sensors: ToManyProxy<Sensor>
}

final class Sensor: ManagedObject, ManagedObjectType {
  static let entityName = "Sensor"
  enum Key: String, KeyCodable { case name, station }

  @Managed(.name) var name = ""
  @ManagedToOne(.station) var station: Fault<Station>?
}

extension Program {
  static func saves() async throws {
    let model = try ModelFile(of: [Station.self])
    for count in [5_000, 10_000, 20_000] {
      try await insert(count, byContextOf: LocalStore.inMemory(model))
      try await insert(count, by: LocalStore.inMemory(model))
    }
    for count in [2_000, 8_000] {
      try await removeMembers(of: count, LocalStore.inMemory(model))
    }
  }

  private static func insert(_ count: Int, byContextOf store: LocalStore) async throws {
    let context = ManagedObjectContext(store: store)
    let start = clock()
    for number in 0..<count {
      let sensor: Sensor = context.insertObject()
      sensor.name = "Sensor \(number)"
    }
    try await context.save()
    report("context \(count)", since: start)
    store.close()
  }

  private static func insert(_ count: Int, by store: LocalStore) async throws {
    let changes = (0..<count).map { number in
      let name = JSON.Member(name: "name", value: .string("Sensor \(number)"))
      return JSON.object([
        .init(name: "insert", value: .string("Sensor")),
        .init(name: "values", value: .object([name])),
      ])
    }
    let start = clock()
    _ = try await store.save(.object([.init(name: "changes", value: .array(changes))]))
    report("store \(count)", since: start)
    store.close()
  }

  /// Removes a quarter of the members of a relationship.
  private static func removeMembers(of count: Int, _ store: LocalStore) async throws {
    let context = ManagedObjectContext(store: store)
    let station: Station = context.insertObject()
    var sensors: [Sensor] = []
    for _ in 0..<count {
      let sensor: Sensor = context.insertObject()
      sensor.station = Fault(station)
      sensors.append(sensor)
    }
    try await context.save()
    _ = try await station.sensors.materialize()
    let start = clock()
    for sensor in sensors.prefix(count / 4) { station.sensors.remove(sensor) }
    try await context.save()
    report("members \(count)", since: start)
    store.close()
  }
}
