// A path → the model in the file there.

import FetchModel
import Foundation

extension ModelFile {
  /// Reads the model at `path`; what is wrong with it is told with the file's name in front.
  init(atPath path: String) throws {
    try requireFile(path)
    guard let data = FileManager.default.contents(atPath: path) else {
      throw failure("\(path): cannot be read", .noInput)
    }
    do throws(ModelFileError) {
      try self.init(parsing: [UInt8](data))
    } catch {
      let lines = error.problems.map { "\(path): \($0)" }
      throw failure(lines.joined(separator: "\n"), .unusableStore)
    }
  }
}
