// The dashboard and the alert rules name only metrics that a server has.

import Foundation
import Testing

@Suite("The dashboard and the alert rules", .mayBlock)
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
}
