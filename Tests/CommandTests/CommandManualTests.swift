// The manual's page of the command line against the program's own description of its commands.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

@Suite("The manual's page of the command line", .mayBlock)
struct CommandManualTests {
  /// The description that ArgumentParser prints.
  private struct Description: Decodable { let command: Command }

  private struct Command: Decodable {
    struct Argument: Decodable {
      struct Name: Decodable {
        let kind: String
        let name: String
      }
      let names: [Name]?
    }
    let commandName: String
    let arguments: [Argument]?
    let subcommands: [Command]?

    /// The commands without subcommands, with their words after `livefetch`.
    func leaves(_ words: [String] = []) -> [(name: String, command: Command)] {
      guard let subcommands else { return [(words.joined(separator: " "), self)] }
      return subcommands.flatMap { $0.leaves(words + [$0.commandName]) }
    }

    /// The options without those of every command and, of a command that takes settings, these.
    var options: Set<String> {
      let takesSettings = ["serve", "demo", "config"].contains(commandName)
      let settings = takesSettings ? Setting.all.flatMap { [$0.name, "no-" + $0.name] } : []
      let names = (arguments ?? []).flatMap { $0.names ?? [] }
      return Set(
        names.filter { !(settings + ["version", "help", "h"]).contains($0.name) }
          .map { ($0.kind == "short" ? "-" : "--") + $0.name })
    }
  }

  private static func page() throws -> String {
    try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Public/docs/cli.md").standardizedFileURL, encoding: .utf8)
  }

  /// The options in the first columns of the tables, by the heading of the command.
  private static func listed() throws -> [String: Set<String>] {
    let text = try #require(page().components(separatedBy: "\n## Options\n").last)
    let section = try #require(text.components(separatedBy: "\n## ").first)
    var listed: [String: Set<String>] = [:]
    for part in section.components(separatedBy: "\n### ").dropFirst() {
      let lines = part.components(separatedBy: "\n")
      let cells = lines.filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|")[0] }
      let names = cells.flatMap { cell in
        cell.matches(of: /[ `](--?[a-z][a-z-]*)/).map { String($0.1) }
      }
      listed[lines[0]] = Set(names)
    }
    return listed
  }

  @Test("Every command has a section, whose table lists its options and no others")
  func options() throws {
    let text = try Folder().run("--experimental-dump-help").output
    let description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
    let commands = description.command.leaves().filter { $0.name != "help" }
    let listed = try Self.listed()
    #expect(commands.count >= 20)
    #expect(Set(commands.map(\.name)) == Set(listed.keys))
    for (name, command) in commands {
      #expect(listed[name] == command.options, "\(name)")
    }
  }

  @Test("The list of variables that must not be empty is complete")
  func emptyVariables() throws {
    let section = try #require(
      Self.page().components(separatedBy: "### Empty variables\n").last?
        .components(separatedBy: "These variables must not be empty:").last?
        .components(separatedBy: "\nAn empty variable of any other").first)
    let listed = section.matches(of: /`(LIVEFETCH_[A-Z_]+)`/).map { String($0.1) }
    let refused = Setting.all.filter(\.isNeverEmpty).map(\.variable) + ["LIVEFETCH_CONFIG"]
    #expect(listed.sorted() == refused.sorted())
  }
}
