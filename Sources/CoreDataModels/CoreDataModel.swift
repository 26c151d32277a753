// The `contents` of an `.xcdatamodel` → a model, and a report of everything that is unsupported or
// has no meaning here. Nothing is dropped without a report.

import FetchModel

/// A model read from Core Data's file format.
public struct CoreDataModel: Sendable {
  /// The model, checked.
  public let model: ModelFile
  /// Everything that was left out or changed, each with its location.
  public let remarks: [ModelFileProblem]

  /// Reads the text of a `contents` file. O(length).
  ///
  /// - Throws: Every problem, if the text is not a valid model.
  public init(contents text: [UInt8]) throws(ModelFileError) {
    let root: XMLElement
    do {
      root = try XMLElement.parse(text)
    } catch {
      throw ModelFileError([ModelFileProblem("line \(error.line)", error.reason)])
    }
    guard root.name == "model" else {
      throw ModelFileError([ModelFileProblem("", "the root is `\(root.name)`, not `model`")])
    }
    var reader = CoreDataReader(root)
    let read = reader.model(root)
    // Checks the model by the rules of LiveFetch's own files.
    model = try ModelFile(read.json)
    remarks = reader.remarks
  }
}
