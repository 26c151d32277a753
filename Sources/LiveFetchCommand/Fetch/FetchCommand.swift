// `livefetch fetch STORE ENTITY`

import ArgumentParser
import FetchModel
import Foundation

struct FetchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Fetch objects of a file or a server, and watch them change.",
    discussion: """
      STORE is an SQLite file, which may be served at the same time, or the address of a server. \
      --watch redraws the result whenever it changes, with marks: + came, ~ changed, ↑ ↓ moved. If \
      standard output is not a terminal, it prints each new result.

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

  @Option(help: ArgumentHelp("A key path to group the rows by.", valueName: "key"))
  var section: String?

  @Option(help: ArgumentHelp("objects, ids, or dictionaries.", valueName: "shape"))
  var shape: String?

  @Option(
    help: ArgumentHelp("The key paths to group by; returns dictionaries.", valueName: "keys"))
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
    if target.isAddress, caller.isGiven {
      throw ValidationError(
        "--as, --role and --access are for a file or a database; a server has its callers.")
    }
  }

  func run() throws {
    let source: any FetchSource =
      target.isAddress
      ? RemoteFetch(
        try target.remote(), entity: fetch.entity, query: query, predicate: fetch.predicate)
      : try LocalFetch(
        target, entity: fetch.entity, query: query, predicate: fetch.predicate, caller: caller)
    if watch, Terminal.output.isTerminal, format == .table, !count {
      try FetchScreen(source: source, title: title).run()
    } else if watch {
      try follow(source)
    } else {
      try show(try source.snapshot())
    }
  }

  private var title: String {
    ([fetch.entity] + [fetch.predicate].compactMap { $0 }).joined(separator: "  ")
  }

  /// Prints each new result, with an empty line between tables.
  private func follow(_ source: any FetchSource) throws {
    TerminationSignal.exitOnSignal()
    var last = try source.snapshot()
    var columns = try show(last)
    var isAnswering = true
    while true {
      let answer: JSON?
      do {
        answer = try source.next()
        isAnswering = true
      } catch let error as NoAnswer {
        if isAnswering { note("\(error.reason); trying again") }
        isAnswering = false
        continue
      }
      guard let next = answer else { continue }
      guard next.shownParts != last.shownParts else { continue }
      if format == .table, !count { try write("\n") }
      columns = try show(next, known: columns)
      last = next
    }
  }

  /// Returns the printed columns, for a later result without items.
  @discardableResult
  private func show(_ json: JSON, known: [String] = []) throws -> [String] {
    if count {
      try write("\(json["total"]?.integer ?? 0)\n")
      return []
    }
    let result = FetchResult(json, known: known)
    switch format {
    case .table: try showTable(result)
    case .json: try write(json.text + "\n")
    case .csv, .tsv, .ndjson: try showRows(json, result.columns)
    }
    if result.isTruncated {
      note("only the first \(result.count.grouped) are shown; `livefetch export` has no limit")
    }
    return result.columns
  }

  private func showTable(_ result: FetchResult) throws {
    let table = FetchTable(result: result, terminal: .output)
    let width = Terminal.output.isTerminal ? Terminal.output.size.columns : .max
    try write(table.lines().map { FetchScreen.cut($0, to: width) + "\n" }.joined())
  }

  private func showRows(_ json: JSON, _ columns: [String]) throws {
    var writer = RowTextWriter(RowFormat(rawValue: format.rawValue) ?? .csv)
    let items = FetchResult.sections(json).flatMap(\.items)
    let head = writer.begin(columns: columns)
    try Terminal.output.put(head + writer.write(items) + writer.end())
  }

  private func write(_ text: String) throws { try Terminal.output.put(Array(text.utf8)) }
}

extension JSON {
  /// The parts of a snapshot that are printed: all except its token.
  fileprivate var shownParts: [JSON?] { [self["sections"], self["total"]] }

  var text: String {
    var bytes: [UInt8] = []
    bytes.append(json: self)
    return String(decoding: bytes, as: UTF8.self)
  }
}
