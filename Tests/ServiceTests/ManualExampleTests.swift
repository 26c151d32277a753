// The blocks of the README and the manual that the console sessions of ManualTests do not run.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("The shell and JSON blocks of the README and the manual", .mayBlock)
struct ManualExampleTests {
  private static let examples =
    ShellExample.commands + ShellExample.waiting + ShellExample.answers + ShellExample.messages
    + ShellExample.configurations + ShellExample.deployments

  @Test("Every shell block does what the manual says", arguments: examples)
  func example(_ example: ShellExample) throws {
    let printed = try example.difference(sample: ManualTests.sampleFile())
    #expect(printed == nil, "\(example.page): \(example.start)")
  }

  /// The languages whose blocks other tests run: ManualTests, ManualSwiftTests, and the scenarios of
  /// Tests/Browser/manual-scenarios.mjs. Each of them has all blocks of its languages.
  private static let otherLanguages = ["console", "swift", "js", "jsx"]

  @Test("Every other block is run or compared, or there is a reason why not")
  func complete() throws {
    let listed =
      Self.examples.map { ($0.page, $0.start) } + ShellExample.others.map { ($0.page, $0.start) }
    var found: [String: Int] = [:]
    for page in try ManualPage.all() {
      for block in page.blocks where !Self.otherLanguages.contains(block.language) {
        let uses = listed.filter { $0.0 == page.name && block.text.hasPrefix($0.1) }
        #expect(uses.count == 1, "\(page.name): \(block.text)")
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
      let isRun = ManualTests.consolePages.contains { $0.0.hasSuffix(page.name) }
      #expect(isRun, "\(page.name)")
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
      .map(\.text).filter { $0.hasPrefix("{\"entities\"") }
    #expect(texts.count == 5)
    for text in texts {
      let declaration = try AccessDeclaration(parsing: Array(text.utf8))
      #expect(throws: Never.self, "\(text)") { try AccessRules(declaration, model: Self.model) }
    }
  }
}
