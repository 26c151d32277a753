// The dashboard and the alert rules name only metrics that the manual lists; MetricsTests compares its list
// with a server's.

import Foundation
import TestSupport
import Testing

@Suite("The dashboard and the alert rules")
struct MonitoringFilesTests {
  private static let folder = ManualPage.root.appendingPathComponent("docker/deploy/monitoring")

  /// The names of the manual's metrics, and those that a histogram adds.
  private static func knownNames() throws -> Set<String> {
    var names: Set<String> = []
    for match in try ManualPage("Public/docs/metrics.md").text
      .matches(of: /\n\| `((?:livefetch|process)_[a-z_]+)` \| ([a-z]+) \|/)
    {
      let ends = match.2 == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
      names.formUnion(ends.map { "\(match.1)\($0)" })
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
}
