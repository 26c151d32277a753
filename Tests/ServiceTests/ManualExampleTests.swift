// The blocks of the README and the manual that the console sessions of ManualTests do not run.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("The shell and JSON blocks of the README and the manual", .mayBlock)
struct ManualExampleTests {
  private static let examples =
    ShellExample.commands + ShellExample.waiting + ShellExample.answers

  @Test("Every shell block does what the manual says", arguments: examples)
  func example(_ example: ShellExample) throws {
    let printed = try example.difference(sample: ManualTests.sampleFile())
    #expect(printed == nil, "\(example.page): \(example.start)")
  }

  /// True for a block of commands, of JSON, or of text with JSON in it.
  private func isChecked(_ block: ManualPage.Block) -> Bool {
    switch block.language {
    case "sh", "json", "http": true
    case "text", "": block.lines.contains { $0.contains("{\"") }
    default: false
    }
  }

  @Test("Every shell and JSON block is run or compared, or there is a reason why not")
  func complete() throws {
    let listed =
      Self.examples.map { ($0.page, $0.start) } + ShellExample.others.map { ($0.page, $0.start) }
    var found: [String: Int] = [:]
    for page in try ManualPage.all() {
      let name = page.url.lastPathComponent
      for block in page.blocks where isChecked(block) {
        let text = block.lines.joined(separator: "\n")
        let uses = listed.filter { $0.0 == name && text.hasPrefix($0.1) }
        #expect(uses.count == 1, "\(name): \(text)")
        for use in uses { found["\(use.0) \(use.1)", default: 0] += 1 }
      }
    }
    for (page, start) in listed {
      #expect(found["\(page) \(start)"] == 1, "\(page): \(start)")
    }
    #expect(ShellExample.others.allSatisfy { !$0.reason.isEmpty })
  }

  @Test("Every page with console blocks is run")
  func consolePages() throws {
    for page in try ManualPage.all() where page.blocks.contains(where: { $0.language == "console" })
    {
      let isRun = ManualTests.consolePages.contains { $0.0.hasSuffix(page.url.lastPathComponent) }
      #expect(isRun, "\(page.url.lastPathComponent)")
    }
  }

  /// People, teams, notes and articles as the rules of the page name them.
  private static let model = Model(entities: [
    Entity(
      name: "Person",
      attributes: [
        Attribute(name: "salary", type: .double), Attribute(name: "hiredAt", type: .date),
      ], relationships: [], idType: .integer),
    Entity(
      name: "Team", attributes: [],
      relationships: [
        Relationship(name: "lead", destination: 0, isToMany: false),
        Relationship(name: "members", destination: 0, isToMany: true),
      ], idType: .integer),
    Entity(
      name: "Note",
      attributes: [
        Attribute(name: "salary", type: .double), Attribute(name: "createdAt", type: .date),
      ],
      relationships: [
        Relationship(name: "owner", destination: 0, isToMany: false),
        Relationship(name: "team", destination: 1, isToMany: false),
        Relationship(name: "sharedWith", destination: 0, isToMany: true),
      ], idType: .integer),
    Entity(
      name: "Article", attributes: [Attribute(name: "published", type: .boolean)],
      relationships: [Relationship(name: "author", destination: 0, isToMany: false)],
      idType: .integer),
  ])

  @Test("Every example of access rules fits a model with its names")
  func accessRules() throws {
    let texts = try ManualPage("Public/docs/access.md").blocks.filter { $0.language == "json" }
      .map { $0.lines.joined(separator: "\n") }.filter { $0.hasPrefix("{\"entities\"") }
    #expect(texts.count == 5)
    for text in texts {
      let declaration = try AccessDeclaration(parsing: Array(text.utf8))
      #expect(throws: Never.self, "\(text)") { try AccessRules(declaration, model: Self.model) }
    }
  }
}
