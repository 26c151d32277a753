// Stores in memory, which leave no files.

import Foundation
import LiveFetch
import TestSupport
import Testing

@Suite("A store in memory", .mayBlock)
struct InMemoryStoreTests {
  @Test("has the model's tables, takes saves, and leaves no file")
  func leavesNothing() async throws {
    let model = try ModelFile(
      parsing: Array(
        #"""
        {"version":"1","entities":[{"name":"City","attributes":[
          {"name":"name","type":"String","optional":false},
          {"name":"population","type":"Integer 64"}]}]}
        """#.utf8))
    let before = folders()
    let store = try LocalStore.inMemory(model)
    // Other processes and tests may have such stores too.
    let created = folders().subtracting(before)
    _ = try await store.save(
      JSON(parsing: Array(#"{"changes":[{"insert":"City","values":{"name":"Lima"}}]}"#.utf8)))
    for try await snapshot in store.live(FetchRequest<City>()) {
      #expect(snapshot.elements.map(\.name) == ["Lima"])
      break
    }
    store.close()
    #expect(created.contains { !folders().contains($0) })
  }

  private func folders() -> Set<String> {
    let parents = ["/dev/shm", FileManager.default.temporaryDirectory.path]
    let names = parents.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] }
    return Set(names.filter { $0.hasPrefix("livefetch-memory-") })
  }
}
