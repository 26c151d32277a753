// The sample models as classes, and stores of them, in process and over HTTP.

import Foundation
import LiveFetch
import LiveFetchPredicates
import SQLiteStore

/// A temporary store of one of the sample models, deleted after the test.
struct SampleStore: OpenedSample {
  let opened: OpenedStore

  /// - Parameter data: true to load the sample's objects.
  init(_ kind: Kind, _ name: String, data: Bool = false) async throws {
    let model = try ModelFile(parsing: Self.resource("\(name).json"))
    var options = SQLiteStoreOptions()
    options.model = model
    try self.init(kind, options)
    if data { _ = try await store.save(JSON(parsing: Self.resource("\(name).data.json"))) }
  }

  init(_ kind: Kind, _ options: SQLiteStoreOptions) throws {
    opened = try OpenedStore(kind, options)
  }

  private static func resource(_ name: String) throws -> [UInt8] {
    let folder = URL(fileURLWithPath: #filePath)
      .appendingPathComponent("../../../../Sources/LiveFetchCommand/Resources/models").standardized
    return Array(try Data(contentsOf: folder.appendingPathComponent(name)))
  }
}

// MARK: - Cities

enum SampleCities {
  final class Country: ManagedObject, ManagedObjectType {
    static let entityName = "Country"
    static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.code)] }
    enum Key: String, KeyCodable { case code, name, population, cities }

    @Managed(.code) var code = ""
    @Managed(.name) var name = ""
    @Managed(.population) var population: Int?
    @ManagedToMany(.cities) var cities: ToManyProxy<City>
  }

  final class City: ManagedObject, ManagedObjectType {
    static let entityName = "City"
    static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.name)] }
    enum Key: String, KeyCodable { case name, population, latitude, country, mayor }

    @Managed(.name) var name = ""
    @Managed(.population) var population: Int?
    @Managed(.latitude) var latitude: Double?
    @ManagedToOne(.country) var country: Fault<Country>?
    @ManagedToOne(.mayor) var mayor: Fault<Person>?

    func validateValue(for key: Key) throws {
      if key == .name, name == "Atlantis" {
        throw ValidationFailure(Key.name, code: "sunken", "lies under water")
      }
    }

    override func validateForDelete() throws {
      if name == "Rome" { throw ValidationFailure("is eternal") }
    }
  }

  final class Person: ManagedObject, ManagedObjectType {
    static let entityName = "Person"
    enum Key: String, KeyCodable { case name, mayorOf }

    @Managed(.name) var name = ""
    @ManagedToOne(.mayorOf) var mayorOf: Fault<City>?
  }

  /// A store with three cities, and their ids.
  static func store(_ kind: Kind) async throws -> (SampleStore, [String: ObjectID]) {
    let sample = try await SampleStore(kind, "world")
    return (sample, try await sample.save(data).ids)
  }

  /// The same entity as plain values.
  struct PlainCity: Codable, Fetchable, Hashable {
    static let entityName = "City"
    var id: Int?
    var name: String
    var population: Int?
  }

  /// The typed builder's view of it.
  enum CityKeys: Queryable {
    static let entityName = "City"
    static let keys = Keys()
    struct Keys: Sendable {
      let name = AttributeKey<CityKeys, String>("name")
      let population = AttributeKey<CityKeys, Int>("population")
    }
  }

  static let data = """
    {"insert":"Country","temporaryID":"jp","values":{"code":"JP","name":"Japan"}},
    {"insert":"Country","temporaryID":"pe","values":{"code":"PE","name":"Peru"}},
    {"insert":"Person","temporaryID":"yuriko","values":{"name":"Yuriko"}},
    {"insert":"City","temporaryID":"tokyo","values":{"name":"Tokyo","population":9700000,
      "country":{"temporaryID":"jp"},"mayor":{"temporaryID":"yuriko"}}},
    {"insert":"City","temporaryID":"osaka","values":{"name":"Osaka","population":2700000,
      "country":{"temporaryID":"jp"}}},
    {"insert":"City","temporaryID":"cusco","values":{"name":"Cusco","population":430000,
      "country":{"temporaryID":"pe"}}}
    """
}

extension SampleCities.City: PredicateKeyPathProviding {
  static var predicateKeyPaths: [AnyKeyPath: String] {
    [
      \SampleCities.City.name: Key.name.rawValue,
      \SampleCities.City.latitude: Key.latitude.rawValue,
    ]
  }
}

// MARK: - To-do

enum ToDo {
  final class List: ManagedObject, ManagedObjectType {
    static let entityName = "List"
    enum Key: String, KeyCodable { case title, itemCount, items }

    @Managed(.title) var title = ""
    @ManagedDerived(.itemCount) var itemCount: Int?
    @ManagedToMany(.items) var items: ToManyProxy<Item>
  }

  final class Item: ManagedObject, ManagedObjectType {
    static let entityName = "Item"
    static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.title)] }
    enum Key: String, KeyCodable { case title, done, due, list }

    @Managed(.title) var title = ""
    @Managed(.done) var done = false
    @Managed(.due) var due: Date?
    @ManagedToOne(.list) var list: Fault<List>?
  }

  /// An item of which the default predicate shows the open ones.
  final class OpenItem: ManagedObject, ManagedObjectType {
    static let entityName = "Item"
    static var defaultPredicate: FetchPredicate? { FetchPredicate("done == FALSE") }
    enum Key: String, KeyCodable { case title, done }

    @Managed(.title) var title = ""
    @Managed(.done) var done = false
  }
}

// MARK: - Heroes

class Skill: PolymorphicValue {
  class var concreteClasses: [any PolymorphicValue.Type] { [HeroSkill.self, VillainSkill.self] }
  class var className: String { "Skill" }

  let name: String

  init(name: String) { self.name = name }

  private enum CodingKeys: String, CodingKey { case name }

  required init(from decoder: any Decoder) throws {
    name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
  }
}

final class HeroSkill: Skill {
  override class var className: String { "HeroSkill" }

  let justicePower: Int
  let color: String?

  init(name: String, justicePower: Int, color: String? = nil) {
    self.justicePower = justicePower
    self.color = color
    super.init(name: name)
  }

  private enum CodingKeys: String, CodingKey { case justicePower, color }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    justicePower = try container.decode(Int.self, forKey: .justicePower)
    color = try container.decodeIfPresent(String.self, forKey: .color)
    try super.init(from: decoder)
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(justicePower, forKey: .justicePower)
    try container.encodeIfPresent(color, forKey: .color)
    try super.encode(to: encoder)
  }
}

final class Weapon: PolymorphicValue {
  let title: String
  let damage: Int

  init(title: String, damage: Int) {
    self.title = title
    self.damage = damage
  }
}

final class VillainSkill: Skill {
  override class var className: String { "VillainSkill" }

  let evilPower: Double?
  let weapon: Weapon?

  init(name: String, evilPower: Double?, weapon: Weapon? = nil) {
    self.evilPower = evilPower
    self.weapon = weapon
    super.init(name: name)
  }

  private enum CodingKeys: String, CodingKey { case evilPower, weapon }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    evilPower = try container.decodeIfPresent(Double.self, forKey: .evilPower)
    weapon = try container.decodeIfPresent(Polymorphic<Weapon>.self, forKey: .weapon)?.value
    try super.init(from: decoder)
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(evilPower, forKey: .evilPower)
    try container.encodeIfPresent(weapon.map(Polymorphic.init), forKey: .weapon)
    try super.encode(to: encoder)
  }
}

enum Heroes {
  class Human: ManagedObject, ManagedEntity {
    class var entityName: String { "Human" }
    class var defaultSortDescriptors: [SortTerm] { [.ascending("name")] }
    class var subentities: [any ManagedEntity.Type] { [Hero.self, Villain.self] }
    enum HumanKey: String, KeyCodable { case name, searchName, birthday, skill, mentor }

    @ManagedAttribute(HumanKey.name) var name = ""
    @DerivedAttribute(HumanKey.searchName) var searchName: String?
    @ManagedAttribute(HumanKey.birthday) var birthday: Date?
    @ManagedAttribute(HumanKey.skill) var skill: Skill?
    @ToOneRelationship(HumanKey.mentor) var mentor: Fault<Human>?
  }

  final class Hero: Human, ManagedObjectType {
    override class var entityName: String { "Hero" }
    enum Key: String, KeyCodable { case name, skill, mentor, power, motto, team, nemesis }

    @Managed(.power) var power = 1
    @Managed(.motto) var motto: String?
    @ManagedToOne(.team) var team: Fault<Team>?
    @ManagedToOne(.nemesis) var nemesis: Fault<Villain>?
  }

  final class Villain: Human, ManagedObjectType {
    override class var entityName: String { "Villain" }
    enum Key: String, KeyCodable { case name, skill, mentor, evilness, nemesis }

    @Managed(.evilness) var evilness = 0.5
    @ManagedToOne(.nemesis) var nemesis: Fault<Hero>?
  }

  final class Team: ManagedObject, ManagedObjectType {
    static let entityName = "Team"
    enum Key: String, KeyCodable { case name, memberCount, totalPower, members }

    @Managed(.name) var name = ""
    @ManagedDerived(.memberCount) var memberCount: Int?
    @ManagedDerived(.totalPower) var totalPower: Int?
    @ManagedToMany(.members) var members: ToManyProxy<Hero>
  }
}
