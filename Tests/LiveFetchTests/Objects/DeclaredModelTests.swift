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

  @Test("a date near 1970 is found again, and an equal one is no change")
  func earlyDates() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [Stamp.self]))
    let context = ManagedObjectContext(store: store)
    let stamp: Stamp = context.insertObject()
    let date = Date(timeIntervalSince1970: 0.123456)
    stamp.made = date
    try await context.save()
    let same = Stamp.sortedFetchRequest(where: "%K == %@", Stamp.Key.made, date)
    #expect(try await context.count(same) == 1)
    stamp.made = date
    #expect(!context.hasChanges)
    #expect(date.predicateArgument == .string("1970-01-01T00:00:00.123456Z"))
    store.close()
  }

  final class Alarm: ManagedObject, ManagedObjectType {
    static let entityName = "Alarm"
    enum Key: String, KeyCodable { case level }
    enum Level: Int, AttributeValue {
      case low = 1
      case high = 5
    }

    @Managed(.level) var level = Level.low
  }

  @Test("is that of an enumeration's raw values, by which objects are found")
  func enumerations() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [Alarm.self]))
    let context = ManagedObjectContext(store: store)
    let _: Alarm = context.insertObject()
    let alarm: Alarm = context.insertObject()
    alarm.level = .high
    try await context.save()
    let other = ManagedObjectContext(store: store)
    let high = Alarm.sortedFetchRequest(where: "%K == %@", Alarm.Key.level, Alarm.Level.high)
    #expect(try await other.fetch(high).map(\.objectID) == [alarm.objectID])
    let all = Alarm.sortedFetchRequest(
      where: "%K IN %@", Alarm.Key.level, [Alarm.Level.low, Alarm.Level.high])
    #expect(try await other.count(all) == 2)
    let found = try await ManagedObjectContext(store: store).findOrFetch(
      Alarm.self, where: .level, equals: Alarm.Level.high)
    #expect(found?.objectID == alarm.objectID)
    store.close()
  }

  final class Gauge: ManagedObject, ManagedObjectType {
    static let entityName = "Gauge"
    enum Key: String, KeyCodable { case small, medium, large, real, grade }
    enum Grade: Int16, AttributeValue { case low, high }

    @Managed(.small) var small: Int16 = 0
    @Managed(.medium) var medium: Int32?
    @Managed(.large) var large: Int64 = 0
    @Managed(.real) var real: Float?
    @Managed(.grade) var grade = Grade.low
  }

  struct Port: Codable, Fetchable, PredicateKeyPathProviding {
    static let entityName = "Port"
    static var predicateKeyPaths: [AnyKeyPath: String] {
      [\Port.number: "number", \Port.tries: "tries"]
    }
    var number: UInt16?
    var tries: Int8
  }

  @Test("has the width of integers, so that no client stores what an object cannot hold")
  func widths() async throws {
    let model = try ModelFile(of: [Gauge.self, Port.self])
    let (gauge, port) = (model.entities[0].attributes, model.entities[1].attributes)
    #expect(gauge.map(\.type) == [.integer16, .integer32, .integer64, .double, .integer16])
    #expect(port.map(\.type) == [.integer32, .integer16])
    #expect(port.map(\.minimum) == [.number("0"), .number("-128")])
    #expect(port.map(\.maximum) == [.number("65535"), .number("127")])
    let store = try LocalStore.inMemory(model)
    let large = #"{"changes":[{"insert":"Gauge","values":{"small":70000}}]}"#
    let save = try JSON(parsing: Array(large.utf8))
    await #expect(throws: ObjectStoreError.self) { try await store.save(save) }
    store.close()
  }

  @Test("opens a file whose model has wider numbers, and does not differ from it")
  func widerModels() throws {
    let model = try ModelFile(of: [Gauge.self])
    var wide = model
    wide.entities[0].attributes[0].type = .integer64
    #expect(wide.differences(from: [Gauge.self]) == [])
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try LocalStore(creating: path, model: wide).close()
    var options = LocalStore.Options()
    options.model = model
    try LocalStore(path: path, options: options).close()
    withExtendedLifetime(directory) {}
  }

  struct Tint: Equatable { var text: String }

  final class Banner: ManagedObject, ManagedObjectType {
    static let entityName = "Banner"
    enum Key: String, KeyCodable { case tint }

    @Managed(.tint, transformer: "BannerTint") var tint: Tint?
  }

  @Test("has no transformer for a value that the client transforms")
  func transformers() async throws {
    let tint = AttributeTransformer<Tint, String>(
      transform: { $0.text }, reverseTransform: { Tint(text: $0) })
    tint.register(as: "BannerTint")
    let store = try LocalStore.inMemory(ModelFile(of: [Banner.self]))
    let context = ManagedObjectContext(store: store)
    let banner: Banner = context.insertObject()
    banner.tint = Tint(text: "#FF0000")
    try await context.save()
    let found = try await ManagedObjectContext(store: store).fetch(Banner.sortedFetchRequest)
    #expect(found.map(\.tint) == [Tint(text: "#FF0000")])
    store.close()
  }

  final class Knight: ManagedObject, ManagedObjectType {
    static let entityName = "Knight"
    enum Key: String, KeyCodable { case weapon }

    @Managed(.weapon) var weapon: Weapon?
  }

  @Test("values of declared classes are saved, and a class that is not declared is a problem")
  func classes() async throws {
    var weapon = ModelFile.Class(name: "Weapon")
    weapon.fields = [
      ModelFile.Class.Field(name: "title", type: .value(.string)),
      ModelFile.Class.Field(name: "damage", type: .value(.integer64)),
    ]
    let model = try ModelFile(of: [Knight.self], classes: [weapon])
    let store = try LocalStore.inMemory(model)
    let context = ManagedObjectContext(store: store)
    let knight: Knight = context.insertObject()
    knight.weapon = Weapon(title: "Excalibur", damage: 9)
    try await context.save()
    let found = try await ManagedObjectContext(store: store).fetch(
      FetchRequest<Knight>(where: FetchPredicate("weapon.damage > 5")))
    #expect(found.map(\.weapon?.title) == ["Excalibur"])
    store.close()
    let error = #expect(throws: ModelFileError.self) { try ModelFile(of: [Knight.self]) }
    #expect(
      error?.problems.map(\.description) == [
        "entities/Knight/attributes/weapon/class: there is no class `Weapon`"
      ])
  }

  final class Employee: ManagedObject, ManagedObjectType {
    static let entityName = "Employee"
    enum Key: String, KeyCodable { case boss, reports }

    @ManagedToOne(.boss) var boss: Fault<Employee>?
    @ManagedToMany(.reports) var reports: ToManyProxy<Employee>
  }

  final class Member: ManagedObject, ManagedObjectType {
    static let entityName = "Member"
    enum Key: String, KeyCodable { case mother, father, leader, followers, friends }

    @ManagedToOne(.mother) var mother: Fault<Member>?
    @ManagedToOne(.father) var father: Fault<Member>?
    @ManagedToOne(.leader) var leader: Fault<Member>?
    @ManagedToMany(.followers, inverse: "leader") var followers: ToManyProxy<Member>
    @ManagedToMany(.friends, inverse: "friends") var friends: ToManyProxy<Member>
  }

  @Test("needs the inverse of a to-many relationship of a class to itself beside another one")
  func selfRelationships() throws {
    let error = #expect(throws: ModelFileError.self) { try ModelFile(of: [Employee.self]) }
    #expect(
      error?.problems.map(\.description) == [
        "entities/Employee/relationships/reports/inverse: `Employee` has another relationship to "
          + #"itself, `boss`: state the inverse, `@ManagedToMany(.reports, inverse: "boss")`"#
      ])
    let member = try ModelFile(of: [Member.self]).entities[0]
    #expect(
      member.relationships.map(\.inverse) == [nil, nil, "followers", "leader", "friends"])
  }

  struct NoteRow: Codable, Fetchable, PredicateKeyPathProviding {
    static let entityName = "Note"
    static var predicateKeyPaths: [AnyKeyPath: String] {
      [
        \NoteRow.id: "id", \NoteRow.text: "text", \NoteRow.pages: "pages",
        \NoteRow.owner: "folder.name", \NoteRow.folder: "folder",
      ]
    }
    var id: Int?
    var text: String?
    var pages = 1
    var owner: String?
    var folder: Int?
  }

  struct NamedFolder: Codable, Fetchable, PredicateKeyPathProviding {
    static let entityName = "Folder"
    static var predicateKeyPaths: [AnyKeyPath: String] { [\NamedFolder.name: "name"] }
    var name: String
  }

  struct SizedFolder: Codable, Fetchable, PredicateKeyPathProviding {
    static let entityName = "Folder"
    static var predicateKeyPaths: [AnyKeyPath: String] { [\SizedFolder.size: "size"] }
    var size: Double?
  }

  struct Bare: Codable, Fetchable {
    static let entityName = "Bare"
    var name: String
  }

  @Test("has the attributes of structures, which have to fit a class of their entity")
  func structures() throws {
    let folder = try ModelFile(of: [NamedFolder.self, SizedFolder.self]).entities
    #expect(folder.map(\.name) == ["Folder"])
    #expect(folder[0].attributes.map(\.name) == ["name", "size"])
    #expect(folder[0].attributes.map(\.type) == [.string, .double])
    #expect(folder[0].attributes.map(\.isOptional) == [false, true])
    #expect(try ModelFile(of: [NamedFolder.self, Folder.self, Entry.self]).entities.count == 3)
    let note = try #require(ModelFile(of: [NoteRow.self]).entities.first)
    #expect(note.attributes.map(\.name) == ["folder", "pages", "text"])
    let error = #expect(throws: ModelFileError.self) {
      try ModelFile(of: [Folder.self, Entry.self, NoteRow.self, Bare.self])
    }
    #expect(
      error?.problems.map(\.description) == [
        "entities/Bare: `Bare` declares no attributes: a structure does so by `@Entity` or "
          + "`PredicateKeyPathProviding`",
        "entities/Note/attributes/pages: the model has none",
      ])
    let model = try ModelFile(of: [Folder.self, Entry.self])
    #expect(
      model.differences(from: [NoteRow.self, NamedFolder.self]).map(\.place) == [
        "entities/Note/attributes/pages"
      ])
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
