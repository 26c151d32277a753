// The version number: in the program, the packages, the sources and the changelog.

import Foundation
import Service
import TestSupport
import Testing

@Suite("The version", .mayBlock)
struct VersionTests {
  private static func text(_ path: String) throws -> String { try ManualPage(path).text }

  @Test("is the same in the program and in the JavaScript packages")
  func agreement() throws {
    let printed = try Folder().run("--version").output
    #expect(printed == LiveFetchVersion.description + "\n")
    #expect(printed.hasPrefix(LiveFetchVersion.number))
    for path in ["Public/package.json", "Public/jsr.json"] {
      let json = try JSONSerialization.jsonObject(with: Data(Self.text(path).utf8))
      #expect((json as? [String: Any])?["version"] as? String == LiveFetchVersion.number, "\(path)")
    }
  }

  @Test("is written in one Swift file")
  func once() throws {
    let sources = ManualPage.root.appendingPathComponent("Sources")
    let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
    var places: [String] = []
    for case let file as URL in try #require(files) where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      if text.contains("\"\(LiveFetchVersion.number)\"") { places.append(file.lastPathComponent) }
    }
    #expect(places == ["LiveFetchVersion.swift"])
  }

  @Test("of each dependency, in a build that names its commit, is that of Package.resolved")
  func dependencies() throws {
    struct Resolved: Decodable {
      struct Pin: Decodable {
        struct State: Decodable { var version: String }
        var identity: String
        var state: State
      }
      var pins: [Pin]
    }
    let resolved = try JSONDecoder().decode(
      Resolved.self, from: Data(Self.text("Package.resolved").utf8))
    let exact = try Self.text("Package.swift").matches(
      of: /url: "[^"]+\/([^"\/]+?)(?:\.git)?", releases\(from: "([0-9.]+)"\)/)
    #expect(exact.count == 8)
    // swift-syntax is resolved only with the trait Macros.
    #expect(
      exact.filter { $0.1 != "swift-syntax" }.map { "\($0.1) \($0.2)" }.sorted()
        == resolved.pins.map { "\($0.identity) \($0.state.version)" }.sorted())
  }

  @Test("is that of the changelog's newest release, or a later one in development")
  func changelog() throws {
    let headings = try Self.text("CHANGELOG.md").split(separator: "\n")
      .filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
    let number = LiveFetchVersion.number
    if headings.first == "Unreleased" {
      #expect(number.hasSuffix("-dev"))
      #expect(!headings.contains(String(number.dropLast("-dev".count))))
    } else {
      #expect(headings.first == number)
    }
  }
}
