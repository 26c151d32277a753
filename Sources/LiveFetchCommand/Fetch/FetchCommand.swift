// `livefetch fetch STORE ENTITY`: the arguments → a fetch of a store or a server; its result in the chosen
// format on standard output, once or after every change.

import ArgumentParser
import FetchModel
import Foundation

struct FetchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Fetch objects of a store, and watch them change.",
    discussion: """
      STORE is an SQLite file, which may be served at the same time, a PostgreSQL database \
      (postgres://…), or the address of a server. --watch redraws the result whenever it changes, \
      with marks: + inserted, ~ changed, ↑ ↓ moved. If standard output is not a terminal, it prints \
      each new result.

      EXAMPLES
        livefetch fetch world.sqlite City --where 'population >= 1000000' --sort -population
        livefetch fetch world.sqlite City --where 'name BEGINSWITH[cd] %@' --arg são --select name
        livefetch fetch http://127.0.0.1:8080 City --section country.name --limit 40 --watch
        livefetch fetch world.sqlite City --where 'country.code == "JP"' --count
        livefetch fetch notes.sqlite Note --as ann --role hr
        livefetch fetch world.sqlite City --group country.name --select 'country.name,n:@count'
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case table, csv, tsv, json, ndjson }

  @OptionGroup var target: StoreArgument
  @OptionGroup var fetch: FetchArguments
  @OptionGroup var caller: CallerArguments

  @Option(
    help: ArgumentHelp(
      "A key path whose value divides the objects into sections.", valueName: "key"))
  var section: String?

  @Option(
    help: ArgumentHelp("The form of the result: objects, ids or dictionaries.", valueName: "shape"))
  var shape: String?

  @Option(
    help: ArgumentHelp("The key paths to group by; the result is dictionaries.", valueName: "keys"))
  var group: String?

  @Option(help: ArgumentHelp("For dictionaries: the condition of groups.", valueName: "predicate"))
  var having: String?

  @Flag(help: "For dictionaries: omit duplicates.")
  var distinct = false

  @Flag(help: "Print only the number of objects.")
  var count = false

  @Option(name: .shortAndLong, help: "The output format.")
  var format = Format.table

  @Flag(help: "Show changes until interrupted.")
  var watch = false

  private var query: [(name: String, value: String)] {
    var query = fetch.query
    let more = [
      ("section", section), ("as", count ? "count" : shape ?? group.map { _ in "dictionaries" }),
      ("group", group), ("having", having), ("distinct", distinct ? "true" : nil),
    ]
    for (name, value) in more {
      if let value { query.append((name, value)) }
    }
    return query
  }

  func validate() throws {
    if let shape, !["objects", "ids", "dictionaries"].contains(shape) {
      throw ValidationError(
        "--shape takes objects, ids or dictionaries; --count prints the number.")
    }
    if target.isAddress, caller.isGiven {
      throw ValidationError(
        "--as, --role, --claims and --access are for a file or a database; a server knows its "
          + "callers by their credentials.")
    }
  }

  func run() throws {
    let source: any FetchSource =
      target.isAddress
      ? ServerFetch(
        try target.remote(), entity: fetch.entity, query: query, predicate: fetch.predicate)
      : try StoreFetch(
        target, entity: fetch.entity, query: query, predicate: fetch.predicate, caller: caller)
    if watch, Terminal.output.isTerminal, format == .table, !count {
      let first = try source.snapshot()
      let columns = try columnsIfEmpty(first, of: source)
      try FetchScreen(source: source, title: title)
        .run(from: FetchResult(first, columnsIfEmpty: columns))
    } else if watch {
      try printChanges(of: source)
    } else {
      let result = try source.snapshot()
      try printResult(result, columnsIfEmpty: columnsIfEmpty(result, of: source))
    }
  }

  /// Returns the columns of a result without items; none if the result has items, whose keys are the
  /// columns.
  private func columnsIfEmpty(
    _ result: JSON, of source: any FetchSource
  ) throws -> [String] {
    guard !count, shape != "ids", [.table, .csv, .tsv].contains(format),
      FetchResult.sections(result).allSatisfy({ $0.items.isEmpty })
    else { return [] }
    return try source.columns(of: fetch, keys: dictionaryKeys)
  }

  /// The keys of dictionaries; nil for objects.
  private var dictionaryKeys: [String]? {
    get throws {
      guard group != nil || shape == "dictionaries" else { return nil }
      let selection = Parameter(name: "select", value: .text(fetch.select ?? group ?? ""))
      return try selection.expressions().map { value in
        let parts = value.split(separator: ":", maxSplits: 1)
        // `n:@count` has the key `n`; `founded:month` is its own key.
        let isPart = ["day", "month", "year", "initial"].contains(parts.last)
        return parts.count == 2 && !isPart ? String(parts[0]) : value
      }
    }
  }

  private var title: String {
    ([fetch.entity] + [fetch.predicate].compactMap { $0 }).joined(separator: "  ")
  }

  /// Prints each new result, with an empty line between tables.
  private func printChanges(of source: any FetchSource) throws {
    TerminationSignal.exitOnSignal()
    var last = try source.snapshot()
    var columns = try printResult(last, columnsIfEmpty: columnsIfEmpty(last, of: source))
    var isAvailable = true
    while true {
      let result: JSON?
      do {
        result = try source.nextResult()
        isAvailable = true
      } catch let error as ServerUnavailable {
        if isAvailable { printError("\(error.reason.withoutFullStop); trying again") }
        isAvailable = false
        continue
      }
      guard let next = result, next.shownParts != last.shownParts else { continue }
      if format == .table, !count { try write("\n") }
      columns = try printResult(next, columnsIfEmpty: columns)
      last = next
    }
  }

  /// Prints a result.
  ///
  /// - Parameter columnsIfEmpty: the selected columns or those of the previous result, for the head of a
  ///   result without items.
  /// - Returns: The printed columns.
  @discardableResult
  private func printResult(_ json: JSON, columnsIfEmpty: [String] = []) throws -> [String] {
    if count {
      try write("\(json["total"]?.integer ?? 0)\n")
      return []
    }
    let result = FetchResult(json, columnsIfEmpty: columnsIfEmpty)
    switch format {
    case .table: try printTable(result)
    case .json: try write(json.text + "\n")
    case .csv, .tsv, .ndjson: try printRows(json, result.columns)
    }
    if result.isTruncated {
      printError(
        "only the first \(result.count.withThousandsSeparators) are shown; `livefetch export` has no limit"
      )
    }
    return result.columns
  }

  private func printTable(_ result: FetchResult) throws {
    let table = FetchTable(result: result, terminal: .output)
    let width = Terminal.output.isTerminal ? Terminal.output.size.columns : .max
    try write(table.lines().map { FetchScreen.cut($0, to: width) + "\n" }.joined())
  }

  private func printRows(_ json: JSON, _ columns: [String]) throws {
    var writer = RowTextWriter(RecordFormat(rawValue: format.rawValue) ?? .csv)
    let items = FetchResult.sections(json).flatMap(\.items)
    let head = writer.begin(columns: columns)
    try Terminal.output.put(head + writer.write(items) + writer.end())
  }

  private func write(_ text: String) throws { try Terminal.output.put(Array(text.utf8)) }
}

extension JSON {
  /// The parts by which two results differ. `count` and `truncated` follow from them.
  fileprivate var shownParts: [JSON?] { [self["sections"], self["total"]] }
}
