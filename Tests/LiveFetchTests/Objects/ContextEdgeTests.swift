// Edge cases of a context: deleted objects, two classes of one entity, edits that change nothing.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A context", .mayBlock)
struct ContextEdgeTests {
  typealias City = SampleCities.City

  /// Another class of the same entity.
  final class Town: ManagedObject, ManagedObjectType {
    static let entityName = "City"
    enum Key: String, KeyCodable { case name }
    @Managed(.name) var name = ""
  }

  @Test("drops an object that another client deleted once its own changes are discarded")
  func ghost() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let id = try #require(ids["osaka"])
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: id)
    let tokyo = try await context.materializedObject(City.self, with: #require(ids["tokyo"]))
    let before = tokyo.name
    (osaka.population, tokyo.name) = (1, "Edo")
    try await sample.save(
      #"{"delete":"City","id":\#(id)},{"delete":"City","id":\#(try #require(ids["tokyo"]))}"#)
    try await context.mergeChanges()
    #expect(!osaka.isDeleted && osaka.hasChanges)
    tokyo.name = before
    try await context.mergeChanges()
    #expect(tokyo.isDeleted && tokyo.managedObjectContext == nil)
    var deleted: Set<City> = []
    let token = context.observe(ObjectsDidChange.self) { deleted.formUnion($0.deleted(City.self)) }
    context.rollback()
    #expect(osaka.isDeleted && osaka.managedObjectContext == nil && deleted == [osaka])
    try await context.mergeChanges()
    #expect(context.registeredObjects.isEmpty && !context.hasChanges)
    token.cancel()
  }

  @Test("treats the previous owner of a reused id as deleted", arguments: Kind.allCases)
  func idGivenAgain(kind: Kind) async throws {
    let cities = try Cities(kind)
    let context = ManagedObjectContext(store: cities.store)
    let child = ManagedObjectContext(parent: context)
    let old = try await context.materializedObject(Town.self, with: .integer(5))
    let oldOfChild = try await child.materializedObject(Town.self, with: .integer(5))
    try await cities.save(#"{"delete":"City","id":5}"#)
    let new: Town = context.insertObject()
    new.name = "Nara"
    try await context.save()
    #expect(new.objectID == .permanent(.integer(5)))
    #expect(old.isDeleted && old.managedObjectContext == nil)
    #expect(oldOfChild.isDeleted && oldOfChild.managedObjectContext == nil)
    #expect(context.registeredObjects == [new])
    let found = try await child.fetch(FetchRequest<Town>(where: FetchPredicate("id == 5")))
    #expect(found.map(\.name) == ["Nara"])
  }

  @Test("keeps the object that is given the id of one deleted by the same save")
  func idGivenAgainAtOnce() async throws {
    let cities = try Cities(.local)
    let context = ManagedObjectContext(store: cities.store)
    let old = try await context.materializedObject(Town.self, with: .integer(5))
    context.delete(old)
    let new: Town = context.insertObject()
    new.name = "Nara"
    try await context.save()
    #expect(context.registeredObjects == [new])
    #expect(
      try await context.materializedObject(Town.self, with: #require(new.objectID.permanentID))
        === new)
  }

  @Test("refuses a second class for an entity by its name")
  func twoClasses() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let child = ManagedObjectContext(parent: context)
    for context in [context, child] {
      do throws(ContextError) {
        _ = try await context.fetch(FetchRequest<Town>())
        Issue.record("there are two classes")
      } catch {
        #expect(error.description.contains("`City` is the class City in this context"))
      }
    }
    let town: Town = context.insertObject()
    town.name = "Nara"
    do throws(ContextError) {
      try await context.save()
      Issue.record("there are two classes")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.failures.map(\.code) == ["other-class"])
    }
    #expect(osaka.name == "Osaka")
  }

  @Test("gives the objects that a child saved into it permanent ids for the child")
  func permanentIDsAfterSave() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let parent = ManagedObjectContext(store: sample.store)
    let child = ManagedObjectContext(parent: parent)
    let nara: City = child.insertObject()
    nara.name = "Nara"
    try await child.save()
    child.obtainPermanentIDs(for: [nara])
    let id = try #require(nara.objectID.permanentID)
    #expect(parent.insertedObjects.map(\.objectID) == [.permanent(id)])
    try await parent.save()
    let fresh = try await ManagedObjectContext(store: sample.store)
      .materializedObject(City.self, with: id)
    #expect(fresh.name == "Nara")
  }

  @Test("has no change where a member is inserted that is there, or removed that is not")
  func members() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let japan = try await context.materializedObject(
      SampleCities.Country.self, with: #require(ids["jp"]))
    try await japan.cities.materialize()
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    japan.cities.insert(osaka)
    japan.cities.remove(cusco)
    #expect(!japan.hasChanges && !context.hasChanges)
    japan.cities.remove(osaka)
    #expect(japan.hasChanges && japan.cities.count == 1)
    japan.cities.insert(osaka)
    #expect(!japan.hasChanges && japan.cities.count == 2)
    #expect(japan.cities.objects?.filter { $0 === osaka }.count == 1)
  }

  /// A class that declares a relationship with a wrong destination.
  final class MisdeclaredCity: ManagedObject, ManagedObjectType {
    static let entityName = "City"
    enum Key: String, KeyCodable { case name, country }
    @Managed(.name) var name = ""
    @ManagedToOne(.country) var country: Fault<SampleCities.Person>?
  }

  @Test("refuses a class with a wrong destination, and names the class", arguments: Kind.allCases)
  func misleadingRelationship(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let reason = "`country` leads to `Country`, and not to `Person` as MisdeclaredCity declares"
    do throws(ContextError) {
      _ = try await context.fetch(FetchRequest<MisdeclaredCity>())
      Issue.record("it was fetched")
    } catch {
      #expect(error.description.hasSuffix(reason))
    }
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<MisdeclaredCity>(),
      context: ManagedObjectContext(store: sample.store))
    do throws(FetchError) {
      try await controller.performFetch()
      Issue.record("it was fetched")
    } catch {
      #expect(error.description.hasSuffix(reason))
    }
    let other = ManagedObjectContext(store: sample.store)
    let misled: MisdeclaredCity = other.insertObject()
    misled.name = "Nara"
    do throws(ContextError) {
      try await other.save()
      Issue.record("it was saved")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.failures.map(\.reason) == [reason])
    }
  }

  /// A class that has a key without a property, so the store evaluates predicates about it.
  final class Place: ManagedObject, ManagedObjectType {
    static let entityName = "City"
    enum Key: String, KeyCodable { case name, timezone }
    @Managed(.name) var name = ""
  }

  @Test("does not find what was renamed by a key that the class does not declare")
  func renamed() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let id = try #require(ids["osaka"])
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"timezone":"Japan"}}"#)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.findOrFetch(Place.self, where: .timezone, equals: "Japan")
    #expect(osaka?.name == "Osaka")
    osaka?.setValue("Asia/Tokyo", for: .timezone)
    #expect(try await context.findOrFetch(Place.self, where: .timezone, equals: "Japan") == nil)
    let found = try await context.findOrFetch(Place.self, where: .timezone, equals: "Asia/Tokyo")
    #expect(found === osaka)
  }
}
