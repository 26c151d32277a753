// `livefetch status STORE`

import ArgumentParser
import FetchModel
import Foundation
import HTTPClient
import PostgresStore
import SQLiteStore

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the state of a store: its history, server, and processes that have it open.",
    discussion: """
      EXAMPLES
        livefetch status shop.sqlite
        livefetch status http://127.0.0.1:8080
        livefetch status postgres://localhost/shop
        livefetch status shop.sqlite --json

      EXIT STATUS
        0 for a store that can be used, 69 for a server that does not answer or is not ready.
      """)

  @OptionGroup var target: StoreArgument

  @Flag(help: "Print it as JSON.")
  var json = false

  func run() throws {
    let lines =
      if target.isAddress {
        try remoteLines()
      } else if let database = target.database {
        try databaseLines(database)
      } else {
        try fileLines()
      }
    if json {
      print(JSON.object(lines.map { .init(name: Self.key($0.name), value: $0.value) }).text)
    } else {
      let width = lines.map { $0.name.count }.max() ?? 0
      for (name, value) in lines { print("\(name.padded(to: width))  \(Self.shown(value))") }
    }
    if lines.contains(where: { $0.name == "ready" && $0.value == .boolean(false) }) {
      throw ExitCode(ExitStatus.unavailable.rawValue)
    }
  }

  private typealias Line = (name: String, value: JSON)

  /// `log bytes` → `logBytes`
  private static func key(_ name: String) -> String {
    let words = name.split(separator: " ")
    return words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined()
  }

  private static func shown(_ value: JSON) -> String {
    switch value {
    case .null: return "none"
    case .boolean(let isTrue): return isTrue ? "yes" : "no"
    case .number(let text): return Int(text)?.withThousandsSeparators ?? text
    case .object(let members):
      return members.map { "\($0.name.onOneLine) \(shown($0.value))" }.joined(separator: ", ")
    case .array(let elements): return elements.map(shown).joined(separator: ", ")
    case .string(let text): return text.onOneLine
    }
  }

  private static func number(_ value: Int) -> JSON { .number(String(value)) }

  private static func date(_ seconds: Double?) -> JSON {
    seconds.map { .string(KeyDate.text($0)) } ?? .null
  }

  // MARK: A file

  private func fileLines() throws -> [Line] {
    try requireFile(target.store)
    let status = try reportingErrors(of: target.store) {
      try SQLiteStore.status(path: target.store)
    }
    // SQLite keeps the log beside the file to which a link leads.
    let path = (realPath(target.store) ?? target.store) + "-wal"
    let log = (try? FileManager.default.attributesOfItem(atPath: path))?[.size]
    let entities = status.entities.map { entity in
      JSON.Member(name: entity.name, value: entity.rows.map(Self.number) ?? .string("(a view)"))
    }
    let server = SQLiteStore.server(of: target.store)
    let openers = FileOpeners(path: target.store).processes
    return [
      ("store", .string(target.store)), ("bytes", Self.number(status.bytes)),
      ("log bytes", Self.number((log as? NSNumber)?.intValue ?? 0)),
      ("journal", .string(status.journalMode)), ("sqlite", .string(status.sqliteVersion)),
      ("entities", .object(entities)),
    ] + Self.historyLines(status.history) + [
      ("served by", server.map { .string($0.description) } ?? .null),
      ("open in", openers.isEmpty ? .null : .array(openers.map { .string($0) })),
    ]
  }

  private static func historyLines(_ history: StoreStatus.HistoryExtent?) -> [Line] {
    guard let history else { return [("history", .null)] }
    return [
      ("epoch", .string(history.token.epoch)), ("token", .string(history.token.description)),
      ("history rows", number(history.rows)), ("saves", number(history.saves)),
      ("history bytes", history.bytes.map { number(Int($0)) } ?? .null),
      ("oldest save", date(history.oldest)), ("newest save", date(history.newest)),
    ]
  }

  // MARK: A database

  private func databaseLines(_ target: DatabaseTarget) throws -> [Line] {
    let status = try reportingErrors(of: target.name) {
      try PostgresStore.status(target.text)
    }
    let lines: [Line] = [
      ("store", .string(target.name)), ("bytes", Self.number(status.bytes)),
      ("postgres", .string(status.serverVersion)),
      (
        "estimated rows",
        .object(status.tables.map { .init(name: $0.name, value: Self.number($0.rows)) })
      ),
    ]
    guard let history = status.history else { return lines + [("history", .null)] }
    return lines + [
      ("epoch", .string(history.token.epoch)), ("token", .string(history.token.description)),
      ("estimated history rows", Self.number(history.rows)),
      ("history bytes", Self.number(history.bytes)),
      ("oldest change", Self.date(history.oldest)),
      ("oldest transaction", Self.date(history.oldestTransaction)),
    ]
  }

  // MARK: A server

  private func remoteLines() throws -> [Line] {
    let remote = try target.remote()
    let probe = try remote.response("GET", "/health/ready")
    let state: [Line] =
      [("server", .string(target.store)), ("ready", .boolean(probe.status == 200))]
      + Self.reasons(probe)
    // While the store is closed, only the probes and the metrics are answered.
    if probe.status != 200, try remote.response("GET", "/v1").status == 503 {
      return state + (try Self.measurements(remote))
    }
    let about = try remote.json("GET", "/v1")
    let model = try remote.json("GET", "/v1/model")
    let names = (model["entities"]?.elements ?? []).compactMap { $0["name"] }
    let content: [Line] = [
      ("name", about["name"] ?? .null), ("version", about["version"] ?? .null),
      ("store", about["store"] ?? .null), ("read only", about["readOnly"] ?? .null),
      ("token", about["token"] ?? .null), ("entities", .array(names)),
    ]
    return state + content + (try Self.measurements(remote))
  }

  /// Why the server is not ready; empty if it is.
  private static func reasons(_ probe: ClientResponse) -> [Line] {
    guard let reasons = (try? JSON(parsing: probe.body))?["reasons"] else { return [] }
    let texts = reasons.elements.map { reason in
      JSON.string("\(reason["code"]?.string ?? ""): \(reason["detail"]?.string ?? "")")
    }
    return [("reasons", .array(texts))]
  }

  /// The measurements of the server's metrics; empty for a caller who may not read them.
  private static func measurements(_ remote: ServerClient) throws -> [Line] {
    let response = try remote.response("GET", "/metrics")
    guard response.status == 200 else { return [] }
    let samples = MetricSamples(String(decoding: response.body, as: UTF8.self))
    let start = samples.sum("process_start_time_seconds")
    let lines: [(String, JSON?)] = [
      ("running since", start.map { date($0) }),
      ("requests", samples.number("livefetch_requests_total")),
      ("server errors", samples.number("livefetch_requests_total", #"status="5"#)),
      ("saves", samples.number("livefetch_saves_total")),
      ("refused saves", samples.number("livefetch_saves_refused_total")),
      ("waiting saves", samples.number("livefetch_saves_waiting")),
      ("connections", samples.number("livefetch_connections_open")),
      ("streams", samples.number("livefetch_streams_open")),
      ("live fetches", samples.number("livefetch_live_fetches")),
      ("waiting clients", samples.number("livefetch_live_waiting")),
      ("diffs sent", samples.number("livefetch_live_delivered_total")),
      ("positions to follow", samples.number("livefetch_live_lag")),
      ("slow queries", samples.number("livefetch_slow_queries_running")),
      ("waiting slow queries", samples.number("livefetch_slow_queries_waiting")),
      ("history rows", samples.number("livefetch_history_rows")),
      ("history bytes", samples.number("livefetch_history_bytes")),
      ("log bytes", samples.number("livefetch_wal_bytes")),
      ("free disk bytes", samples.number("livefetch_disk_free_bytes")),
      ("memory bytes", samples.number("process_resident_memory_bytes")),
      ("open files", samples.number("process_open_fds")),
    ]
    return lines.compactMap { name, value in value.map { (name, $0) } }
  }
}

/// The samples of a response of `/metrics`.
struct MetricSamples {
  private let samples: [(name: Substring, labels: Substring, value: Double)]

  init(_ text: String) {
    samples = text.split(separator: "\n").compactMap { line in
      guard !line.hasPrefix("#"), let blank = line.lastIndex(of: " "),
        let value = Double(line[line.index(after: blank)...])
      else { return nil }
      let series = line[..<blank]
      let end = series.firstIndex(of: "{") ?? series.endIndex
      return (series[..<end], series[end...], value)
    }
  }

  /// The sum of the samples of a family whose labels contain a text; nil if the server has no such family.
  func sum(_ name: String, _ label: String = "") -> Double? {
    let family = samples.filter { $0.name == name }
    guard !family.isEmpty else { return nil }
    return family.filter { label.isEmpty || $0.labels.contains(label) }.map(\.value).reduce(0, +)
  }

  func number(_ name: String, _ label: String = "") -> JSON? {
    sum(name, label).flatMap { Int(exactly: $0.rounded()) }.map { .number(String($0)) }
  }
}

/// The processes that have a file open, if the system reveals them.
struct FileOpeners {
  /// `1234 sqlite3`, excluding this process.
  let processes: [String]

  /// Searches `/proc`; finds nothing on systems without it.
  init(path: String) {
    guard let name = realPath(path) else {
      processes = []
      return
    }
    let files = FileManager.default
    let ids = ((try? files.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
    processes = ids.sorted().filter { id in
      let directory = "/proc/\(id)/fd"
      let open = (try? files.contentsOfDirectory(atPath: directory)) ?? []
      return id != getpid()
        && open.contains {
          (try? files.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")) == name
        }
    }.map { id in
      let name = (try? String(contentsOfFile: "/proc/\(id)/comm", encoding: .utf8)) ?? ""
      return "\(id) \(name.trimmingCharacters(in: .whitespacesAndNewlines))"
    }
  }
}
