// Foundation's #Predicate, executed by a store, finds the same rows as evaluated in Swift.

import Foundation
import LiveFetch
import TestSupport
import Testing

/// Rows as Swift objects, related to each other.
final class Nation: PredicateKeyPathProviding, Equatable, @unchecked Sendable {
  let id: Int
  let name: String
  var towns: [Place] = []

  init(id: Int, name: String) { (self.id, self.name) = (id, name) }

  static func == (left: Nation, right: Nation) -> Bool { left === right }

  static var predicateKeyPaths: [AnyKeyPath: String] {
    [\Nation.id: "id", \Nation.name: "name", \Nation.towns: "place"]
  }
}

final class Place: PredicateKeyPathProviding, @unchecked Sendable {
  let id: Int
  let name: String
  let nick: String?
  let people: Int?
  let area: Double
  let isPort: Bool
  let founded: Date?
  let nation: Nation?
  var unnamed: Int { id }
  var anything: Any { id }

  init(_ id: Int, _ random: inout SeededRandom, _ nation: Nation?) {
    self.id = id
    let names = ["Lima", "lima", "Oslo", "São Paulo", "SAO", "Köln", "Aa", "B", "Zoë"]
    name = names.randomElement(using: &random) ?? ""
    nick = ["", "L", "lim", nil].randomElement(using: &random) ?? nil
    people =
      Int.random(in: 0...3, using: &random) == 0 ? nil : Int.random(in: -3...9, using: &random)
    area = Double(Int.random(in: 0...8, using: &random)) / 2
    isPort = Bool.random(using: &random)
    founded =
      Bool.random(using: &random)
      ? nil : Date(timeIntervalSince1970: Double(Int.random(in: 0...5, using: &random)) * 86_400)
    self.nation = nation
  }

  static var predicateKeyPaths: [AnyKeyPath: String] {
    [
      \Place.id: "id", \Place.name: "name", \Place.nick: "nick", \Place.people: "people",
      \Place.area: "area", \Place.isPort: "isPort", \Place.founded: "founded",
      \Place.nation: "nation",
    ]
  }

  var sql: String {
    func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "NULL" }
    let date = founded.map { Instant($0).iso8601 }
    return """
      INSERT INTO place VALUES (\(id), \(text(name)), \(text(nick)),
        \(people.map(String.init) ?? "NULL"), \(area), \(isPort ? 1 : 0), \(text(date)),
        \(nation.map { String($0.id) } ?? "NULL"));
      """
  }
}

/// Places and nations in memory and in a file.
final class Gazetteer: Sendable {
  static let schema = """
    CREATE TABLE nation(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT NOT NULL, nick TEXT, people INTEGER,
      area REAL NOT NULL, isPort BOOLEAN NOT NULL, founded DATETIME,
      nation_id INTEGER REFERENCES nation(id));
    """

  let places: [Place]
  let nations: [Nation]
  let store: LocalStore
  private let directory: TemporaryDirectory

  init(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let nations = ["Peru", "Norway", "Mali", "Nauru"].enumerated().map {
      Nation(id: $0 + 1, name: $1)
    }
    var places: [Place] = []
    for id in 1...60 {
      // Nauru has no place.
      let nation = [nations[0], nations[1], nations[2], nil].randomElement(using: &random) ?? nil
      let place = Place(id, &random, nation)
      places.append(place)
      nation?.towns.append(place)
    }
    directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try sqlite(
      path,
      Self.schema + nations.map { "INSERT INTO nation VALUES (\($0.id), '\($0.name)');" }.joined()
        + places.map(\.sql).joined())
    store = try LocalStore(path: path)
    (self.nations, self.places) = (nations, places)
  }

  deinit { store.close() }

  func ids(_ entity: String, _ predicate: FetchPredicate) async throws -> [Int] {
    let answer = try await store.fetch(
      .object([
        .init(name: "entity", value: .string(entity)), .init(name: "as", value: .string("ids")),
        .init(name: "where", value: .string(predicate.format)),
        .init(name: "arguments", value: .array(predicate.arguments)),
      ]))
    guard case .array(let sections)? = answer["sections"],
      case .array(let ids)? = sections.first?["items"]
    else { throw UnexpectedResponse() }
    return ids.compactMap { $0.integer.map { Int($0) } }
  }
}

private struct UnexpectedResponse: Error {}

@Suite("Foundation's #Predicate", .mayBlock)
struct SwiftPredicateTests {
  @Test("finds the same rows as its evaluation in Swift", arguments: [1, 2, 3, 4])
  func parity(offset: UInt64) async throws {
    let seed = UInt64.random(in: 0...UInt64.max / 2) &+ offset
    let gazetteer = try Gazetteer(seed: seed)
    var random = SeededRandom(seed: seed &+ 1)
    for _ in 0..<3 {
      for (number, predicate) in Self.placePredicates(&random).enumerated() {
        let translated = try FetchPredicate(predicate)
        let found = try await gazetteer.ids("place", translated)
        let expected = try gazetteer.places.filter { try predicate.evaluate($0) }.map(\.id)
        #expect(found == expected, "place predicate \(number), seed \(seed): \(translated.format)")
      }
      for (number, predicate) in Self.nationPredicates(&random).enumerated() {
        let translated = try FetchPredicate(predicate)
        let found = try await gazetteer.ids("nation", translated)
        let expected = try gazetteer.nations.filter { try predicate.evaluate($0) }.map(\.id)
        #expect(found == expected, "nation predicate \(number), seed \(seed): \(translated.format)")
      }
    }
  }

  private static func placePredicates(
    _ random: inout SeededRandom
  ) -> [Foundation.Predicate<Place>] {
    let n = Int.random(in: -2...8, using: &random)
    let m = Int.random(in: 1...4, using: &random)
    let half = Double(n) / 2
    let part = ["", "l", "Li", "o", "São", "SAO", "k"].randomElement(using: &random) ?? ""
    let name: String? = ["Lima", nil].randomElement(using: &random) ?? nil
    let day = Date(timeIntervalSince1970: Double(n) * 86_400)
    let numbers: Set<Int> = [n, n + 1, m]
    let optionalNumbers: [Int?] = [n, nil]
    let range = min(n, m)...max(n, m)
    let same = ComparisonResult.orderedSame
    let ascending = ComparisonResult.orderedAscending
    return [
      #Predicate { $0.id >= n },
      #Predicate { $0.people == nil },
      #Predicate { $0.people == n },
      #Predicate { $0.people != n && $0.nick != name },
      #Predicate { ($0.people ?? 0) > n },
      #Predicate { ($0.people ?? n) + 1 == ($0.people ?? 0) * 2 },
      #Predicate { $0.people.flatMap { $0 > n } ?? false },
      #Predicate { $0.people.flatMap { $0 > n } ?? true },
      #Predicate { $0.people.flatMap { $0 > n } == nil },
      #Predicate { $0.people.flatMap { $0 > n } != true },
      #Predicate { if let people = $0.people { people % m == 1 } else { $0.isPort } },
      #Predicate { ($0.people.flatMap { $0 + 1 } ?? -9) > n },
      #Predicate { !($0.people == nil) && !$0.isPort },
      #Predicate { $0.isPort },
      #Predicate { $0.isPort == false || $0.id / m == 2 },
      #Predicate { $0.isPort == ($0.id > n) },
      #Predicate { $0.area / 2 > half },
      #Predicate { -$0.area <= half - 1 },
      #Predicate { $0.area * 2 - 1 != half },
      #Predicate { $0.isPort ? $0.area > half : $0.id < n },
      #Predicate { ($0.isPort ? $0.id : 3) == m },
      #Predicate { $0.name.contains(part) },
      #Predicate { $0.name.starts(with: part) },
      #Predicate { $0.nick.flatMap { $0.contains(part) } ?? false },
      #Predicate { $0.nick?.isEmpty == true },
      #Predicate { $0.name.localizedStandardContains(part) },
      #Predicate { $0.name.caseInsensitiveCompare(part) == same },
      #Predicate { $0.name.caseInsensitiveCompare("M") == ascending },
      #Predicate { $0.name > part },
      #Predicate { numbers.contains($0.id) },
      #Predicate { optionalNumbers.contains($0.people) },
      #Predicate { (n..<m + n).contains($0.id) },
      #Predicate { range.contains($0.id) },
      #Predicate { (0.5...2).contains($0.area) },
      #Predicate { $0.founded == day },
      #Predicate { ($0.founded ?? day) < day },
      #Predicate { $0.nation == nil },
      #Predicate { $0.nation?.name == "Peru" },
      #Predicate { $0.nation?.name != "Peru" },
      #Predicate { ($0.nation.flatMap { $0.name } ?? "none").contains(part) },
      #Predicate { place in (place.people.flatMap { _ in place.name } ?? "none").contains(part) },
      #Predicate { place in place.nation.flatMap { _ in place.people } == nil },
      #Predicate { $0.nation.flatMap { $0.name > "M" && $0.id > m } ?? $0.isPort },
      #Predicate { place in numbers.contains { $0 == place.id } },
      #Predicate { place in numbers.allSatisfy { $0 < place.id } },
      #Predicate { $0.nation.flatMap { $0.towns.count > 15 } ?? false },
    ]
  }

  private static func nationPredicates(
    _ random: inout SeededRandom
  ) -> [Foundation.Predicate<Nation>] {
    let n = Int.random(in: 0...8, using: &random)
    return [
      #Predicate { $0.towns.isEmpty },
      #Predicate { $0.towns.count > n * 2 },
      #Predicate { $0.towns.contains { $0.id == n } },
      #Predicate { $0.towns.allSatisfy { $0.area < 4 } },
      #Predicate { $0.towns.filter { ($0.people ?? 0) > n }.count > 2 },
      #Predicate { $0.towns.filter { $0.isPort }.filter { $0.area > 1 }.isEmpty },
      #Predicate { nation in nation.towns.contains { $0.id < nation.id * 3 } },
      #Predicate { nation in
        nation.towns.contains { town in
          nation.towns.contains { $0.id == town.id + 1 && $0.isPort != town.isPort }
        }
      },
    ]
  }

  @Test("finds nothing where it unwraps nil, also negated")
  func forcedUnwrapping() async throws {
    let gazetteer = try Gazetteer(seed: 3)
    let known = gazetteer.places.filter { $0.people != nil }
    let cases: [(Foundation.Predicate<Place>, [Place])] = [
      (#Predicate { $0.people! != 3 }, known.filter { $0.people != 3 }),
      (#Predicate { !($0.people! > 3) }, known.filter { ($0.people ?? 9) <= 3 }),
      (#Predicate { !(!($0.people! > 3)) }, known.filter { ($0.people ?? 0) > 3 }),
      (
        #Predicate { $0.people == nil || $0.people! != 3 },
        gazetteer.places.filter { $0.people != 3 }
      ),
      (
        #Predicate { !($0.isPort && $0.people! > 3) },
        gazetteer.places.filter { !$0.isPort || ($0.people ?? 9) <= 3 }
      ),
      (
        #Predicate { !($0.isPort || $0.people! > 3) },
        gazetteer.places.filter { !$0.isPort && ($0.people ?? 9) <= 3 }
      ),
      (
        #Predicate { ($0.isPort && $0.people! > 3) == false },
        gazetteer.places.filter { !$0.isPort || ($0.people ?? 9) <= 3 }
      ),
      (
        #Predicate { ($0.isPort && $0.people! > 3) ? false : true },
        gazetteer.places.filter { !$0.isPort || ($0.people ?? 9) <= 3 }
      ),
      (
        #Predicate { [false].contains($0.isPort && $0.people! > 3) },
        gazetteer.places.filter { !$0.isPort || ($0.people ?? 9) <= 3 }
      ),
      (
        #Predicate { !($0.nation.flatMap { $0.name > "N" })! },
        gazetteer.places.filter { ($0.nation?.name ?? "Z") <= "N" }
      ),
      (
        #Predicate { ($0.nation.flatMap { $0.name > "N" })! },
        gazetteer.places.filter { ($0.nation?.name ?? "A") > "N" }
      ),
      // A nil in a branch that is not taken has no effect.
      (
        #Predicate { !($0.people != nil && $0.people! > 3) },
        gazetteer.places.filter { ($0.people ?? 0) <= 3 }
      ),
      (
        #Predicate { $0.people != nil ? $0.people! > 3 : true },
        gazetteer.places.filter { ($0.people ?? 9) > 3 }
      ),
      (
        #Predicate { ($0.people ?? $0.nation!.id) > 3 },
        gazetteer.places.filter { ($0.people ?? $0.nation?.id ?? 0) > 3 }
      ),
      (
        #Predicate { $0.nation!.name != "Peru" },
        gazetteer.places.filter { $0.nation != nil && $0.nation?.name != "Peru" }
      ),
    ]
    for (number, (predicate, expected)) in cases.enumerated() {
      let translated = try FetchPredicate(predicate)
      let found = try await gazetteer.ids("place", translated)
      #expect(found == expected.map(\.id), "predicate \(number): \(translated.format)")
    }
  }

  @Test("is translated to the shortest equivalent text")
  func texts() throws {
    func text(_ predicate: Foundation.Predicate<Place>) throws -> String {
      let fetch = try FetchPredicate(predicate)
      #expect(fetch.arguments.isEmpty)
      return fetch.format
    }
    #expect(try text(#Predicate { $0.id >= 1_000_000 }) == "id >= 1000000")
    #expect(
      try text(#Predicate { $0.nation?.name == "Peru" && $0.isPort && !($0.id == 1) })
        == #"nation.name == "Peru" AND isPort == TRUE AND NOT id == 1"#)
    #expect(try text(#Predicate { $0.name.starts(with: "L") }) == #"name BEGINSWITH "L""#)
    #expect(
      try text(#Predicate { $0.people.flatMap { $0 > 1 } ?? false })
        == "people != nil AND people > 1")
    #expect(
      try FetchPredicate(#Predicate<Nation> { $0.towns.filter { $0.area > 1 }.count > 2 }).format
        == "SUBQUERY(place, $x1, $x1.area > 1.0).@count > 2")
  }

  @Test("refuses unsupported operations and names them")
  func refusals() throws {
    func refusal(
      _ predicate: Foundation.Predicate<Place>
    ) -> PredicateTranslationError? {
      do throws(PredicateTranslationError) {
        _ = try FetchPredicate(predicate)
        return nil
      } catch {
        return error
      }
    }
    #expect(
      refusal(#Predicate { $0.name.count > 2 })
        == .unsupported(
          operation: "String.count", reason: "it counts characters; `length(…)` counts UTF-16 units"
        ))
    let unnamed = try #require(refusal(#Predicate { $0.unnamed > 2 }))
    #expect(unnamed.description.contains("is not among the type's predicateKeyPaths"))
    #expect(
      refusal(#Predicate { ($0.anything as? Int) == 3 })
        == .unsupported(operation: "as? Int", reason: "fetch the subentity instead"))
    #expect(
      refusal(#Predicate { $0.anything is Int })
        == .unsupported(operation: "is Int", reason: "fetch the subentity instead"))
    let numbers = [1, 2]
    #expect(
      refusal(#Predicate { numbers.max() == 3 || $0.isPort })
        == .unsupported(
          operation: "SequenceMaximum", reason: "the language has no such operation"))
    let undefined = Double.nan
    #expect(
      refusal(#Predicate { $0.area == undefined })
        == .unsupported(operation: "NaN", reason: "it equals nothing, and no store holds it"))
    let large = UInt64.max
    #expect(
      refusal(#Predicate { _ in large > 3 }) == .unsupportedValue(type: "UInt64"))
  }

  @Test("makes a fetch request")
  @MainActor func requests() async throws {
    let cities = try Cities(.local)
    let request = try FetchRequest(
      where: #Predicate<City> { ($0.population ?? 0) >= 300 }, sortedBy: [.ascending("name")])
    let controller = FetchedResultsController(
      fetchRequest: request, context: ManagedObjectContext(store: cities.store))
    try await controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.name) == ["Lima", "Osaka", "Tokyo"])
  }
}

extension City: PredicateKeyPathProviding {
  static var predicateKeyPaths: [AnyKeyPath: String] {
    [\City.id: "id", \City.name: "name", \City.population: "population", \City.country: "country"]
  }
}
