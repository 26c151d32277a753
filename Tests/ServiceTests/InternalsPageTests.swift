// The functions and the targets that the manual's page of the architecture names against the sources.

import Foundation
import TestSupport
import Testing

@testable import Service

@Suite("The manual's page of the architecture", .mayBlock)
struct InternalsPageTests {
  /// The texts of the Swift sources.
  private static let sources = Result {
    let folder = ManualPage.root.appendingPathComponent("Sources")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var texts: [String] = []
    while let file = files?.nextObject() as? URL {
      if file.pathExtension == "swift" {
        texts.append(try String(contentsOf: file, encoding: .utf8))
      }
    }
    return texts
  }

  /// The functions `name` in the files that declare or extend `type`, each as its labels: `(of:_:)`.
  private static func labels(of name: String, in type: String) throws -> [String] {
    let declaration = try Regex("(class|struct|enum|actor|extension|protocol) \(type)\\b")
    let function = try Regex("func \(name)(<[^>]*>)?\\(")
    // Searching for texts first is faster by far than a regular expression over every file.
    let candidates = try sources.get().filter { $0.contains("func \(name)") && $0.contains(type) }
    return candidates.filter { $0.firstMatch(of: declaration) != nil }.flatMap { text in
      text.matches(of: function).map { match in
        labels(text[match.range.upperBound...].prefix(2_000).replacing("->", with: " "))
      }
    }
  }

  /// The labels of a parameter list, of which the bracket that opens it was read.
  private static func labels(_ text: Substring) -> String {
    var depth = 0
    var labels = ""
    var word: String? = ""
    for character in text {
      if character == ")", depth == 0 { break }
      if "([{<".contains(character) { depth += 1 }
      if ")]}>".contains(character) { depth -= 1 }
      if character == ",", depth == 0 {
        word = ""
      } else if let begun = word {
        if character.isWhitespace || character == ":" {
          if !begun.isEmpty { (labels, word) = (labels + begun + ":", nil) }
        } else {
          word = begun + String(character)
        }
      }
    }
    return "(\(labels))"
  }

  @Test("Every function that the walks through a fetch and a save name exists")
  func functions() throws {
    let page = try ManualPage("Public/docs/internals.md").text
    var count = 0
    for heading in ["## One fetch, function by function", "## One save, function by function"] {
      let rest = try #require(page.components(separatedBy: heading + "\n").last)
      let section = try #require(rest.components(separatedBy: "\n## ").first)
      for match in section.matches(of: /`([A-Z]\w+)\.(\w+)(\([\w:]*\))?`/) {
        count += 1
        let found = try Self.labels(of: String(match.2), in: String(match.1))
        #expect(!found.isEmpty, "\(match.0)")
        if let labels = match.3 { #expect(found.contains(String(labels)), "\(match.0): \(found)") }
      }
    }
    #expect(count >= 30)
  }

  @Test("The pipeline has the stages of Server-Timing, and the table has a row for each")
  func stages() throws {
    let page = try ManualPage("Public/docs/internals.md")
    let block = try #require(page.blocks.map(\.text).first { $0.hasPrefix("authenticate") })
    let names = block.components(separatedBy: " → ")
    let stages = StageTimings.Stage.allCases.filter { $0 != .wait }.map(\.rawValue)
    #expect(names.map { $0 == "cached response" ? "cache" : $0 } == stages)
    for name in names { #expect(page.text.contains("\n| \(name) | "), "\(name)") }
  }

  @Test("The table and the picture name every target")
  func targets() throws {
    let package = try ManualPage("Package.swift").text
    let target = /\.(?:target|systemLibrary|executableTarget|macro|plugin)\(\s*name: "(\w+)"/
    let names = package.matches(of: target).map { String($0.1) }.filter { $0 != "TestSupport" }
    #expect(names.count >= 30)
    for path in ["Public/docs/internals.md", "Public/docs/architecture.svg"] {
      let words = try Set(ManualPage(path).text.split { !$0.isLetter }.map(String.init))
      for name in names { #expect(words.contains(name), "\(path): \(name)") }
    }
  }
}
