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
      stored model, or the one that its tables imply.

      EXAMPLES
        livefetch model import Shop.xcdatamodeld > shop.json
        livefetch model check shop.json shop.sqlite
        livefetch model diff shop.sqlite shop.json
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
      try write(read.model.text)
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the entities and properties of a model.",
      discussion: """
        EXAMPLES
          livefetch model show shop.sqlite
        """)

    @Argument(help: "The model.") var path: String

    func run() throws { print(try modelAnywhere(path, reportsRemarks: true).outline) }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check a model, and the tables of a store against it.",
      discussion: """
        EXAMPLES
          livefetch model check shop.json
          livefetch model check shop.json shop.sqlite
        """)

    @Argument(help: "The model.") var path: String
    @Argument(help: "The SQLite file.") var store: String?

    func run() throws {
      let model = try modelAnywhere(path)
      try checkTemplates(of: model)
      guard let store else { return print("\(path): it has no errors") }
      let mismatches = try reportingErrors(of: store) {
        try SQLiteStore.mismatches(path: store, with: model)
      }
      guard mismatches.isEmpty else {
        let lines = mismatches.map { "\(store): \($0)" }
        throw failure(lines.joined(separator: "\n"), .unusableStore)
      }
      print("\(store): its tables match the model")
    }

    /// Ends the command if a fetch template fails whatever values a request gives.
    private func checkTemplates(of file: ModelFile) throws {
      guard !file.fetchTemplates.isEmpty else { return }
      let model = try reportingErrors(of: path) { try SQLiteStore.model(ofNewFileFor: file) }
      let problems = FetchResolver(model: model, maxItems: 1).templateProblems
      guard problems.isEmpty else { throw ModelFileError(problems).failure(path) }
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
      let difference = ModelDifference(from: try modelAnywhere(old), to: try modelAnywhere(new))
      if !difference.changes.isEmpty { print(difference) }
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the model of a store, or any other model, as JSON.",
      discussion: """
        For a store without a model, prints the one that its tables imply. Parts that the output
        format cannot express are listed on standard error.

        EXAMPLES
          livefetch model export shop.sqlite > shop.json
          livefetch model export shop.json --output Shop.xcdatamodeld
        """)

    @Argument(help: "The model.") var path: String
    @Option(help: "The new file to write: X.json, or X.xcdatamodeld.")
    var output: String?

    func run() throws {
      let model = try modelAnywhere(path, reportsRemarks: true)
      guard let output else { return try write(model.text) }
      guard !FileManager.default.fileExists(atPath: output) else {
        throw failure("\(output): already exists and would be overwritten", .unusableStore)
      }
      do {
        if output.hasSuffix(".xcdatamodeld") || output.hasSuffix(".xcdatamodel") {
          try writeBundle(CoreDataContents(model), to: output)
        } else {
          try Data(model.text).write(to: URL(fileURLWithPath: output))
        }
      } catch let error as CocoaError {
        throw failure("\(output): cannot be written (\(error.code.rawValue))", .failed)
      }
    }

    /// Writes a versioned bundle with one version, which has the bundle's name.
    private func writeBundle(_ contents: CoreDataContents, to output: String) throws {
      for remark in contents.remarks { printError("\(path): \(remark)") }
      var folder = URL(fileURLWithPath: output, isDirectory: true)
      if output.hasSuffix(".xcdatamodeld") {
        let version = folder.deletingPathExtension().lastPathComponent + ".xcdatamodel"
        let named = ["_XCCurrentVersionName": version]
        let list = try PropertyListSerialization.data(
          fromPropertyList: named, format: .xml, options: 0)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try list.write(to: folder.appendingPathComponent(".xccurrentversion"))
        folder.appendPathComponent(version, isDirectory: true)
      }
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data(contents.text).write(to: folder.appendingPathComponent("contents"))
    }
  }
}

private func write(_ bytes: [UInt8]) throws { try Terminal.output.put(bytes) }

/// Returns the model of a JSON file, of a Core Data model, or of a store.
///
/// - Parameter reportsRemarks: True to print everything that was left out to standard error.
func modelAnywhere(_ path: String, reportsRemarks: Bool = false) throws -> ModelFile {
  if path.hasSuffix(".xcdatamodeld") || path.hasSuffix(".xcdatamodel") {
    let read = try CoreDataModel(atPath: path)
    if reportsRemarks { for remark in read.remarks { printError("\(path): \(remark)") } }
    return read.model
  }
  try requireFile(path)
  guard let file = FileHandle(forReadingAtPath: path) else {
    throw failure("\(path): cannot be read", .noInput)
  }
  let start = (try? file.read(upToCount: 16)) ?? Data()
  guard start.starts(with: "SQLite format 3".utf8) else { return try ModelFile(atPath: path) }
  return try reportingErrors(of: path) {
    if let model = try SQLiteStore.storedModel(path: path) { return model }
    let inferred = try SQLiteStore.inferredModel(path: path)
    if reportsRemarks { for remark in inferred.remarks { printError("\(path): \(remark)") } }
    return inferred.model
  }
}

extension CoreDataModel {
  /// Reads a model bundle, the current version of a versioned one.
  init(atPath path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else {
      throw failure("\(path): there is no such model", .noInput)
    }
    let folder = try path.hasSuffix(".xcdatamodeld") ? Self.currentVersion(of: path) : path
    guard let data = FileManager.default.contents(atPath: folder + "/contents") else {
      throw failure("\(folder)/contents: there is no such file", .noInput)
    }
    do throws(ModelFileError) {
      try self.init(contents: [UInt8](data))
    } catch {
      throw error.failure(folder)
    }
  }

  /// Returns the version that `.xccurrentversion` names, or the only one.
  private static func currentVersion(of bundle: String) throws -> String {
    if let data = FileManager.default.contents(atPath: bundle + "/.xccurrentversion"),
      let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
      let name = (list as? [String: Any])?["_XCCurrentVersionName"] as? String
    {
      return "\(bundle)/\(name)"
    }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: bundle)) ?? []
    let versions = names.filter { $0.hasSuffix(".xcdatamodel") }
    guard versions.count == 1 else {
      throw failure(
        "\(bundle): \(versions.count) versions, and none is marked as the current one",
        .unusableStore)
    }
    return "\(bundle)/\(versions[0])"
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
