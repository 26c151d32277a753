// `livefetch access check`: a store and its access rules → whether the rules fit, before a server
// uses them.

import ArgumentParser
import FetchModel
import Foundation

/// `livefetch access`
struct AccessCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access", abstract: "Check access rules.", subcommands: [Check.self])

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check the access rules of a store and list them.",
      discussion: """
        EXAMPLES
          livefetch access check notes.sqlite
          livefetch access check notes.sqlite --access rules.json
          livefetch access check postgres://host/notes --access rules.json
        """)

    @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.", completion: .file())
    var store: String

    @Option(
      help: "A file of access rules; without it those of the store's model.",
      completion: .file(extensions: ["json"]))
    var access: String?

    func run() throws {
      let location = StoreLocation(store)
      try location.check()
      let given = try access.map { try AccessDeclaration(atPath: $0) }
      let model = try location.model()
      guard let declaration = given ?? model.file.flatMap({ AccessDeclaration($0) }) else {
        return print(
          "\(location.name): no access rules; every caller may read and change everything")
      }
      try declaration.checked(model, file: access ?? location.name)
      for line in declaration.lines(model) { print(line) }
    }
  }
}

extension AccessDeclaration {
  /// Reads the rules at `path`; problems are reported with the file's name in front.
  init(atPath path: String) throws {
    self = try parsed(path) { text throws(ModelFileError) in try AccessDeclaration(parsing: text) }
  }

  /// Returns the rules; ends the command if they do not fit the model.
  @discardableResult
  func checked(_ model: Model, file: String) throws -> AccessRules {
    do throws(ModelFileError) {
      return try AccessRules(self, model: model)
    } catch {
      throw error.failure(file)
    }
  }

  /// One line for each entity and action, then one for each attribute with a rule.
  fileprivate func lines(_ model: Model) -> [String] {
    let isOpen = allowsByDefault ?? !entities.values.contains { !$0.rules.isEmpty }
    return model.entities.flatMap { entity in
      let declared = entities[entity.name] ?? Entity()
      let root = entity.inheritance.root.map { model.entities[$0].name } ?? entity.name
      let rules = entities[root]?.rules ?? [:]
      return AccessAction.allCases.map { action in
        "\(entity.name) \(action.rawValue): \(rules[action]?.text ?? "\(isOpen)")"
      }
        + declared.hidden.sorted { $0.key < $1.key }.map {
          "\(entity.name).\($0.key) hidden: \($0.value.text)"
        }
        + declared.readOnly.sorted { $0.key < $1.key }.map {
          "\(entity.name).\($0.key) readOnly: \($0.value.text)"
        }
    }
  }
}

extension AccessRule {
  fileprivate var text: String {
    switch self {
    case .constant(let allows): "\(allows)"
    case .predicate(let text): text
    }
  }
}
