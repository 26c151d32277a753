// Migrations that would lose or convert values.

import FetchModel
import SQLiteStore
import TestSupport
import Testing

/// A migration that would lose or convert values lists them in its plan and is refused.
@Suite("Losses of migrations", .mayBlock)
struct MigrationLossTests {
  /// Returns the refusals and losses of migrating a file with `saved` objects; they are the same
  /// in a dry run and in a real run.
  private func objections(
    from first: String, to second: String, _ saved: [(entity: String, values: String)]
  ) throws -> [String] {
    let file = try SampleModel.served(text: first)
    for object in saved { _ = try file.insert(object.entity, object.values) }
    file.stop()
    let model = try ModelFile(parsing: Array(second.utf8))
    var options = MigrationOptions()
    options.isDryRun = true
    let plan = try file.migrate(to: model, options: options)
    let reported = plan.refusals + plan.losses.map { "would lose \($0)" }
    do {
      _ = try file.migrate(to: model)
      return reported
    } catch {
      #expect(error == .unusable(reported.joined(separator: "\n")))
      return reported
    }
  }

  private static let motto = #"{"name":"motto","type":"String"}"#
  private static let friend = #"{"name":"friend","destination":"Human"}"#

  private static func humans(
    human: String = "", links: String = "", hero: String = "", heroLinks: String = ""
  ) -> String {
    """
    {"entities":[{"name":"Human","attributes":[\(human)],"relationships":[\(links)]},
    {"name":"Hero","parent":"Human","attributes":[\(hero)],"relationships":[\(heroLinks)]},
    {"name":"Villain","parent":"Human"}]}
    """
  }

  @Test("A property that moves to one subentity is lost for the others")
  func movedDown() throws {
    #expect(
      try objections(
        from: Self.humans(human: Self.motto), to: Self.humans(hero: Self.motto),
        [("Hero", #"{"motto":"h"}"#), ("Villain", #"{"motto":"v"}"#)])
        == ["would lose the values of Villain.motto (1)"])
    #expect(
      try objections(
        from: Self.humans(links: Self.friend), to: Self.humans(heroLinks: Self.friend),
        [("Hero", "{}"), ("Villain", #"{"friend":1}"#), ("Hero", #"{"friend":1}"#)])
        == ["would lose the links of Villain.friend (1)"])
    #expect(
      try objections(
        from: Self.humans(human: Self.motto), to: Self.humans(hero: Self.motto),
        [("Hero", #"{"motto":"h"}"#), ("Villain", "{}")]) == [])
  }

  @Test("An inherited property is lost with its ancestor if no entity declares it")
  func removedAncestor() throws {
    #expect(
      try objections(
        from: Self.humans(human: Self.motto),
        to: #"{"entities":[{"name":"Hero","attributes":[\#(Self.motto)]},{"name":"Villain"}]}"#,
        [("Hero", #"{"motto":"h"}"#), ("Villain", #"{"motto":"v"}"#)])
        == ["would lose the values of Villain.motto (1)"])
  }

  @Test("An entity with objects of its own cannot become abstract")
  func becomesAbstract() throws {
    let abstract = Self.humans().replacing(
      #""name":"Human","attr"#, with: #""name":"Human","abstract":true,"attr"#)
    #expect(
      try objections(from: Self.humans(), to: abstract, [("Human", "{}"), ("Hero", "{}")])
        == ["Human is abstract now, and 1 objects of it are there"])
    #expect(try objections(from: Self.humans(), to: abstract, [("Hero", "{}")]) == [])
  }

  private static func link(to destination: String, more: String = "") -> String {
    """
    {"entities":[{"name":"A","relationships":[{"name":"to","destination":"\(destination)"\(more)}]},
    {"name":"B"},{"name":"C"},{"name":"P"},{"name":"Q","parent":"P"},{"name":"R","parent":"P"}]}
    """
  }

  @Test("A relationship always refers to the same objects as before")
  func otherDestination() throws {
    #expect(
      try objections(
        from: Self.link(to: "B"), to: Self.link(to: "C"),
        [("B", "{}"), ("C", "{}"), ("A", #"{"to":1}"#)])
        == ["A.to refers to 1 objects that are not of entity C in this version"])
    #expect(
      try objections(
        from: Self.link(to: "P"), to: Self.link(to: "Q"), [("R", "{}"), ("A", #"{"to":1}"#)])
        == ["A.to refers to 1 objects that are not of entity Q in this version"])
    #expect(
      try objections(
        from: Self.link(to: "P"), to: Self.link(to: "Q"), [("Q", "{}"), ("A", #"{"to":1}"#)])
        == [])
    #expect(
      try objections(
        from: Self.link(to: "B"), to: Self.link(to: "B", more: #","optional":false"#),
        [("B", "{}"), ("A", #"{"to":1}"#), ("A", "{}")])
        == ["A.to is not optional, and 1 objects have none"])
    #expect(
      try objections(
        from: Self.link(to: "P"),
        to: Self.link(to: "P").replacing(#",{"name":"R","parent":"P"}"#, with: ""),
        [("R", "{}"), ("A", #"{"to":1}"#)])
        == [
          "A.to refers to 1 objects that are not of entity P in this version",
          "would lose every object of R (1)",
        ])
  }

  @Test("A default that would violate a uniqueness constraint is refused in advance")
  func repeatedDefaults() throws {
    let plain = #"{"entities":[{"name":"A","attributes":[{"name":"x","type":"String"}]}]}"#
    let unique = #""uniquenessConstraints":[["y"]]"#
    #expect(
      try objections(
        from: plain,
        to: """
          {"entities":[{"name":"A","attributes":[{"name":"x","type":"String"},
          {"name":"y","type":"Integer 16","default":1}],\(unique)}]}
          """, [("A", "{}"), ("A", "{}")])
        == ["A.y has to be unique, and 1 values occur more than once"])
  }
}
