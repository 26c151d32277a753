// Transformable attributes: the heroes of the sample, and custom transformers.

import Foundation
import LiveFetch
import TestSupport
import Testing

/// A colour in three parts, kept as `#RRGGBB`.
private struct Colour: Codable, Hashable {
  var red: UInt8
  var green: UInt8
  var blue: UInt8

  static let hexadecimal = AttributeTransformer<Colour, String>(
    transform: { colour in
      "#"
        + [colour.red, colour.green, colour.blue].map { byte in
          (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    },
    reverseTransform: { text in
      guard text.count == 7, let number = UInt32(text.dropFirst(), radix: 16) else {
        throw UnreadableValue("is no colour")
      }
      return Colour(
        red: UInt8(number >> 16 & 255), green: UInt8(number >> 8 & 255), blue: UInt8(number & 255))
    })
}

@MainActor
@Suite("A transformable attribute", .mayBlock)
struct TransformableTests {
  typealias Hero = Heroes.Hero
  typealias Human = Heroes.Human
  typealias Villain = Heroes.Villain
  typealias Team = Heroes.Team

  @Test("holds instances of the declared classes, nested ones too", arguments: Kind.allCases)
  func classes(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "heroes", data: true)
    let context = ManagedObjectContext(store: sample.store)
    let ann = try await context.fetchSingleObject(
      Hero.sortedFetchRequest(where: "name == 'Ann Falcon'"))
    let skill = try #require(ann?.skill as? HeroSkill)
    #expect(skill.name == "英雄怒视")
    #expect(skill.justicePower == 109)
    #expect(skill.color == "#FFC0CB")
    #expect(ann?.skill === skill, "the same instance is read again")
    let murk = try #require(
      try await context.fetch(Villain.sortedFetchRequest).first)
    let fog = try #require(murk.skill as? VillainSkill)
    #expect(fog.weapon?.title == "Fog horn")
    murk.skill = VillainSkill(
      name: "Gloom", evilPower: 99.5, weapon: Weapon(title: "Lamp", damage: -3))
    ann?.skill = nil
    try await context.save()
    let other = ManagedObjectContext(store: sample.store)
    let evil = try await other.fetch(
      Human.sortedFetchRequest(where: "skill.weapon.damage < 0"))
    #expect(evil.map(\.name) == ["Doctor Murk"])
    #expect((evil.first?.skill as? VillainSkill)?.weapon?.damage == -3)
    let named = try await other.fetchSingleObject(
      Hero.sortedFetchRequest(where: "name == 'Ann Falcon'"))
    #expect(named != nil && named?.skill == nil)
  }

  @Test("refuses the abstract base and undeclared classes, both ways, by name")
  func allowList() async throws {
    let sample = try await SampleStore(.local, "heroes")
    let context = ManagedObjectContext(store: sample.store)
    let hero: Hero = context.insertObject()
    hero.name = "Nemo"
    hero.skill = Skill(name: "nothing")
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.failures.map(\.reason) == ["`Skill` is abstract"])
      #expect(refusal.failures.first?.key(Hero.Key.self) == .skill)
    }
    func read(_ json: String) throws -> Skill {
      try Skill.attributeValue(of: JSON(parsing: Array(json.utf8)))
    }
    #expect(throws: UnreadableValue("`Skill` is abstract")) {
      try read(#"{"$class":"Skill","name":"x"}"#)
    }
    #expect(throws: UnreadableValue("`Process` is not a declared class of Skill")) {
      try read(#"{"$class":"Process","name":"x"}"#)
    }
    #expect(throws: UnreadableValue("needs a `$class`")) { try read(#"{"name":"x"}"#) }
    #expect(throws: UnreadableValue("`Fog` is not a declared class")) {
      try read(#"{"$error":"`Fog` is not a declared class"}"#)
    }
    #expect(try read(#"{"$class":"HeroSkill","name":"x","justicePower":1}"#) is HeroSkill)
    #expect(throws: UnreadableValue.self) {
      try HeroSkill.attributeValue(
        of: JSON(parsing: Array(#"{"$class":"VillainSkill","name":"x"}"#.utf8)))
    }
  }

  @Test(
    "shows subentities whole when they are fetched through their parent", arguments: Kind.allCases)
  func inheritance(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "heroes", data: true)
    let context = ManagedObjectContext(store: sample.store)
    let everyone = try await context.fetch(Human.sortedFetchRequest)
    #expect(everyone.map(\.name) == ["Ann Falcon", "Bo Granite", "Cleo Spark", "Doctor Murk"])
    #expect(everyone.map { ($0 as? Hero)?.power } == [420, 300, 77, nil])
    #expect((everyone[3] as? Villain)?.evilness == 0.9)
    #expect(everyone[0].searchName == "ann falcon")
    let ann = try #require(everyone[0] as? Hero)
    #expect(try await everyone[1].mentor?.materialize() === ann)
    #expect(try await context.fetch(Hero.sortedFetchRequest).first === ann)
    let team = try #require(try await ann.team?.materialize())
    #expect(team.memberCount == 2 && team.totalPower == 720)
    ann.setValue(500, for: .power)
    ann.motto = "Higher"
    #expect(ann.changedValues() == [.power: .number("500"), .motto: .string("Higher")])
    try await context.save()
    #expect(team.totalPower == 800, "what the store derives is taken over")

    let controller = FetchedResultsController(
      fetchRequest: Human.sortedFetchRequest, context: context)
    try await controller.performFetch()
    #expect(controller.fetchedObjects?.first === ann)
    try await sample.save(
      #"{"insert":"Hero","values":{"name":"Aa","power":5}},{"insert":"Villain","values":{"name":"Zed"}}"#
    )
    try await eventually { controller.fetchedObjects?.count == 6 }
    #expect((controller.fetchedObjects?.first as? Hero)?.power == 5)
    #expect((controller.fetchedObjects?.last as? Villain)?.evilness == 0.5)
  }

  @Test("goes through a transformer, given or registered by its name", arguments: Kind.allCases)
  func transformers(kind: Kind) async throws {
    let cities = try Cities(kind)
    let context = ManagedObjectContext(store: cities.store)
    Colour.hexadecimal.register(as: "HexColour")
    let pink = Colour(red: 255, green: 192, blue: 203)
    let first: TransformedCity = context.insertObject()
    first.given = pink
    try await context.save()
    let id = try #require(first.objectID.permanentID)
    let other = ManagedObjectContext(store: cities.store)
    let plain = try await other.fetch(FetchRequest<City>(where: .ids([id])))
    #expect(plain.map(\.name) == ["#FFC0CB"])
    let named = try await other.materializedObject(NamedColour.self, with: id)
    #expect(named.colour == pink)
    named.colour = Colour(red: 0, green: 1, blue: 2)
    try await other.save()
    try await context.mergeChanges()
    #expect(first.given == Colour(red: 0, green: 1, blue: 2))
    do {
      _ = try await ManagedObjectContext(store: cities.store)
        .materializedObject(UnknownTransformer.self, with: id)
      Issue.record("there is no such transformer")
    } catch {
      guard case .materialization(let error) = error else { throw error }
      #expect(error.reason == "`name` there is no transformer `Nobody`")
    }
  }

  @Test("is stored by a custom transformer")
  func storedThrough() async throws {
    let sealed = AttributeTransformer<Colour, Data>(
      transform: { Data([$0.red, $0.green, $0.blue].map { $0 ^ 0x55 }) },
      reverseTransform: { data in
        let bytes = data.map { $0 ^ 0x55 }
        guard bytes.count == 3 else { throw UnreadableValue("is no colour") }
        return Colour(red: bytes[0], green: bytes[1], blue: bytes[2])
      })
    let model = #"""
      {"entities":[{"name":"Flag","attributes":[
        {"name":"colour","type":"Transformable","transformer":"Sealed"}]}]}
      """#
    var options = LocalStore.Options()
    options.model = try ModelFile(parsing: Array(model.utf8))
    options.register(sealed, as: "Sealed")
    let sample = try SampleStore(.remote, options)
    let context = ManagedObjectContext(store: sample.store)
    let flag: Flag = context.insertObject()
    flag.colour = SealedColour(red: 1, green: 2, blue: 3)
    try await context.save()
    #expect(try sqlite(sample.opened.path, "SELECT hex(colour) FROM Flag") == ["545756"])
    let other = ManagedObjectContext(store: sample.store)
    let flags = try await other.fetch(Flag.sortedFetchRequest)
    #expect(flags.map(\.colour) == [SealedColour(red: 1, green: 2, blue: 3)])
  }

  @Test("of every type is read as it was saved", arguments: Kind.allCases)
  func everyType(kind: Kind) async throws {
    let model = #"""
      {"entities":[{"name":"All","attributes":[
        {"name":"small","type":"Integer 16"},{"name":"medium","type":"Integer 32"},
        {"name":"large","type":"Integer 64"},{"name":"exact","type":"Decimal"},
        {"name":"wide","type":"Double"},{"name":"narrow","type":"Float"},
        {"name":"text","type":"String"},{"name":"truth","type":"Boolean","default":true},
        {"name":"moment","type":"Date"},{"name":"bytes","type":"Binary"},
        {"name":"key","type":"UUID"},{"name":"link","type":"URI"},
        {"name":"mood","type":"String","optional":false,"default":"calm"},
        {"name":"list","type":"Transformable","transformer":"Array"},
        {"name":"address","type":"Transformable"}]}]}
      """#
    var options = LocalStore.Options()
    options.model = try ModelFile(parsing: Array(model.utf8))
    let sample = try SampleStore(kind, options)
    let context = ManagedObjectContext(store: sample.store)
    let all: All = context.insertObject()
    #expect(all.mood == .stormy && all.truth == nil)
    (all.small, all.medium, all.large) = (-5, 70_000, 9_007_199_254_740_993)
    all.exact = Decimal(string: "0.1")
    (all.wide, all.narrow) = (-.infinity, 0.1)
    all.text = "试试\u{0}\"\\"
    all.moment = Date(timeIntervalSince1970: 1_700_000_000.25)
    all.bytes = Data([0, 255, 3])
    all.key = UUID(uuidString: "0F0E0D0C-0B0A-0908-0706-050403020100")
    all.link = URL(string: "https://example.org/a?b=c")
    all.list = [1, 2, 3]
    all.address = Address(street: "Rua", number: 7)
    try await context.save()
    #expect(all.truth == true, "what was not assigned is the store's default")
    let id = try #require(all.objectID.permanentID)
    let same = try await ManagedObjectContext(store: sample.store)
      .materializedObject(All.self, with: id)
    #expect((same.small, same.medium, same.large) == (-5, 70_000, 9_007_199_254_740_993))
    #expect(same.exact == Decimal(string: "0.1"))
    #expect((same.wide, same.narrow) == (-.infinity, 0.1))
    #expect(same.text == "试试\u{0}\"\\")
    #expect(same.moment == Date(timeIntervalSince1970: 1_700_000_000.25))
    #expect(same.bytes == Data([0, 255, 3]))
    #expect(same.key == all.key && same.link == all.link)
    #expect(same.mood == .stormy)
    #expect(same.list == [1, 2, 3])
    #expect(same.address == Address(street: "Rua", number: 7))
  }
}

private final class TransformedCity: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  enum Key: String, KeyCodable { case name }
  @Managed(.name, transformer: Colour.hexadecimal) var given: Colour?
}

private final class NamedColour: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  enum Key: String, KeyCodable { case name }
  @Managed(.name, transformer: "HexColour") var colour: Colour?
}

private final class UnknownTransformer: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  enum Key: String, KeyCodable { case name }
  @Managed(.name, transformer: "Nobody") var colour: Colour?
}

private struct SealedColour: CodableAttributeValue, Hashable {
  var red: UInt8
  var green: UInt8
  var blue: UInt8
}

private final class Flag: ManagedObject, ManagedObjectType {
  static let entityName = "Flag"
  enum Key: String, KeyCodable { case colour }
  @Managed(.colour) var colour: SealedColour?
}

private struct Address: CodableAttributeValue, Hashable {
  var street: String
  var number: Int
}

private enum Mood: String, AttributeValue { case calm, stormy }

private final class All: ManagedObject, ManagedObjectType {
  static let entityName = "All"
  enum Key: String, KeyCodable {
    case small, medium, large, exact, wide, narrow, text, truth, moment, bytes, key, link, mood
    case list, address
  }
  @Managed(.small) var small: Int16?
  @Managed(.medium) var medium: Int32?
  @Managed(.large) var large: Int64?
  @Managed(.exact) var exact: Decimal?
  @Managed(.wide) var wide: Double?
  @Managed(.narrow) var narrow: Float?
  @Managed(.text) var text: String?
  @Managed(.truth) var truth: Bool?
  @Managed(.moment) var moment: Date?
  @Managed(.bytes) var bytes: Data?
  @Managed(.key) var key: UUID?
  @Managed(.link) var link: URL?
  @Managed(.mood) var mood = Mood.stormy
  @Managed(.list) var list: [Int]?
  @Managed(.address) var address: Address?
}
