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
    let discussion: String?
    let arguments: [Argument]?
    let subcommands: [Command]?

    /// The commands without subcommands, with their words after `livefetch`.
    func leaves(_ words: [String] = []) -> [(name: String, command: Command)] {
      guard let subcommands else { return [(words.joined(separator: " "), self)] }
      return subcommands.flatMap { $0.leaves(words + [$0.commandName]) }
    }

    /// Every option.
    var allOptions: Set<String> {
      let names = (arguments ?? []).flatMap { $0.names ?? [] }
      return Set(names.map { ($0.kind == "short" ? "-" : "--") + $0.name })
    }

    /// The options without those of every command and, of a command that takes settings, these.
    var options: Set<String> {
      let takesSettings = ["serve", "demo", "config"].contains(commandName)
      let settings =
        takesSettings ? Setting.all.flatMap { ["--" + $0.name, "--no-" + $0.name] } : []
      return allOptions.subtracting(settings + ["--version", "--help", "-h"])
    }
  }

  private static func commands() throws -> [String: Command] {
    let text = try Folder().run("--experimental-dump-help").output
    let description = try JSONDecoder().decode(Description.self, from: Data(text.utf8))
    return Dictionary(uniqueKeysWithValues: description.command.leaves()).filter {
      $0.key != "help"
    }
  }

  private static func page(_ path: String = "Public/docs/cli.md") throws -> String {
    try ManualPage(path).text
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
    let commands = try Self.commands()
    let listed = try Self.listed()
    #expect(commands.count >= 20)
    #expect(Set(commands.keys) == Set(listed.keys))
    for (name, command) in commands {
      #expect(listed[name] == command.options, "\(name)")
    }
  }

  @Test("The help of every command has examples")
  func examples() throws {
    for (name, command) in try Self.commands() {
      let help = command.discussion ?? ""
      #expect(help.contains("EXAMPLES\n  livefetch \(name)"), "\(name): \(help)")
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

  @Test("The list of settings that SIGHUP reads again is complete")
  func reloadedSettings() throws {
    let section = try #require(
      Self.page("Public/docs/operations.md")
        .components(separatedBy: "### Settings that are read again\n").last?
        .components(separatedBy: "\n- Read again: ").last?
        .components(separatedBy: "; also a file").first)
    let listed = section.matches(of: /`([a-z-]+)`/).map { String($0.1) }
    #expect(listed.sorted() == Setting.reloaded.map(\.name).sorted())
  }

  // MARK: Commands

  /// The `sh` blocks of the README and the manual, with the name of their page.
  private static func shellBlocks() throws -> [(page: String, text: String)] {
    try ManualPage.all().flatMap { page in
      page.blocks.filter { $0.language == "sh" }.map { (page.name, $0.text) }
    }
  }

  /// The commands within sentences. The changelog may name those of earlier versions.
  private static func inlineCommands() throws -> [(page: String, text: String)] {
    try ManualPage.all().filter { $0.name != "CHANGELOG.md" }.flatMap { page in
      page.text.matches(of: /`(livefetch [^`]+)`/)
        .map { (page.name, String($0.1).replacing("\n", with: " ")) }
    }
  }

  @Test("Every shell block is valid")
  func shellBlocks() throws {
    let blocks = try Self.shellBlocks()
    #expect(blocks.count >= 20)
    for (page, text) in blocks {
      let shell = Process()
      shell.executableURL = URL(fileURLWithPath: "/bin/bash")
      shell.arguments = ["-n", "-c", text]
      try shell.run()
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0, "\(page): \(text)")
    }
  }

  @Test("Every command in a shell block or a sentence exists and has the options that it is given")
  func commandUses() throws {
    let commands = try Self.commands()
    var uses = 0
    for (page, text) in try Self.shellBlocks() + Self.inlineCommands() {
      for use in text.replacing("\\\n", with: "").matches(
        of: /livefetch +(?!livefetch)([a-z]+)( [a-z]+)?([^|;\n]*)/)
      {
        let words = String(use.1) + (use.2.map(String.init) ?? "")
        let command = commands[words] ?? commands[String(use.1)]
        let options = use.3.matches(of: /\s(--[a-z][a-z-]*)/).map { String($0.1) }
        uses += 1
        #expect(command != nil, "\(page): \(use.0)")
        #expect(command?.allOptions.isSuperset(of: options) != false, "\(page): \(use.0)")
      }
    }
    #expect(uses >= 80)
  }
}
