// A path → the bytes or the model in the file there.

import ArgumentParser
import FetchModel
import Foundation

extension ModelFile {
  /// Reads the model at `path`. Its errors are printed after the file's name.
  init(atPath path: String) throws {
    self = try parsed(path) { text throws(ModelFileError) in try ModelFile(parsing: text) }
  }
}

/// Parses the bytes of a file. Errors are printed after the file's name.
func parsed<Result>(
  _ path: String, _ parse: ([UInt8]) throws(ModelFileError) -> Result
) throws -> Result {
  let text = try contents(ofFile: path)
  do throws(ModelFileError) {
    return try parse(text)
  } catch {
    throw error.failure(path)
  }
}

/// Returns the bytes of a file. Ends the command if it does not exist or cannot be read.
func contents(ofFile path: String) throws -> [UInt8] {
  try requireFile(path)
  guard let data = FileManager.default.contents(atPath: path) else {
    throw failure("\(path): cannot be read", .noInput)
  }
  return [UInt8](data)
}

extension ModelFileError {
  /// Prints each problem after the file's name.
  func failure(_ path: String) -> ExitCode {
    refuse(problems.map { "\(path): \($0)" }.joined(separator: "\n"), .unusableStore)
  }
}
