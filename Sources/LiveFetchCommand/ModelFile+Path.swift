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
  guard !text.isEmpty else { throw failure("\(path): is empty", .unusableStore) }
  do throws(ModelFileError) {
    return try parse(text)
  } catch {
    throw error.failure(path)
  }
}

/// Returns the bytes of a file or a pipe. Ends the command if it does not exist or cannot be read.
func contents(ofFile path: String) throws -> [UInt8] {
  try requireFile(path)
  let file = FileHandle(forReadingAtPath: path)
  defer { try? file?.close() }
  return try contents(of: file, path)
}

/// Returns the bytes up to the end of a file. Ends the command if it is nil or cannot be read.
func contents(of file: FileHandle?, _ name: String) throws -> [UInt8] {
  do {
    if let file { return [UInt8](try file.readToEnd() ?? Data()) }
  } catch {}
  throw failure("\(name): cannot be read", .noInput)
}

extension ModelFileError {
  /// Prints each problem after the file's name.
  func failure(_ path: String) -> ExitCode {
    refuse(problems.map { "\(path): \($0)" }.joined(separator: "\n"), .unusableStore)
  }
}
