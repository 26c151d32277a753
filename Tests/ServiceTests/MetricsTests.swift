// The response of `/metrics`: its form, its list of metrics, and what they count.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import TestSupport
import Testing

@testable import Service

/// A text in Prometheus' exposition format. Parsing it throws for every line that the format forbids.
struct MetricsText {
  struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  struct Malformed: Error {
    let line: String
  }

  /// The kind of each family: `counter`, `gauge` or `histogram`.
  private(set) var kinds: [String: String] = [:]
  private(set) var samples: [Sample] = []

  init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Malformed(line: "the last line does not end") }
    var familiesWithHelp: Set<String> = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if let help = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)/) {
        guard familiesWithHelp.insert(String(help.1)).inserted else {
          throw Malformed(line: String(line))
        }
      } else if let type = line.wholeMatch(
        of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)/)
      {
        guard kinds.updateValue(String(type.2), forKey: String(type.1)) == nil,
          familiesWithHelp.contains(String(type.1))
        else { throw Malformed(line: String(line)) }
      } else {
        samples.append(try Self.sample(line))
        guard kinds[family(of: samples[samples.count - 1].name)] != nil else {
          throw Malformed(line: String(line))
        }
      }
    }
  }

  private static func sample(_ line: Substring) throws -> Sample {
    let form = /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([+-]?Inf|NaN|[-+0-9.eE]+)/
    guard let match = line.wholeMatch(of: form) else { throw Malformed(line: String(line)) }
    var labels: [String: String] = [:]
    if let text = match.2 {
      for label in text.split(separator: ",") {
        guard let part = label.wholeMatch(of: /([a-zA-Z_][a-zA-Z0-9_]*)="([^"\\]*)"/),
          labels.updateValue(String(part.2), forKey: String(part.1)) == nil
        else { throw Malformed(line: String(line)) }
      }
    }
    guard let value = Double(match.3.replacing("Inf", with: "inf")) else {
      throw Malformed(line: String(line))
    }
    return Sample(name: String(match.1), labels: labels, value: value)
  }

  /// The family of a sample: its name, without the suffix of a histogram's samples.
  private func family(of name: String) -> String {
    for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
      let family = String(name.dropLast(suffix.count))
      if kinds[family] == "histogram" { return family }
    }
    return name
  }

  subscript(name: String, labels: [String: String] = [:]) -> Double? {
    samples.first { $0.name == name && $0.labels == labels }?.value
  }
}

@Suite("Metrics are Prometheus text, and count", .mayBlock)
struct MetricsTests {
  /// Serves the file on a port and returns the response to a client.
  private func serving(
    _ file: ServedFile, _ body: ((String, [String: String]) throws -> Answer) throws -> Void
  ) throws {
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    configuration.workers = 2
    let server = try HTTPServer(configuration, handler: file.service)
    file.service.metrics.watch(server)
    defer { server.stop() }
    try body { target, headers in
      try Curl.get("http://127.0.0.1:\(server.port)\(target)", headers)
    }
  }

  @Test("Every family has a help text, a type and samples of its form")
  func families() throws {
    let file = try ServedFile(contractFixture)
    try serving(file) { get in
      _ = try get("/v1/objects/city", [:])
      let answer = try get("/metrics", [:])
      #expect(answer.status == 200)
      #expect(answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
      let metrics = try MetricsText(answer.text)
      for (name, kind) in metrics.kinds {
        #expect(name.hasSuffix("_total") == (kind == "counter"), "\(name)")
      }
      for histogram in metrics.kinds.filter({ $0.value == "histogram" }).keys {
        try checkBuckets(of: histogram, metrics)
      }
    }
  }

  @Test("Answers are counted by their status, those of no problem's status together")
  func statuses() throws {
    let counted = ServiceMetrics()
    for status in [414, 421, 505, 508, 599] { counted.count(0, status: status, nanoseconds: 0) }
    let answer = Health.metrics(counted.families, isReady: true)
    let metrics = try MetricsText(String(decoding: answer.body.bytes, as: UTF8.self))
    for (status, count) in [("414", 1.0), ("421", 1.0), ("505", 1.0), ("other", 2.0)] {
      let labels = ["kind": "none", "status": status]
      #expect(metrics["livefetch_requests_total", labels] == count, "\(status)")
    }
  }

  @Test("The manual's page lists every metric with its type, and no other")
  func manualLists() throws {
    var listed: [String: String] = [:]
    for line in try ManualPage("Public/docs/metrics.md").lines {
      guard let row = line.prefixMatch(of: /\| `((?:livefetch|process)_[a-z_]+)` \| ([a-z]+) \|/)
      else { continue }
      #expect(listed.updateValue(String(row.2), forKey: String(row.1)) == nil, "\(row.1)")
    }
    let file = try ServedFile(contractFixture)
    try serving(file) { get in
      // A family of requests has samples only after a request.
      _ = try get("/v1", [:])
      _ = try get("/v1/objects/city?since=now&wait=0", [:])
      let metrics = try MetricsText(get("/metrics", [:]).text)
      #expect(metrics.kinds == listed)
    }
  }

  @Test("A database has metrics that the manual lists, and those of saves and of the history")
  func database() throws {
    let page = try ManualPage("Public/docs/metrics.md").text
    let database = try ServedDatabase("CREATE TABLE city(id int PRIMARY KEY, name text);")
    let isMeasured = try eventually(within: .seconds(300)) {
      try MetricsText(database.ask("/metrics").text)["livefetch_history_rows"] == 0
    }
    #expect(isMeasured)
    let metrics = try MetricsText(database.ask("/metrics").text)
    for name in metrics.kinds.keys { #expect(page.contains("| `\(name)` | "), "\(name)") }
    #expect(metrics["livefetch_saves_total"] == 0)
    #expect(metrics["livefetch_store_connections", ["state": "idle"]].map { $0 >= 1 } == true)
    #expect(metrics["livefetch_ready"] == 1)
  }

  @Test("An epoch that begins with a store that is opened again is counted")
  func epochs() throws {
    let file = try HostedFile("CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);")
    func epochs() throws -> Double? {
      try MetricsText(file.ask("/metrics").text)["livefetch_epochs_total"]
    }
    #expect(try epochs() == 0)
    try file.shell("ALTER TABLE city ADD COLUMN area REAL;")
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try epochs() == 1)
    #expect(try epochs() == 1)
  }

  private func checkBuckets(of name: String, _ metrics: MetricsText) throws {
    let buckets = metrics.samples.filter { $0.name == name + "_bucket" }
    let groups = Dictionary(grouping: buckets) { $0.labels.filter { $0.key != "le" } }
    for (labels, group) in groups {
      let values = group.map(\.value)
      #expect(values == values.sorted(), "\(name)")
      #expect(group.last?.labels["le"] == "+Inf")
      #expect(values.last == metrics[name + "_count", labels])
      #expect(metrics[name + "_sum", labels] != nil)
    }
  }

  @Test("Requests, saves and live fetches are counted")
  func counts() throws {
    let file = try ServedFile(contractFixture)
    try serving(file) { get in
      for _ in 0..<5 { _ = try get("/v1/objects/city?limit=2", [:]) }
      _ = try get("/v1/objects/town", [:])
      _ = try get("/v1/objects/city?since=now&wait=0", [:])
      _ = try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":30}"#)
      let waiting = file.begin("GET", "/v1/objects/city?since=now&wait=60")
      let isCounted = try eventually(within: .seconds(50)) {
        try MetricsText(get("/metrics", [:]).text)["livefetch_live_waiting"] == 1
      }
      #expect(isCounted)
      let metrics = try MetricsText(try get("/metrics", [:]).text)
      #expect(metrics["livefetch_requests_total", ["kind": "fetch", "status": "200"]] == 5)
      #expect(metrics["livefetch_requests_total", ["kind": "fetch", "status": "404"]] == 1)
      #expect(metrics["livefetch_requests_total", ["kind": "poll", "status": "200"]] == 1)
      #expect(metrics["livefetch_request_seconds_count", ["kind": "fetch"]] == 6)
      #expect(metrics["livefetch_request_seconds_count", ["kind": "poll"]] == nil)
      #expect(metrics["livefetch_wait_seconds_count", ["kind": "poll"]] == 1)
      #expect(metrics["livefetch_wait_seconds_count", ["kind": "fetch"]] == nil)
      #expect(metrics["livefetch_live_lag"] == 0)
      #expect(metrics["livefetch_live_seconds_total"].map { $0 > 0 } == true)
      #expect(metrics["livefetch_store_connections", ["state": "idle"]].map { $0 >= 1 } == true)
      #expect(metrics["livefetch_wal_bytes"].map { $0 > 0 } == true)
      #expect(metrics["livefetch_disk_free_bytes"].map { $0 > 0 } == true)
      #expect(metrics["livefetch_ready"] == 1)
      let build = ["version": LiveFetchVersion.number, "commit": LiveFetchVersion.commit ?? ""]
      #expect(metrics["livefetch_build_info", build] == 1)
      #expect(metrics["livefetch_snapshot_cache_hits_total"] == 3)
      #expect(metrics["livefetch_saves_total"] == 1)
      #expect(metrics["livefetch_commit_saves_count"] == 1)
      #expect(metrics["livefetch_live_fetches"].map { $0 >= 1 } == true)
      #expect(metrics["livefetch_connections_open"].map { $0 >= 1 } == true)
      #expect(metrics["process_resident_memory_bytes"].map { $0 > 1e6 } == true)
      #expect(metrics["process_open_fds"].map { $0 > 3 } == true)
      _ = waiting
    }
  }

  @Test("Metrics need the token if there is one")
  func token() throws {
    var configuration = ServiceConfiguration()
    configuration.bearerToken = "secret"
    let file = try ServedFile(contractFixture, configuration: configuration)
    #expect(try file.ask("/metrics").status == 401)
    #expect(try file.ask("/health/live").status == 200)
    let headers = [(name: "Authorization", value: "Bearer secret")]
    #expect(try file.ask("/metrics", headers: headers).status == 200)
  }
}
