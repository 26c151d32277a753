// The dashboard and the alert rules name only metrics that a server has; the manual lists all of them.

import Foundation
import TestSupport
import Testing

@Suite("The dashboard, the alert rules and the manual's list of metrics", .mayBlock)
struct MonitoringFilesTests {
  private static let folder = ManualPage.root.appendingPathComponent("docker/deploy/monitoring")

  /// The names of metrics in the sources, and those that a histogram adds.
  private static func knownNames() throws -> Set<String> {
    let sources = ManualPage.root.appendingPathComponent("Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    var names: Set<String> = []
    for case let file as URL in try #require(files) where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: /"((?:livefetch|process)_[a-z_]+)"/) {
        names.formUnion(["", "_bucket", "_sum", "_count"].map { String(match.1) + $0 })
      }
    }
    return names
  }

  @Test("Every metric that a file names exists", arguments: ["grafana.json", "alerts.yaml"])
  func namesExist(file: String) throws {
    let text = try String(contentsOf: Self.folder.appendingPathComponent(file), encoding: .utf8)
    let used = text.matches(of: /(?:livefetch|process)_[a-z_]+/).map { String($0.0) }
    let known = try Self.knownNames()
    #expect(used.count >= 10)
    #expect(used.filter { !known.contains($0) } == [])
  }

  /// The names and types that a server with every optional part writes.
  private static func servedMetrics() throws -> [String: String] {
    let directory = try TemporaryDirectory()
    try sqlite(directory.file("store.sqlite"), "CREATE TABLE City(id INTEGER PRIMARY KEY)")
    let server = try RunningProgram([
      "serve", directory.file("store.sqlite"), "--port", "0", "--backup-every", "1h",
    ])
    defer {
      server.process.terminate()
      _ = server.end()
    }
    let address = server.line.dropFirst("LiveFetch listening on ".count)
    for query in ["limit=1", "since=now&wait=0"] {
      #expect(try Curl.get(address + "/v1/objects/City?\(query)").status == 200)
    }
    let text = String(decoding: try Curl.get(address + "/metrics").bytes, as: UTF8.self)
    let types = text.matches(of: /# TYPE ([a-z_]+) ([a-z]+)\n/).map { (String($0.1), String($0.2)) }
    return Dictionary(types, uniquingKeysWith: { _, last in last })
  }

  @Test("The manual lists every metric of a server with its type, and no others")
  func manual() throws {
    let rows = try ManualPage("Public/docs/metrics.md").text
      .matches(of: /\n\| `((?:livefetch|process)_[a-z_]+)` \| ([a-z]+) \|/)
    let listed = Dictionary(
      rows.map { (String($0.1), String($0.2)) }, uniquingKeysWith: { _, last in last })
    let served = try Self.servedMetrics()
    #expect(listed.count == rows.count)
    #expect(served.count >= 40)
    #expect(served.filter { listed[$0.key] != $0.value } == [:])
    #expect(listed.filter { served[$0.key] == nil } == [:])
  }
}
