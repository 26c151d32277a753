// Services over empty files with the sample models.

import FetchModel
import Foundation
import SQLiteStore

/// The sample models, as the command serves them.
enum SampleModel {
  static func named(_ name: String) throws -> ModelFile {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/LiveFetchCommand/Resources/models")
    let data = try Data(contentsOf: folder.appendingPathComponent("\(name).json"))
    return try ModelFile(parsing: [UInt8](data))
  }

  /// An empty file served with a sample model.
  static func served(_ name: String, sql: String = "") throws -> ServedFile {
    try served(named(name), sql: sql)
  }

  static func served(_ model: ModelFile, sql: String = "") throws -> ServedFile {
    var options = SQLiteStoreOptions()
    options.model = model
    return try ServedFile(sql, options: options)
  }

  static func served(text: String, sql: String = "") throws -> ServedFile {
    try served(ModelFile(parsing: Array(text.utf8)), sql: sql)
  }
}

extension ServedFile {
  /// Inserts an object and returns its id; a failure contains the response.
  func insert(_ entity: String, _ values: String) throws -> Int64 {
    let answer = try ask("POST", "/v1/objects/\(entity)", body: values)
    guard answer.status == 201, let id = answer.json["id"]?.integer else {
      throw Refused(text: answer.text)
    }
    return id
  }

  struct Refused: Error { let text: String }
}
