// Saves that a rule of the model or of a class refuses.

import LiveFetch
import TestSupport
import Testing

extension ContextTests {
  @Test("lists everything that a save breaks by object and key", arguments: Kind.allCases)
  func validation(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let country: Country = context.insertObject()
    country.code = "much too long"
    let city: City = context.insertObject()
    city.name = "Ys"
    city.population = -1
    city.latitude = 91
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(
        refusal.failures(of: city).map { [$0.property, $0.code] }
          == [["latitude", "too-large"], ["population", "too-small"]])
      #expect(
        refusal.failures(of: country).map { [$0.property, $0.code] }
          == [["code", "too-long"], ["name", "too-short"]])
      #expect(refusal.failures(of: city).first?.key(City.Key.self) == .latitude)
    }
    #expect(context.insertedObjects == [country, city])
    city.population = 1
    city.latitude = nil
    (country.code, country.name) = ("JP", "Second Japan")
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.failures.map(\.code) == ["not-unique"])
      #expect(refusal.failures[0].objectID == country.objectID)
    }
    country.code = "YS"
    try await context.save()
  }

  @Test("says that an object of a relationship is not in the save")
  func foreignObject() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let other = ManagedObjectContext(store: sample.store)
    let country: Country = other.insertObject()
    let city: City = context.insertObject()
    city.name = "Ys"
    city.country = Fault(country)
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.failures.map(\.property) == ["country"])
      #expect(
        refusal.failures.map(\.reason) == [
          "refers to a new object that this save does not contain: insert it in this context, or save it first"
        ])
    }
  }

  @Test("runs custom validation first, for a key, an object, a deletion, a value")
  func ownRules() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let atlantis: City = context.insertObject()
    atlantis.name = "Atlantis"
    let tokyo = try await context.materializedObject(City.self, with: #require(ids["tokyo"]))
    tokyo.latitude = .nan
    let rome: City = context.insertObject()
    rome.name = "Rome"
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(
        refusal.failures.map { [$0.property, $0.code, $0.reason] } == [
          ["name", "sunken", "lies under water"],
          ["latitude", "invalid-value", "is not a number"],
        ])
    }
    tokyo.latitude = 35.7
    atlantis.name = "Santorini"
    try await context.save()
    context.delete(rome)
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.failures(of: rome).map(\.reason) == ["is eternal"])
    }
    context.rollback()
    #expect(!rome.isDeleted)
  }
}
