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
    var iterator = store.live(FetchRequest<City>()).makeAsyncIterator()
    #expect(try await iterator.next()?.elements.map(\.name) == ["Lima"])
    store.close()
    #expect(created.contains { !folders().contains($0) })
  }

  @Test("removes what stores of ended processes left, and no store of this process")
  func sweep() throws {
    let memory = URL(fileURLWithPath: "/dev/shm")
    let parent =
      FileManager.default.isWritableFile(atPath: memory.path)
      ? memory : FileManager.default.temporaryDirectory
    // No process has this id.
    let left = "livefetch-memory-999999999-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      at: parent.appendingPathComponent(left), withIntermediateDirectories: false)
    #expect(folders().contains(left))
    var item = ModelFile.Entity(name: "Item")
    item.attributes = [.init(name: "title", type: .string)]
    var model = ModelFile()
    model.entities = [item]
    let own = "livefetch-memory-\(getpid())-"
    let store = try LocalStore.inMemory(model)
    let next = try LocalStore.inMemory(model)
    #expect(!folders().contains(left))
    #expect(folders().filter { $0.hasPrefix(own) }.count >= 2)
    store.close()
    next.close()
  }

  private func folders() -> Set<String> {
    let parents = ["/dev/shm", FileManager.default.temporaryDirectory.path]
    let names = parents.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] }
    return Set(names.filter { $0.hasPrefix("livefetch-memory-") })
  }
}
