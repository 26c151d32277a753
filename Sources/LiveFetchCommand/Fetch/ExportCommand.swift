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
  /// The longest query string, in bytes; a longer query is sent as a body.
  private static let maxQueryBytes = 4_096
  /// The longest query string if the query cannot be sent as a body, in bytes; servers accept little
  /// more in the head of a request.
  private static let maxQueryBytesWithValues = 7_168

  @OptionGroup var target: StoreArgument
  @OptionGroup var fetch: FetchArguments

  @Option(
    name: .shortAndLong, help: "csv, tsv, json or ndjson; default: by the output's name, or csv.")
  var format: RecordFormat?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write. It is created once it is complete.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Print nothing but errors.")
  var quiet = false

  func validate() throws {
    guard output?.lowercased().hasSuffix(".gz") != true else {
      throw ValidationError("An export is not compressed; leave --output out, and pipe it to gzip.")
    }
  }

  func run() throws {
    if let output {
      try OutputFile(path: output).check(apartFrom: [target.store])
      TerminationSignal.deletingUnfinishedFiles()
    }
    var sink = try ExportSink(
      path: output, format: format ?? RecordFormat(output: output) ?? .csv, showsProgress: !quiet)
    do {
      if target.isAddress { try exportRemote(to: &sink) } else { try exportLocal(to: &sink) }
      try sink.finish()
    } catch {
      sink.cancel()
      throw error
    }
    if !quiet, sink.isFile, let output {
      print("\(fetch.entity): \(sink.count.withThousandsSeparators) written to \(output)")
    }
  }

  private func exportLocal(to sink: inout ExportSink) throws {
    let store = try target.location.openToRead(timeout: 86_400)
    defer { store.close() }
    let plan = try StoreFetch.plan(
      of: fetch.entity, query: fetch.query, in: store.model, maxItems: .max,
      predicate: fetch.predicate)
    let names = ["id"] + plan.selection.map(\.key)
    let kinds = ColumnKind.kinds(of: plan, in: store.model)
    sink.describe(columnsIfEmpty: names) { kinds[$0] ?? .plain }
    try reportingErrors(of: target.name) {
      try store.reading { transaction in
        try transaction.forEachPage(of: plan, size: Self.pageSize, in: store.model) { page in
          try sink.write(page)
        }
      }
    }
  }

  private func exportRemote(to sink: inout ExportSink) throws {
    let remote = try target.remote()
    if sink.isDelimited {
      let model = try remote.json("GET", "/v1/model")
      let columns = ColumnKind.columns(of: fetch.entity, select: fetch.select, in: model)
      sink.describe(columnsIfEmpty: columns) {
        ColumnKind(of: $0, entity: fetch.entity, in: model)
      }
    }
    var query = fetch.query.filter { $0.name != "limit" }
    var left = fetch.limit ?? .max
    repeat {
      let size = min(left, Self.pageSize)
      let json = try page(of: query + [("limit", String(size))], remote)
      try sink.write(json)
      let count = Int(clamping: json["count"]?.integer ?? 0)
      guard let next = json["next"]?.string, count > 0 else { return }
      left -= count
      query = query.filter { $0.name != "after" && $0.name != "offset" } + [("after", next)]
    } while left > 0
  }

  /// Fetches a page. Sends the query as a body if it is too long for a URL, for example because its
  /// cursor contains a long value.
  private func page(
    of query: [(name: String, value: String)], _ remote: ServerClient
  ) throws -> JSON {
    let length = ServerClient.encoded(query).utf8.count
    // In a body the predicate's values need types, which the command does not know.
    let hasValues = !fetch.arguments.isEmpty || !fetch.variables.isEmpty
    guard length > (hasValues ? Self.maxQueryBytesWithValues : Self.maxQueryBytes) else {
      let path = "/v1/objects/\(PercentEncoding.encodeComponent(fetch.entity))"
      return try remote.json("GET", path, query: query, predicate: fetch.predicate)
    }
    guard !hasValues else {
      throw failure(
        """
        \(target.name): the predicate, or a value by which the objects are sorted, is too long to be sent \
        together with --arg or --var; write the values into --where
        """, .usage)
    }
    let members = [JSON.Member(name: "entity", value: .string(fetch.entity))]
    let parameters = query.map { name, value in
      let isCount = name == "limit" || name == "offset"
      return JSON.Member(
        name: name, value: isCount ? .number(value) : .string(value))
    }
    let body = JSON.object(members + parameters).bytes
    return try remote.json("POST", "/v1/fetch", body: body, predicate: fetch.predicate)
  }
}
