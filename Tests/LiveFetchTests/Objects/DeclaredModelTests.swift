// The model that classes of managed objects declare.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("The model of classes", .mayBlock)
struct DeclaredModelTests {
  final class Folder: ManagedObject, ManagedObjectType {
    static let entityName = "Folder"
    enum Key: String, KeyCodable { case name, count, notes }

    @Managed(.name) var name = "New"
    @ManagedDerived(.count, from: "notes.@count") var count: Int?
    @ManagedToMany(.notes, deleteRule: .cascade) var notes: ToManyProxy<Note>
  }

  class Entry: ManagedObject, ManagedEntity {
    class var entityName: String { "Entry" }
    class var subentities: [any ManagedEntity.Type] { [Note.self] }
    enum EntryKey: String, KeyCodable { case created }
    @ManagedAttribute(EntryKey.created) var created: Date?
  }

  final class Note: Entry, ManagedObjectType {
    override class var entityName: String { "Note" }
    enum Key: String, KeyCodable { case text, mood, folder, tags }
    enum Mood: String, Codable, AttributeValue { case calm, busy }

    @Managed(.text) var text: String?
    @Managed(.mood) var mood = Mood.calm
    @Managed(.tags) var tags: [String]?
    @ManagedToOne(.folder) var folder: Fault<Folder>?
  }

  final class Uncounted: ManagedObject, ManagedObjectType {
    static let entityName = "Uncounted"
    enum Key: String, KeyCodable { case count }
    @ManagedDerived(.count) var count: Int?
  }

  @Test("has their attributes, relationships, inverses, parents and defaults")
  func declaration() throws {
    let model = try ModelFile(of: [Folder.self, Entry.self])
    func entity(_ name: String) throws -> ModelFile.Entity {
      try #require(model.entities.first { $0.name == name })
    }
    let folder = try entity("Folder")
    #expect(folder.attributes.map(\.name) == ["name", "count"])
    #expect(folder.attributes[0].type == .string)
    #expect(!folder.attributes[0].isOptional)
    #expect(folder.attributes[0].defaultValue == .string("New"))
    #expect(folder.attributes[1].derivation != nil)
    #expect(folder.relationships[0].inverse == "folder")
    #expect(folder.relationships[0].deleteRule == .cascade)
    #expect(try entity("Entry").isAbstract)
    let note = try entity("Note")
    #expect(note.parent == "Entry")
    #expect(note.attributes.map(\.name) == ["text", "mood", "tags"])
    #expect(note.attributes.map(\.type) == [.string, .string, .transformable])
    #expect(note.relationships.map(\.inverse) == ["notes"])
    #expect(try ModelFile(parsing: model.text).entities == model.entities)
  }

  @Test("makes a store in which the classes work")
  func store() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [Folder.self, Entry.self]))
    let context = ManagedObjectContext(store: store)
    let folder: Folder = context.insertObject()
    let note: Note = context.insertObject()
    note.text = "试试"
    note.tags = ["a"]
    note.folder = Fault(folder)
    try await context.save()
    let found = try await ManagedObjectContext(store: store).fetch(Folder.sortedFetchRequest)
    #expect(found.map(\.count) == [1])
    #expect(found.map(\.name) == ["New"])
    let notes = try await ManagedObjectContext(store: store).fetch(Note.sortedFetchRequest)
    #expect(notes.map(\.tags) == [["a"]])
    store.close()
  }

  final class Stamp: ManagedObject, ManagedObjectType {
    static let entityName = "Stamp"
    enum Key: String, KeyCodable { case code, made, price }

    @Managed(.code) var code = UUID()
    @Managed(.made) var made = Date()
    @Managed(.price) var price = 5
  }

  @Test("each object has its own initial values, and only constant ones are defaults of the model")
  func initialValues() async throws {
    let model = try ModelFile(of: [Stamp.self])
    #expect(model.entities[0].attributes.map(\.defaultValue) == [nil, nil, .number("5")])
    #expect(try ModelFile(of: [Stamp.self]) == model)
    let store = try LocalStore.inMemory(model)
    let context = ManagedObjectContext(store: store)
    let first: Stamp = context.insertObject()
    try await Task.sleep(for: .milliseconds(5))
    let second: Stamp = context.insertObject()
    #expect(first.code != second.code && first.made < second.made)
    try await context.save()
    let found = try await ManagedObjectContext(store: store).fetch(Stamp.sortedFetchRequest)
    #expect(Set(found.map(\.code)) == [first.code, second.code])
    #expect(found.map(\.price) == [5, 5])
    store.close()
  }

  class Power: PolymorphicValue {
    class var concreteClasses: [any PolymorphicValue.Type] { [Flight.self, Alliance.self] }
    class var className: String { "Power" }
    let name: String

    init(name: String) { self.name = name }
  }

  final class Flight: Power {
    enum Mood: String, Codable, CaseIterable { case calm, wild }
    override class var className: String { "Flight" }
    let ceiling: Int
    let mood: Mood

    init(name: String, ceiling: Int, mood: Mood) {
      (self.ceiling, self.mood) = (ceiling, mood)
      super.init(name: name)
    }

    private enum CodingKeys: String, CodingKey { case ceiling, mood }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      ceiling = try container.decode(Int.self, forKey: .ceiling)
      mood = try container.decode(Mood.self, forKey: .mood)
      try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(ceiling, forKey: .ceiling)
      try container.encode(mood, forKey: .mood)
    }
  }

  final class Alliance: Power {
    override class var className: String { "Alliance" }
    let rank: Int?
    let powers: [Polymorphic<Power>]

    init(name: String, rank: Int?, powers: [Power]) {
      (self.rank, self.powers) = (rank, powers.map(Polymorphic.init))
      super.init(name: name)
    }

    private enum CodingKeys: String, CodingKey { case rank, powers }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      rank = try container.decodeIfPresent(Int.self, forKey: .rank)
      powers = try container.decode([Polymorphic<Power>].self, forKey: .powers)
      try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encodeIfPresent(rank, forKey: .rank)
      try container.encode(powers, forKey: .powers)
    }
  }

  final class Badge: PolymorphicValue {
    let text: String
    init(text: String) { self.text = text }
  }

  struct Belongings: CodableAttributeValue { var badge: Polymorphic<Badge>? }

  final class Hero: ManagedObject, ManagedObjectType {
    static let entityName = "Hero"
    enum Key: String, KeyCodable { case power, past, belongings }

    @Managed(.power) var power: Power?
    @Managed(.past) var past: [Power]?
    @Managed(.belongings) var belongings: Belongings?
  }

  @Test("declares polymorphic classes with the fields that they decode")
  func valueClasses() throws {
    let model = try ModelFile(of: [Hero.self])
    #expect(model.entities[0].attributes.map(\.className) == ["Power", "Power", nil])
    #expect(model.entities[0].attributes.map(\.transformer) == [nil, "Array", nil])
    #expect(model.classes.map(\.name) == ["Power", "Flight", "Alliance", "Badge"])
    #expect(model.classes.map(\.parent) == [nil, "Power", "Power", nil])
    #expect(model.classes.map(\.isAbstract) == [true, false, false, false])
    #expect(model.classes[1].fields.map(\.name) == ["ceiling", "mood", "name"])
    #expect(
      model.classes[1].fields.map(\.type) == [
        .value(.integer64), .value(.string), .value(.string),
      ])
    #expect(model.classes[2].fields.map(\.name) == ["rank", "powers", "name"])
    #expect(model.classes[2].fields.map(\.isOptional) == [true, false, false])
    #expect(model.classes[2].fields.map(\.isList) == [false, true, false])
    #expect(model.classes[2].fields[1].type == .object("Power"))
    #expect(try ModelFile(parsing: model.text) == model)
  }

  @Test(
    "makes a store that keeps polymorphic values, finds by their fields and refuses other classes")
  func polymorphicValues() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [Hero.self]))
    let context = ManagedObjectContext(store: store)
    let hero: Hero = context.insertObject()
    hero.power = Flight(name: "Wind", ceiling: 3000, mood: .wild)
    hero.past = [
      Alliance(name: "Two", rank: nil, powers: [Flight(name: "Air", ceiling: 5, mood: .calm)])
    ]
    hero.belongings = Belongings(badge: Polymorphic(Badge(text: "Nr. 1")))
    let _: Hero = context.insertObject()
    try await context.save()
    let found = try await ManagedObjectContext(store: store).fetch(
      Hero.sortedFetchRequest(where: "power.ceiling > 1000 AND power.mood == 'wild'"))
    #expect(found.map { ($0.power as? Flight)?.ceiling } == [3000])
    let alliance = try #require(found[0].past?.first as? Alliance)
    #expect((alliance.powers.first?.value as? Flight)?.name == "Air")
    #expect(found[0].belongings?.badge?.value.text == "Nr. 1")
    hero.power = Power(name: "Any")
    await #expect(throws: ContextError.self) { try await context.save() }
    store.close()
  }

  final class Sealed: PolymorphicValue {
    enum Kind: String, Codable { case one }
    let kind: Kind
    init(kind: Kind) { self.kind = kind }
  }

  final class Envelope: ManagedObject, ManagedObjectType {
    static let entityName = "Envelope"
    enum Key: String, KeyCodable { case content }
    @Managed(.content) var content: Sealed?
  }

  @Test("is refused with the class whose fields cannot be found")
  func unknownFields() {
    #expect {
      try ModelFile(of: [Envelope.self])
    } throws: { error in
      (error as? ModelFileError)?.problems.map(\.place) == ["classes/Sealed"]
    }
  }

  @Test("lists what does not fit another model, and problems of the declaration")
  func differences() throws {
    let model = try ModelFile(
      parsing: Array(
        #"""
        {"version":"1","entities":[{"name":"Folder","attributes":[
          {"name":"name","type":"Integer 64","optional":false},
          {"name":"count","type":"Integer 64"},
          {"name":"unknownToTheClass","type":"String"}]}]}
        """#.utf8))
    let places = model.differences(from: [Folder.self]).map(\.place)
    #expect(
      places.sorted() == [
        "entities/Folder/attributes/name", "entities/Folder/relationships/notes", "entities/Note",
      ])
    let own = try ModelFile(of: [Folder.self, Entry.self])
    #expect(own.differences(from: [Folder.self, Entry.self]) == [])
    #expect(throws: ModelFileError.self) { try ModelFile(of: [Uncounted.self]) }
  }
}
