// `livefetch copy SOURCE DESTINATION`: a file or database with a model → a new store of the other kind, with the
// same objects, ids and keys. Promises: the command succeeds only if all objects that it reads back from the
// destination equal those that it read from the source. If writing fails, the destination stays as it was.

import ArgumentParser
import Bytes
import FetchModel
import Foundation
import PostgresStore
import SQLComposer
import SQLiteStore

struct CopyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Copy a file to a PostgreSQL database, or a database to a file.",
    discussion: """
      Copies every object with its id, the model, the idempotency keys and the API keys, then \
      reads the copy and compares its objects. Dates are copied to the microsecond, UUIDs in lower \
      case. The objects are those of one snapshot: later saves are not copied, so stop the \
      writers first. Tokens of one store are not valid at the other.

      The source must store a model; `livefetch serve FILE --model MODEL` stores one.

      EXAMPLES
        livefetch copy shop.sqlite postgres://localhost/shop
        livefetch copy postgres://localhost/shop shop.sqlite
      """)

  @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.") var source: String
  @Argument(help: "A file that does not exist, or the URL of a database without tables.")
  var destination: String
  @Flag(help: "Show no progress and no report.") var quiet = false

  func run() throws {
    let source = StoreLocation(source)
    let destination = StoreLocation(destination)
    try source.check()
    try Self.check(source, destination)
    guard let model = try reportingErrors(of: source.name, source.storedModel) else {
      throw failure("\(source.name): the store contains no model", .unusableStore)
    }
    let (copied, state) = try copyStore(model, from: source, to: destination)
    try compare(copied, of: model, from: source, with: destination)
    guard !quiet else { return }
    for objects in copied {
      print("\(objects.entity): \(objects.count.withThousandsSeparators) objects, compared")
    }
    print(
      "\(state.apiKeys.count.withThousandsSeparators) API keys, "
        + "\(state.idempotencyRecords.count.withThousandsSeparators) idempotency keys"
    )
  }

  /// Refuses two stores of one kind, and an existing file as the destination.
  private static func check(_ source: StoreLocation, _ destination: StoreLocation) throws {
    switch (source, destination) {
    case (.file, .file):
      throw failure("copy needs a database: `livefetch backup` copies a file", .usage)
    case (.database, .database):
      throw failure("copy needs a file: pg_dump and pg_restore copy a database", .usage)
    default: break
    }
    if case .file(let path) = destination, FileManager.default.fileExists(atPath: path) {
      throw failure("\(path): already exists and would be overwritten", .unusableStore)
    }
  }

  /// Makes the destination and writes everything to it. Removes what was written after an error.
  private func copyStore(
    _ model: ModelFile, from source: StoreLocation, to destination: StoreLocation
  ) throws -> (objects: [CopiedObjects], state: CopiedState) {
    let writer = try reportingErrors(of: destination.name) {
      try destination.beginCopy(of: model)
    }
    do {
      let copied = try readObjects(of: source, model) { items, entity in
        try reportingErrors(of: destination.name) { try writer.write(items, of: entity) }
      }
      try reportingErrors(of: destination.name) { try writer.finish(copied.state) }
      return copied
    } catch {
      writer.cancel()
      throw error
    }
  }

  /// Reads the destination and throws unless its objects are the copied ones.
  private func compare(
    _ copied: [CopiedObjects], of model: ModelFile, from source: StoreLocation,
    with destination: StoreLocation
  ) throws {
    let written = try readObjects(of: destination, model) { _, _ in }.objects
    for (copied, written) in zip(copied, written) where copied != written {
      throw failure(
        "\(destination.name): the objects of \(copied.entity) are not those of \(source.name): "
          + "do not use this copy", .unusableStore)
    }
  }

  /// Reads every object of a store in one snapshot, and shows the progress. Returns the number and the hash of
  /// the objects of each entity, in the order of the model, and what the store has in addition.
  ///
  /// - Parameter body: Receives up to 1,000 objects and the name of their entity.
  private func readObjects(
    of store: StoreLocation, _ file: ModelFile, _ body: ([JSON], String) throws -> Void
  ) throws -> (objects: [CopiedObjects], state: CopiedState) {
    // A day, in seconds.
    let opened = try store.openToRead(timeout: 86_400)
    defer { opened.close() }
    var bar = ProgressBar(store.name)
    defer { bar.clear() }
    return try reportingErrors(of: store.name) {
      try opened.reading { transaction -> (objects: [CopiedObjects], state: CopiedState) in
        let objects: [CopiedObjects] = try file.entities.filter { !$0.isAbstract }.map { entity in
          let plan = try Self.plan(of: entity.name, file, opened.model)
          let decimals = file.attributes(of: entity.name).filter { $0.storedType == .decimal }
            .map(\.name)
          var objects = CopiedObjects(entity: entity.name)
          try transaction.forEachPage(of: plan, size: 1_000, in: opened.model) { page in
            let items = FetchResult.sections(page).flatMap(\.items)
              .map { file.copied($0, of: entity.name) }
            objects.add(items, decimals: decimals)
            try body(items, entity.name)
            if !quiet { bar.show(nil, count: objects.count, unit: entity.name) }
          }
          return objects
        }
        return (objects, try transaction.copiedState(of: file))
      }
    }
  }

  /// Returns the fetch of the copied properties of an entity's own objects, without those of subentities, by id.
  private static func plan(
    of entity: String, _ file: ModelFile, _ model: Model
  ) throws -> FetchPlan {
    let names = file.copiedProperties(of: entity)
    return try StoreFetch.plan(
      of: entity,
      query: [("subentities", "false"), ("sort", "id")]
        + (names.isEmpty ? [] : [("select", names.joined(separator: ","))]),
      in: model, maxItems: .max, predicate: nil)
  }
}

/// The number of an entity's objects, and a hash of these in their order.
private struct CopiedObjects: Equatable {
  let entity: String
  private(set) var count = 0
  private var hash = FNV1a64()

  init(entity: String) { self.entity = entity }

  /// - Parameter decimals: The decimal attributes, whose values are compared as numbers: `1e-05` in a file
  ///   equals `0.00001` in a database.
  mutating func add(_ items: [JSON], decimals: [String]) {
    count += items.count
    var text: [UInt8] = []
    for item in items { text.append(json: Self.withEqualDecimals(item, decimals)) }
    hash.combine(text)
  }

  /// Returns an object in which equal decimals have equal text.
  private static func withEqualDecimals(_ item: JSON, _ decimals: [String]) -> JSON {
    guard case .object(let members) = item, !decimals.isEmpty else { return item }
    return .object(
      members.map { member in
        guard decimals.contains(member.name), case .number(let number) = member.value,
          let digits = DecimalDigits(number)
        else { return member }
        return JSON.Member(name: member.name, value: .number(digits.text))
      })
  }
}
