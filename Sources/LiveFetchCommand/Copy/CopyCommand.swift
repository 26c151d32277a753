// `livefetch copy SOURCE DESTINATION`

import ArgumentParser
import Bytes
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore

struct CopyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Copy a file to a PostgreSQL database, or a database to a file.",
    discussion: """
      Copies every object with its id, the model, the idempotency keys and the API keys, then reads both \
      stores and compares their objects. Dates are copied to the microsecond, UUIDs in lower \
      case. One snapshot is copied, regardless of concurrent writes: stop \
      the writers first if nothing may be left behind. Tokens of one store do not continue at the other.

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
    let source = try CopiedStore(source)
    let destination = CopiedStore(new: destination)
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
    guard let model = try reportingErrors(of: source.name, source.model) else {
      throw failure("\(source.name): the store contains no model", .unusableStore)
    }
    let highest = try reportingErrors(of: source.name) { try source.highestIDs(of: model) }
    let writer = try reportingErrors(of: destination.name) {
      try destination.begin(model)
    }
    let read: [CopiedObjects]
    do {
      read = try objects(of: source, model) { items, entity in
        try reportingErrors(of: destination.name) { try writer.write(items, of: entity) }
      }
      try reportingErrors(of: destination.name) { try writer.finish(highestIDs: highest) }
    } catch {
      writer.cancel()
      throw error
    }
    let (records, keys) = try reportingErrors(of: source.name, source.credentials)
    try reportingErrors(of: destination.name) {
      try destination.complete(model, records, keys)
    }
    let written = try objects(of: destination, model) { _, _ in }
    for (read, written) in zip(read, written) where read != written {
      throw failure(
        "\(destination.name): the objects of \(read.entity) are not those of \(source.name): "
          + "do not use this copy", .unusableStore)
    }
    guard !quiet else { return }
    for objects in read {
      print("\(objects.entity): \(objects.count.withThousandsSeparators) objects, compared")
    }
    print(
      "\(keys.count.withThousandsSeparators) API keys, \(records.count.withThousandsSeparators) idempotency keys"
    )
  }

  /// Reads every object of a store in one snapshot.
  private func objects(
    of store: CopiedStore, _ file: ModelFile, _ body: ([JSON], String) throws -> Void
  ) throws -> [CopiedObjects] {
    let opened = try store.openToRead()
    defer { opened.close() }
    var result: [CopiedObjects] = []
    var failed: (any Error)?
    var bar = ProgressBar(store.name)
    try reportingErrors(of: store.name) {
      try opened.readResponses { transaction throws(StoreError) in
        for entity in file.entities where !entity.isAbstract && failed == nil {
          var objects = CopiedObjects(entity: entity.name)
          do {
            let plan = try Self.plan(of: entity.name, file, opened.model)
            try transaction.pages(of: plan, size: 1_000, in: opened.model) { page in
              do {
                let snapshot = try JSON(stored: page.json)
                let items = FetchResult.sections(snapshot).flatMap(\.items)
                  .map { file.copied($0, of: entity.name) }
                objects.add(items)
                try body(items, entity.name)
                if !quiet {
                  let total = snapshot["total"]?.integer.map { Double(max(1, $0)) }
                  bar.show(
                    total.map { Double(objects.count) / $0 }, count: objects.count,
                    unit: entity.name)
                }
                return true
              } catch {
                failed = error
                return false
              }
            }
          } catch {
            failed = failed ?? error
          }
          result.append(objects)
        }
      }
    }
    bar.clear()
    if let failed { throw failed }
    return result
  }

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

/// The objects of an entity: their number and their hash.
private struct CopiedObjects: Equatable {
  let entity: String
  private(set) var count = 0
  private var hash = FNV1a64()

  init(entity: String) { self.entity = entity }

  mutating func add(_ items: [JSON]) {
    count += items.count
    var text: [UInt8] = []
    for item in items { text.append(json: item) }
    hash.combine(text)
  }
}
