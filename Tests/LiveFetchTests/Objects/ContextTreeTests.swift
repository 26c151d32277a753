// Parent and child contexts: saves into a parent, rollbacks of the parent, and the values that siblings and
// children show afterwards.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A tree of contexts", .mayBlock)
struct ContextTreeTests {
  typealias City = SampleCities.City
  typealias Country = SampleCities.Country

  private func tree(
    _ sample: SampleStore
  ) -> (parent: ManagedObjectContext, child: ManagedObjectContext) {
    let parent = ManagedObjectContext(store: sample.store)
    return (parent, ManagedObjectContext(parent: parent))
  }

  /// A new city.
  private func nara(in context: ManagedObjectContext) -> City {
    let nara: City = context.insertObject()
    nara.name = "Nara"
    return nara
  }

  @Test("the parent's rollback removes a child's inserts", arguments: Kind.allCases)
  func insertionRolledBack(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let (parent, child) = tree(sample)
    let nara = nara(in: child)
    try await child.save()
    nara.population = 5
    var gone: Set<City> = []
    let token = child.observe(ObjectsDidChange.self) { gone.formUnion($0.deleted(City.self)) }
    parent.rollback()
    #expect(gone == [nara])
    #expect(nara.managedObjectContext == nil && !child.hasChanges)
    #expect(child.registeredObjects.isEmpty)
    #expect(nara.name == "Nara" && nara.population == 5)
    try await child.save()
    #expect(try await parent.save() == nil)
    // It is unsaved again, and can be inserted again with its values.
    child.insert(nara)
    try await child.save()
    try await parent.save()
    #expect(!nara.objectID.isTemporary)
    let fresh = try await ManagedObjectContext(store: sample.store)
      .fetch(City.sortedFetchRequest(where: "name == 'Nara'"))
    #expect(fresh.map(\.population) == [5])
    token.cancel()
  }

  @Test("through every context of the tree, with links to it")
  func insertionOfGrandchild() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let (parent, child) = tree(sample)
    let grandchild = ManagedObjectContext(parent: child)
    let mali: Country = grandchild.insertObject()
    (mali.code, mali.name) = ("ML", "Mali")
    try await grandchild.save()
    try await child.save()
    let osaka = try await grandchild.materializedObject(City.self, with: #require(ids["osaka"]))
    osaka.country = Fault(mali)
    osaka.name = "Ōsaka"
    parent.rollback()
    #expect(mali.managedObjectContext == nil)
    #expect(osaka.country?.id == ids["jp"].map { .permanent($0) })
    #expect(osaka.changedValues().keys.map(\.rawValue) == ["name"])
    // A rollback in a child affects only its descendants.
    let peru: Country = grandchild.insertObject()
    (peru.code, peru.name) = ("P2", "Peru")
    try await grandchild.save()
    child.rollback()
    #expect(peru.managedObjectContext == nil && !parent.hasChanges)
  }

  @Test("a deletion of a parent's new object reaches the child", arguments: [true, false])
  func insertionDeleted(isReset: Bool) async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let (parent, child) = tree(sample)
    let nara = nara(in: child)
    try await child.save()
    let twin = try #require(parent.insertedObjects.first)
    if isReset { parent.reset() } else { parent.delete(twin) }
    #expect(nara.managedObjectContext == nil)
    #expect(nara.isDeleted == !isReset)
  }

  @Test("permanent ids obtained in a child hold above it, and vanish with the object")
  func permanentIDs() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let (parent, child) = tree(sample)
    let country: Country = child.insertObject()
    (country.code, country.name) = ("ML", "Mali")
    child.obtainPermanentIDs(for: [country])
    let id = try #require(country.objectID.permanentID)
    try await child.save()
    let twin = try #require(parent.registeredObject(Country.self, with: id))
    // The store does not contain it yet; that is no deletion by another client.
    _ = try await child.fetch(Country.sortedFetchRequest)
    try await child.mergeChanges()
    try await child.refresh(country, mergeChanges: false)
    #expect(country.managedObjectContext === child && country.name == "Mali")
    twin.name = "République du Mali"
    try await child.refresh(country, mergeChanges: false)
    #expect(country.name == "République du Mali")
    try await parent.save()
    #expect(country.objectID == .permanent(id) && twin.objectID == .permanent(id))
    let second: Country = child.insertObject()
    (second.code, second.name) = ("NE", "Niger")
    child.obtainPermanentIDs(for: [second])
    try await child.save()
    parent.rollback()
    #expect(second.managedObjectContext == nil)
  }

  @Test("edits and deletions that the parent rolls back are undone below", arguments: Kind.allCases)
  func editsRolledBack(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let (parent, child) = tree(sample)
    let osaka = try await child.materializedObject(City.self, with: #require(ids["osaka"]))
    let tokyo = try await child.materializedObject(City.self, with: #require(ids["tokyo"]))
    let japan = try await child.materializedObject(Country.self, with: #require(ids["jp"]))
    try await japan.cities.materialize()
    osaka.name = "Naniwa"
    japan.cities.remove(osaka)
    child.delete(tokyo)
    try await child.save()
    #expect(osaka.name == "Naniwa" && japan.cities.count == 1)
    #expect(try await child.fetch(City.sortedFetchRequest).map(\.name) == ["Cusco", "Naniwa"])
    #expect(try await child.objects(City.self, with: [#require(ids["tokyo"])]).isEmpty)
    var refreshed: Set<ManagedObject> = []
    let token = child.observe(ObjectsDidChange.self) {
      refreshed.formUnion($0.refreshedObjects)
    }
    parent.rollback()
    #expect(osaka.name == "Osaka" && !child.hasChanges)
    #expect(refreshed.contains(osaka))
    #expect(try await japan.cities.materialize().count == 2)
    // The deleted instance is gone from the child; the object itself is fetched again.
    let again = try await child.materializedObject(City.self, with: #require(ids["tokyo"]))
    #expect(again !== tokyo && again.name == "Tokyo" && tokyo.isDeleted)
    token.cancel()
  }

  @Test("if children edit the same object, the last save wins, property by property")
  func siblings() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let osaka = try #require(ids["osaka"])
    let parent = ManagedObjectContext(store: sample.store)
    let (first, second) = (
      ManagedObjectContext(parent: parent), ManagedObjectContext(parent: parent)
    )
    let one = try await first.materializedObject(City.self, with: osaka)
    let two = try await second.materializedObject(City.self, with: osaka)
    (one.name, one.population) = ("One", 1)
    (two.latitude, two.population) = (2, 2)
    try await first.save()
    try await second.save()
    let shared = try #require(parent.registeredObject(City.self, with: osaka))
    #expect(shared.name == "One" && shared.population == 2 && shared.latitude == 2)
    // A sibling sees the other's values when it reads the object again, saved or not.
    #expect(one.population == 1 && two.name == "Osaka")
    try await first.refresh(one, mergeChanges: false)
    _ = try await second.fetch(City.sortedFetchRequest)
    #expect(one.population == 2 && two.name == "One")
    try await parent.save()
    #expect(one.population == 2 && two.population == 2)
    let fresh = try await ManagedObjectContext(store: sample.store)
      .materializedObject(City.self, with: osaka)
    #expect(fresh.name == "One" && fresh.population == 2 && fresh.latitude == 2)
  }

  @Test("other clients' changes of a child's values are conflicts, saves of the tree are not")
  func conflicts() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let id = try #require(ids["osaka"])
    let (parent, child) = tree(sample)
    let osaka = try await child.materializedObject(City.self, with: id)
    osaka.name = "Naniwa"
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"name":"Ōsaka"}}"#)
    try await child.mergeChanges()
    try await child.save()
    do {
      try await parent.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.conflicts.map(\.stored) == [.string("Ōsaka")])
      #expect(refusal.conflicts.map(\.base) == [.string("Osaka")])
    }
    parent.rollback()
    #expect(osaka.name == "Ōsaka")
    let sibling = ManagedObjectContext(parent: parent)
    osaka.population = 1
    try await sibling.materializedObject(City.self, with: id).population = 2
    try await sibling.save()
    try await parent.save()
    try await child.save()
    try await parent.save()
    #expect(osaka.population == 1)
    let above = try await parent.materializedObject(City.self, with: id)
    above.name = "Discarded"
    try await child.refresh(osaka, mergeChanges: false)
    osaka.name = "Kept"
    parent.rollback()
    try await child.save()
    try await parent.save()
    #expect(above.name == "Kept")
  }

  @Test("a child's edit is compared with the value that its parent saved since")
  func savedAbove() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let id = try #require(ids["osaka"])
    let (parent, child) = tree(sample)
    let above = try await parent.materializedObject(City.self, with: id)
    try await child.materializedObject(City.self, with: id).name = "Naniwa"
    above.name = "Osaka City"
    try await parent.save()
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"name":"Ōsaka"}}"#)
    try await parent.mergeChanges()
    try await child.save()
    do {
      try await parent.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.conflicts.map(\.stored) == [.string("Ōsaka")])
      #expect(refusal.conflicts.map(\.base) == [.string("Osaka City")])
    }
  }

  @Test("a child keeps its edit of an object that its parent deleted, and its save is a conflict")
  func deletedAbove() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let id = try #require(ids["osaka"])
    let (parent, child) = tree(sample)
    let osaka = try await child.materializedObject(City.self, with: id)
    osaka.name = "Naniwa"
    parent.delete(try await parent.materializedObject(City.self, with: id))
    try await parent.save()
    #expect(osaka.managedObjectContext === child && !osaka.isDeleted)
    #expect(child.updatedObjects == [osaka])
    try await child.save()
    do throws(ContextError) {
      try await parent.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.conflicts.map(\.isDeletion) == [true])
    }
  }

  @Test("new objects to which a child's objects refer are saved, or leave them when deleted")
  func newObjectsInLists() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let (parent, child) = tree(sample)
    let japan = try await child.materializedObject(Country.self, with: #require(ids["jp"]))
    let nara = nara(in: child)
    japan.cities.replace(with: try await japan.cities.materialize() + [nara])
    try await child.save()
    try await parent.save()
    #expect(!parent.hasChanges && japan.cities.contains(nara) == true)
    let mali: Country = child.insertObject()
    (mali.code, mali.name) = ("ML", "Mali")
    let bamako: City = child.insertObject()
    bamako.name = "Bamako"
    bamako.country = Fault(mali)
    try await child.save()
    child.delete(mali)
    try await child.save()
    try await parent.save()
    #expect(bamako.country == nil && !bamako.objectID.isTemporary)
  }

  @Test("a child finds what it saved into its parent by a value that was never set")
  func unsetValues() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let (_, child) = tree(sample)
    let nara = nara(in: child)
    try await child.save()
    #expect(
      try await child.fetch(City.sortedFetchRequest(where: "population == nil")) == [nara])
    #expect(try await child.count(City.sortedFetchRequest(where: "country == nil")) == 1)
  }

  @Test("a refresh in a child shows the parent's unsaved values, not the store's")
  func refreshing() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let osaka = try #require(ids["osaka"])
    let parent = ManagedObjectContext(store: sample.store)
    let above = try await parent.materializedObject(City.self, with: osaka)
    let child = ManagedObjectContext(parent: parent)
    let below = try await child.materializedObject(City.self, with: osaka)
    above.name = "Naniwa"
    below.population = 7
    try await sample.save(#"{"update":"City","id":\#(osaka),"values":{"latitude":34.5}}"#)
    try await child.refresh(below, mergeChanges: true)
    #expect(below.name == "Naniwa" && below.population == 7 && below.latitude == 34.5)
    #expect(above.latitude == 34.5, "a parent receives the values that its child receives")
    try await child.refresh(below, mergeChanges: false)
    #expect(below.name == "Naniwa" && below.population == 2_700_000)
    try await child.save()
    try await parent.save()
    #expect(below.name == "Naniwa")
  }

  @Test("objects that only a child contains receive other clients' saves", arguments: Kind.allCases)
  func merging(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let (parent, child) = tree(sample)
    let cities = try await child.fetch(City.sortedFetchRequest)
    #expect(parent.registeredObjects.isEmpty)
    try await sample.save(
      """
      {"update":"City","id":\(try #require(ids["cusco"])),"values":{"name":"Qosqo"}},
      {"delete":"City","id":\(try #require(ids["osaka"]))}
      """)
    var refreshed: Set<City> = []
    let token = child.observe(ObjectsDidChange.self) {
      refreshed.formUnion($0.refreshed(City.self))
    }
    try await child.mergeChanges()
    #expect(cities[0].name == "Qosqo" && refreshed == [cities[0]])
    #expect(cities.map(\.isDeleted) == [false, true, false])
    try await sample.save(
      #"{"update":"City","id":\#(try #require(ids["tokyo"])),"values":{"name":"Edo"}}"#)
    let new: Country = parent.insertObject()
    (new.code, new.name) = ("ML", "Mali")
    try await parent.save()
    #expect(cities[2].name == "Edo")
    token.cancel()
  }

  @Test("a child materializes what its parent inserted and did not save")
  func parentsNewObjects() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let parent = ManagedObjectContext(store: sample.store)
    let mali: Country = parent.insertObject()
    (mali.code, mali.name) = ("ML", "Mali")
    let above = try await parent.materializedObject(City.self, with: #require(ids["osaka"]))
    above.country = Fault(mali)
    mali.cities.insert(above)
    let child = ManagedObjectContext(parent: parent)
    let osaka = try await child.materializedObject(City.self, with: #require(ids["osaka"]))
    let country = try #require(try await osaka.country?.materialize())
    #expect(country !== mali && country.name == "Mali" && country.managedObjectContext === child)
    #expect(country.objectID == mali.objectID && !country.isInserted)
    #expect(try await country.cities.materialize() == [osaka])
    country.name = "République du Mali"
    try await child.save()
    #expect(mali.name == "République du Mali")
    try await parent.save()
    #expect(country.objectID == mali.objectID && !country.objectID.isTemporary)
  }

  @Test("a child finds its parent's new object, also once it has changed it")
  func editedNewObjects() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let parent = ManagedObjectContext(store: sample.store)
    let mali: Country = parent.insertObject()
    (mali.code, mali.name) = ("ML", "Mali")
    let child = ManagedObjectContext(parent: parent)
    let request = FetchRequest<Country>(where: FetchPredicate("code == 'ML'"))
    let found = try #require(try await child.fetch(request).first)
    found.name = "République du Mali"
    #expect(try await child.fetch(request).map(\.name) == ["République du Mali"])
    #expect(try await child.count(request) == 1)
    child.delete(found)
    #expect(try await child.fetch(request).isEmpty)
  }

  @Test(
    "an observer of a child's new object begins when the store has it", arguments: [true, false])
  func observing(obtainsID: Bool) async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let (parent, child) = tree(sample)
    let nara = nara(in: child)
    if obtainsID { child.obtainPermanentIDs(for: [nara]) }
    try await child.save()
    var changes: [ManagedObjectObserver<City>.Change] = []
    let observer = ManagedObjectObserver(nara) { changes.append($0) }
    try await Task.sleep(for: .milliseconds(50))
    #expect(changes.isEmpty && !observer.isEnded)
    try await parent.save()
    let id = try #require(nara.objectID.permanentID)
    try await sample.save(#"{"update":"City","id":\#(id),"values":{"population":9}}"#)
    try await eventually { changes.contains(.update) && nara.population == 9 }
    try await sample.save(#"{"delete":"City","id":\#(id)}"#)
    try await eventually { observer.isEnded }
    #expect(changes.last == .delete)
  }
}
