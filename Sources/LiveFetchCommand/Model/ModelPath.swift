// The MODEL argument of a command → the model there.

import ArgumentParser
import CoreDataModels
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore

/// A path of a model, with the format that its extension names.
enum ModelPath {
  /// A JSON file or a store.
  case file(String)
  /// An `.xcdatamodel`.
  case bundle(String)
  /// An `.xcdatamodeld`: a directory of `.xcdatamodel`s.
  case versionedBundle(String)

  /// - Parameter path: A bundle's path may end with slashes, as a shell completes it.
  init(_ path: String) {
    var trimmed = path
    while trimmed.last == "/" { trimmed.removeLast() }
    if trimmed.hasSuffix(".xcdatamodeld") {
      self = .versionedBundle(trimmed)
    } else if trimmed.hasSuffix(".xcdatamodel") {
      self = .bundle(trimmed)
    } else {
      self = .file(path)
    }
  }
}

extension ModelFile {
  /// Reads a JSON file, a Core Data model, or the model of a file or a database.
  ///
  /// - Parameter reportsRemarks: True to print everything that was left out to standard error.
  init(anyFormatAtPath path: String, reportsRemarks: Bool = false) throws {
    let (model, remarks) = try Self.read(path)
    if reportsRemarks { for remark in remarks { printError("\(path): \(remark)") } }
    self = model
  }

  private static func read(_ path: String) throws -> (ModelFile, remarks: [ModelFileProblem]) {
    if let target = DatabaseTarget(path) { return (try stored(in: target), []) }
    guard case .file = ModelPath(path) else {
      let read = try CoreDataModel(atPath: path)
      return (read.model, read.remarks)
    }
    try requireFile(path)
    guard isStore(path) else { return (try ModelFile(atPath: path), []) }
    return try reportingErrors(of: path) {
      if let model = try SQLiteStore.storedModel(path: path) { return (model, []) }
      let inferred = try SQLiteStore.inferredModel(path: path)
      return (inferred.model, inferred.remarks)
    }
  }

  private static func stored(in target: DatabaseTarget) throws -> ModelFile {
    let stored = try reportingErrors(of: target.name) { try PostgresStore.storedModel(target.text) }
    guard let stored else {
      throw failure(
        "\(target.name): the database contains no model; `serve --model` stores one", .unusableStore
      )
    }
    return stored
  }
}

extension CoreDataModel {
  /// Reads a model bundle, the current version of a versioned one.
  init(atPath path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else {
      throw failure("\(path): there is no such model", .noInput)
    }
    if case .file = ModelPath(path), !FileManager.default.fileExists(atPath: path + "/contents") {
      throw failure("\(path): is not a Core Data model", .unusableStore)
    }
    let folder =
      switch ModelPath(path) {
      case .versionedBundle(let path): try Self.currentVersion(of: path)
      case .bundle(let path), .file(let path): path
      }
    let text = try contents(ofFile: folder + "/contents")
    do throws(ModelFileError) {
      try self.init(contents: text)
    } catch {
      throw error.failure(folder + "/contents")
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
    guard versions.count < 2 else {
      throw failure(
        "\(bundle): \(versions.count) versions, and none is marked as the current one",
        .unusableStore)
    }
    guard let version = versions.first else {
      throw failure("\(bundle): contains no .xcdatamodel", .unusableStore)
    }
    return "\(bundle)/\(version)"
  }
}
