// A Markdown page of this repository → its text, its fenced blocks and its links.

import Foundation

/// One page: the README, or a page of the manual.
public struct ManualPage: Sendable {
  /// A fenced block: ```` ```console ````, its lines, and the closing fence.
  public struct Block: Sendable {
    public let language: String
    public let lines: [String]

    public var text: String { lines.joined(separator: "\n") }
  }

  public let url: URL
  public let text: String

  /// The folder of the repository.
  public static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../..").standardizedFileURL

  /// Every page that users read.
  public static func all() throws -> [ManualPage] {
    let manual = try FileManager.default.contentsOfDirectory(
      atPath: root.appendingPathComponent("Public/docs").path
    ).filter { $0.hasSuffix(".md") }
    let names = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
    return try (names + manual.sorted().map { "Public/docs/" + $0 }).map { try ManualPage($0) }
  }

  /// - Parameter path: relative to the repository.
  public init(_ path: String) throws {
    url = Self.root.appendingPathComponent(path)
    text = try String(contentsOf: url, encoding: .utf8)
  }

  /// The name of its file.
  public var name: String { url.lastPathComponent }

  public var lines: [String] { text.components(separatedBy: "\n") }

  /// The fenced blocks, in their order.
  public var blocks: [Block] {
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
  public var links: [String] {
    let targets = text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
    return targets.filter { !$0.contains("://") }
  }

  /// The names under which links find the page's headings.
  public var anchors: Set<String> {
    let headings = lines.filter { $0.hasPrefix("#") }.map { heading in
      heading.drop { $0 == "#" || $0 == " " }.lowercased()
        .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
        .replacingOccurrences(of: " ", with: "-")
    }
    return Set(headings)
  }
}
