// `livefetch export STORE ENTITY`

import ArgumentParser
import Bytes
import FetchModel
import Foundation
import SQLiteStore

struct ExportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write the objects of an entity as CSV, TSV, JSON or NDJSON.",
    discussion: """
      An export of a file or a database reads one snapshot, regardless of concurrent writes. An export of a \
      server reads pages of 10,000 objects, between which saves may take effect. Nil is an empty \
      field and an empty text is '""', so that `livefetch import` reads the same values.

      EXAMPLES
        livefetch export world.sqlite City > cities.csv
        livefetch export world.sqlite City --where 'country.code == "JP"' --sort name \\
          --select name,population,country.name --output japan.ndjson
        livefetch export http://127.0.0.1:8080 Order --format json
      """)

  private static let pageSize = 10_000

  @OptionGroup var target: StoreArgument
  @OptionGroup var fetch: FetchArguments

  @Option(
    name: .shortAndLong, help: "csv, tsv, json or ndjson; default: by the output's name, or csv.")
  var format: RowFormat?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write. It is created once it is complete.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Show no progress.")
  var quiet = false

  func run() throws {
    if let output { try OutputFile(path: output).check(apartFrom: [target.store]) }
    var sink = try ExportSink(path: output, format: format ?? RowFormat(path: output) ?? .csv)
    do {
      if target.isAddress { try exportRemote(to: &sink) } else { try exportLocal(to: &sink) }
      try sink.finish()
    } catch {
      sink.cancel()
      throw error
    }
    if !quiet, output != nil {
      print("\(fetch.entity): \(sink.count.withThousandsSeparators) written to \(output ?? "")")
    }
  }

  private func exportLocal(to sink: inout ExportSink) throws {
    let store = try target.openToRead(timeout: 86_400)
    defer { store.close() }
    let plan = try StoreFetch.plan(
      of: fetch.entity, query: fetch.query, in: store.model, maxItems: .max,
      predicate: fetch.predicate)
    let names = ["id"] + plan.selection.map(\.key)
    let kinds = ColumnKind.kinds(of: plan, in: store.model)
    sink.setKinds { kinds[$0] ?? .plain }
    var failed: (any Error)?
    do throws(StoreError) {
      try store.pages(of: plan, size: Self.pageSize) { page in
        do {
          try sink.write(try JSON(stored: page.json), columns: names)
          return true
        } catch {
          failed = error
          return false
        }
      }
    } catch {
      throw failure("\(target.name): \(error.message)", error.exitStatus)
    }
    if let failed { throw failed }
  }

  private func exportRemote(to sink: inout ExportSink) throws {
    let remote = try target.remote()
    let path = "/v1/objects/\(PercentEncoding.encodeComponent(fetch.entity))"
    if sink.isDelimited {
      let model = try remote.json("GET", "/v1/model")
      sink.setKinds { ColumnKind(of: $0, entity: fetch.entity, in: model) }
    }
    var query = fetch.query.filter { $0.name != "limit" }
    var left = fetch.limit.flatMap { Int($0) } ?? .max
    while left > 0 {
      let size = min(left, Self.pageSize)
      let json = try remote.json(
        "GET", path, query: query + [("limit", String(size))], predicate: fetch.predicate)
      try sink.write(json, columns: nil)
      let count = Int(clamping: json["count"]?.integer ?? 0)
      guard let next = json["next"]?.string, count > 0 else { return }
      left -= count
      query = query.filter { $0.name != "after" && $0.name != "offset" } + [("after", next)]
    }
  }
}

/// The destination of an export: standard output, or a file that is created once it is complete.
struct ExportSink {
  private let path: String?
  private let terminal: Terminal?
  private var file: FileHandle?
  private var writer: RowTextWriter
  private var hasBegun = false
  private(set) var count = 0
  private var bar = ProgressBar("export")

  init(path: String?, format: RowFormat) throws {
    self.path = path
    writer = RowTextWriter(format)
    terminal = path == nil ? .output : nil
    guard let path else { return }
    guard FileManager.default.createFile(atPath: path + ".partial", contents: nil) else {
      throw failure("\(path): cannot be written", .failed)
    }
    file = FileHandle(forWritingAtPath: path + ".partial")
  }

  /// True for CSV and TSV.
  var isDelimited: Bool { writer.format == .csv || writer.format == .tsv }

  /// Sets what the columns' strings look like, before the first page.
  mutating func setKinds(_ kind: @escaping (_ column: String) -> ColumnKind) { writer.kind = kind }

  /// - Parameter columns: nil selects the columns of the first item.
  mutating func write(_ page: JSON, columns: [String]?) throws {
    let items = FetchResult.sections(page).flatMap(\.items)
    if !hasBegun {
      hasBegun = true
      try put(writer.begin(columns: columns ?? FetchResult.columns(of: items)))
    }
    count += items.count
    try put(writer.write(items))
    if file != nil { bar.show(nil, count: count, unit: "objects") }
  }

  mutating func finish() throws {
    bar.clear()
    if !hasBegun { try put(writer.begin(columns: [])) }
    try put(writer.end())
    guard let path else { return }
    try? file?.close()
    guard rename(path + ".partial", path) == 0 else {
      throw failure("\(path): cannot be written", .failed)
    }
  }

  mutating func cancel() {
    bar.clear()
    try? file?.close()
    if let path { unlink(path + ".partial") }
  }

  private func put(_ bytes: [UInt8]) throws {
    if let terminal {
      return try terminal.put(bytes)
    }
    do {
      try file?.write(contentsOf: Data(bytes))
    } catch {
      throw failure("\(path ?? ""): cannot be written", .failed)
    }
  }
}
