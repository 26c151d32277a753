// A sample's name → a new store with its model and its data, from the program's resource bundle.

import ArgumentParser
import FetchModel
import Foundation
import LiveFetchThreads
import SQLiteStore

/// The samples that `livefetch demo` serves.
enum Sample: String, CaseIterable, ExpressibleByArgument {
  case world, heroes, todo, blog

  /// Why a sample could not be loaded.
  struct Failure: Error, CustomStringConvertible {
    let description: String

    static let cannotBeMade = Failure(
      description: "the file cannot be created: check that its directory exists and is writable")

    static func refused(_ reason: String) -> Failure {
      Failure(description: "the sample's data was refused: \(reason)")
    }
  }

  /// The default path of its data.
  var defaultPath: String {
    self == .world ? "livefetch-demo.sqlite" : "livefetch-\(rawValue).sqlite"
  }

  func model() throws -> ModelFile {
    try ModelFile(parsing: try Self.resource("\(rawValue).json"))
  }

  /// Creates the store at `path`, atomically. Another process may do the same: the first file stays.
  func create(at path: String) throws {
    let draft = "\(path).loading-\(getpid())"
    UnfinishedFiles.add(draft)
    defer {
      Self.remove(draft)
      UnfinishedFiles.remove(draft)
    }
    guard FileManager.default.createFile(atPath: draft, contents: nil) else {
      throw Failure.cannotBeMade
    }
    let model = try model()
    try SQLiteStore.createTables(of: model, at: draft)
    if self == .world { try SampleWorld.load(into: draft) }
    try save(model, to: draft)
    // Not every file system has hard links.
    guard link(draft, path) == 0 || errno == EEXIST || rename(draft, path) == 0 else {
      throw Failure.cannotBeMade
    }
  }

  /// Ends the command if the file at `path` contains something else than this sample.
  func check(_ path: String) throws {
    let wanted = try model().entities.map(\.name)
    do throws(StoreError) {
      if let found = try SQLiteStore.storedModel(path: path) {
        guard Set(wanted).isDisjoint(with: found.entities.map(\.name)) else { return }
      } else {
        for name in wanted where try NewTable.isKnown(name, in: path) { return }
      }
    } catch {
      throw error.failure(path)
    }
    throw failure(
      "\(path): holds something else than the sample \(rawValue): name another file with --data, "
        + "or serve it as it is: livefetch serve \(path)", .unusableStore)
  }

  /// Saves the sample's objects, as a client would.
  private func save(_ model: ModelFile, to path: String) throws {
    let body = try JSON(parsing: try Self.resource("\(rawValue).data.json"))
    var options = SQLiteStoreOptions()
    options.model = model
    let store = try SQLiteStore(path: path, options: options)
    defer { store.close() }
    let request = try SaveResolver(model: store.model).resolve(body)
    let outcome = Outcome()
    store.save(request) { result in
      outcome.error = if case .failure(let error) = result { error } else { nil }
      outcome.done.signal()
    }
    outcome.done.wait()
    if let error = outcome.error { throw Failure.refused("\(error)") }
  }

  // Written before the semaphore is signalled, read after.
  private final class Outcome: @unchecked Sendable {
    let done = DispatchSemaphore(value: 0)
    var error: SaveError?
  }

  private static func remove(_ path: String) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
      try? FileManager.default.removeItem(atPath: path + suffix)
    }
  }

  private static func resource(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: resource(name, in: "models")))
  }

  /// Returns the address of a file in the folder of resources, which stands beside the program.
  /// `Bundle.module` would end the process without that folder.
  static func resource(_ name: String, in folder: String) throws -> URL {
    let file = Bundle.main.bundleURL
      .appendingPathComponent("LiveFetch_LiveFetchCommand.resources/\(folder)/\(name)")
    guard FileManager.default.fileExists(atPath: file.path) else {
      throw Failure(
        description: "the program's own file \(name) is missing; it belongs beside the program")
    }
    return file
  }
}
