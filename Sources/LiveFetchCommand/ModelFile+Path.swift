// A path → the model in the file there.

import ArgumentParser
import FetchModel
import Foundation

extension ModelFile {
  /// Reads the model at `path`. Its errors are printed after the file's name.
  init(atPath path: String) throws {
    try requireFile(path)
    guard let data = FileManager.default.contents(atPath: path) else {
      throw failure("\(path): cannot be read", .noInput)
    }
    do throws(ModelFileError) {
      try self.init(parsing: [UInt8](data))
    } catch {
      throw error.failure(path)
    }
  }
}

extension ModelFileError {
  /// Says each problem with the name of the file that it is in.
  func failure(_ path: String) -> ExitCode {
    refuse(problems.map { "\(path): \($0)" }.joined(separator: "\n"), .unusableStore)
  }
}
