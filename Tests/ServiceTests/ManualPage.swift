// A Markdown page of this repository → its text, its fenced blocks and its links.

import Foundation

/// One page: the README, or a page of the manual.
struct ManualPage {
  /// A fenced block: ```` ```console ````, its lines, and the closing fence.
  struct Block {
    let language: String
    let lines: [String]
  }

  let url: URL
  let text: String

  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../..").standardizedFileURL

  /// Every page that users read.
  static func all() throws -> [ManualPage] {
    let manual = try FileManager.default.contentsOfDirectory(
      atPath: root.appendingPathComponent("Public/docs").path
    ).filter { $0.hasSuffix(".md") }
    let names = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    return try (names + manual.sorted().map { "Public/docs/" + $0 }).map { try ManualPage($0) }
  }

  /// - Parameter path: relative to the repository.
  init(_ path: String) throws {
    url = Self.root.appendingPathComponent(path)
    text = try String(contentsOf: url, encoding: .utf8)
  }

  var lines: [String] { text.components(separatedBy: "\n") }

  /// The fenced blocks, in their order.
  var blocks: [Block] {
    var blocks: [Block] = []
    var open: (language: String, lines: [String])?
    for line in lines {
      if let block = open {
        if line == "```" {
          blocks.append(Block(language: block.language, lines: block.lines))
          open = nil
        } else {
          open = (block.language, block.lines + [line])
        }
      } else if line.hasPrefix("```") {
        open = (String(line.dropFirst(3)), [])
      }
    }
    return blocks
  }

  /// The targets of the links to other files and to headings, without those to other sites.
  var links: [String] {
    let targets = text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
    return targets.filter { !$0.contains("://") }
  }

  /// The names under which links find the page's headings.
  var anchors: Set<String> {
    let headings = lines.filter { $0.hasPrefix("#") }.map { heading in
      heading.drop { $0 == "#" || $0 == " " }.lowercased()
        .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
        .replacingOccurrences(of: " ", with: "-")
    }
    return Set(headings)
  }
}
