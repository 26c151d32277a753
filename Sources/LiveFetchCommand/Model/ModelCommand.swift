// `livefetch model import|show|check|diff|export`

import ArgumentParser
import CoreDataModels
import FetchModel
import Foundation
import SQLiteStore

struct ModelCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Read, check and compare models.",
    discussion: """
      A MODEL is a JSON file, an .xcdatamodeld or .xcdatamodel, or a store. For a store it is the
      stored model, or for a file without one the model that its tables imply.

      EXAMPLES
        livefetch model import Shop.xcdatamodeld > shop.json
        livefetch model check shop.json shop.sqlite
        livefetch model diff shop.sqlite shop.json
        livefetch model diff postgres://host/shop shop.json
      """,
    subcommands: [Import.self, Show.self, Check.self, Diff.self, Export.self])

  struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print a Core Data model as JSON, and unsupported parts to standard error.",
      discussion: """
        EXAMPLES
          livefetch model import Shop.xcdatamodeld > shop.json
        """)

    @Argument(help: "The .xcdatamodeld or .xcdatamodel.") var path: String

    func run() throws {
      let read = try CoreDataModel(atPath: path)
      for remark in read.remarks {
        printError("\(path): \(remark)")
      }
      try Terminal.output.put(read.model.text)
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the entities and properties of a model.",
      discussion: """
        EXAMPLES
          livefetch model show shop.sqlite
        """)

    @Argument(help: "The MODEL: a JSON file, a Core Data model or a store.") var path: String

    func run() throws { print(try ModelFile(anyFormatAtPath: path, reportsRemarks: true).outline) }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check a model, and the tables of a store against it.",
      discussion: """
        EXAMPLES
          livefetch model check shop.json
          livefetch model check shop.json shop.sqlite
        """)

    @Argument(help: "The MODEL: a JSON file, a Core Data model or a store.") var path: String
    @Argument(help: "The SQLite file.") var store: String?

    func run() throws {
      let model = try ModelFile(anyFormatAtPath: path)
      try check(model)
      guard let store else { return print("\(StoreLocation(path).name): it has no errors") }
      try requireFile(store)
      let mismatches = try reportingErrors(of: store) {
        try SQLiteStore.mismatches(path: store, with: model)
      }
      guard mismatches.isEmpty else {
        let lines = mismatches.map { "\(store): \($0)" }
        throw failure(lines.joined(separator: "\n"), .unusableStore)
      }
      print("\(store): its tables match the model")
    }

    /// Ends the command if no new store can have the model, or if a fetch template fails whatever
    /// values a request gives.
    private func check(_ file: ModelFile) throws {
      guard store == nil || !file.fetchTemplates.isEmpty else { return }
      let name = StoreLocation(path).name
      let model = try reportingErrors(of: name) { try SQLiteStore.model(ofNewFileFor: file) }
      let problems = FetchResolver(model: model, maxItems: 1).templateProblems
      guard problems.isEmpty else { throw ModelFileError(problems).failure(name) }
    }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the differences between two versions of a model.",
      discussion: """
        EXAMPLES
          livefetch model diff shop.sqlite shop-2.json
        """)

    @Argument(help: "The old version.") var old: String
    @Argument(help: "The new version.") var new: String

    func run() throws {
      let difference = ModelDifference(
        from: try ModelFile(anyFormatAtPath: old), to: try ModelFile(anyFormatAtPath: new))
      if !difference.changes.isEmpty { print(difference) }
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the model of a store, or any other model, as JSON.",
      discussion: """
        For a file without a model, prints the one that its tables imply. Parts that the output
        format cannot express are listed on standard error.

        EXAMPLES
          livefetch model export shop.sqlite > shop.json
          livefetch model export shop.json --output Shop.xcdatamodeld
        """)

    @Argument(help: "The MODEL: a JSON file, a Core Data model or a store.") var path: String
    @Option(help: "The new file to write: X.json, or X.xcdatamodeld.")
    var output: String?

    func validate() throws {
      guard let output, case .file(let path) = ModelPath(output), !path.hasSuffix(".json") else {
        return
      }
      throw ValidationError("--output takes X.json, X.xcdatamodeld or X.xcdatamodel.")
    }

    func run() throws {
      let model = try ModelFile(anyFormatAtPath: path, reportsRemarks: true)
      guard let output else { return try Terminal.output.put(model.text) }
      guard !FileManager.default.fileExists(atPath: output) else {
        throw failure("\(output): already exists and would be overwritten", .unusableStore)
      }
      do {
        switch ModelPath(output) {
        case .file(let path): try Data(model.text).write(to: URL(fileURLWithPath: path))
        case .bundle(let bundle):
          try write(CoreDataContents(model), to: URL(fileURLWithPath: bundle, isDirectory: true))
        case .versionedBundle(let bundle):
          try write(CoreDataContents(model), toVersion: URL(fileURLWithPath: bundle))
        }
      } catch let error as CocoaError {
        throw failure("\(output): cannot be written: \(error.localizedDescription)", .failed)
      }
    }

    /// Writes a versioned bundle with one version, which has the bundle's name.
    private func write(_ contents: CoreDataContents, toVersion bundle: URL) throws {
      let version = bundle.deletingPathExtension().lastPathComponent + ".xcdatamodel"
      let list = try PropertyListSerialization.data(
        fromPropertyList: ["_XCCurrentVersionName": version], format: .xml, options: 0)
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      try list.write(to: bundle.appendingPathComponent(".xccurrentversion"))
      try write(contents, to: bundle.appendingPathComponent(version, isDirectory: true))
    }

    private func write(_ contents: CoreDataContents, to bundle: URL) throws {
      for remark in contents.remarks { printError("\(StoreLocation(path).name): \(remark)") }
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      try Data(contents.text).write(to: bundle.appendingPathComponent("contents"))
    }
  }
}

extension ModelFile {
  /// The entities and their properties, one per line.
  fileprivate var outline: String {
    entities.flatMap { entity in
      [entity.summary] + entity.attributes.map { "  \($0.name): \($0.summary)" }
        + entity.relationships.map { "  \($0.name) → \($0.summary)" }
    }.joined(separator: "\n")
  }
}

extension ModelFile.Entity {
  fileprivate var summary: String {
    name + (parent.map { " : \($0)" } ?? "") + (isAbstract ? " (abstract)" : "")
  }
}

extension ModelFile.Attribute {
  fileprivate var summary: String {
    type.rawValue + (isOptional ? "?" : "") + (className.map { " of \($0)" } ?? "")
      + (derivation.map { " = \($0.text)" } ?? "") + (isTransient ? " (transient)" : "")
  }
}

extension ModelFile.Relationship {
  fileprivate var summary: String {
    destination + (isToMany ? (isOrdered ? " (many, ordered)" : " (many)") : isOptional ? "?" : "")
      + (inverse.map { ", inverse \($0)" } ?? "") + ", \(deleteRule.rawValue)"
  }
}
