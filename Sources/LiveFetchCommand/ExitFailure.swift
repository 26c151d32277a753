// How a command ends that could not do its work: one line on standard error, and a status.

import ArgumentParser
import Foundation

/// The exit statuses beside 0 and the argument parser's 64.
enum ExitStatus: Int32 {
  /// The store cannot be used: no database, damaged, of a newer format, held by another server.
  case unusableStore = 65
  /// A file is not there.
  case noInput = 66
  /// The address cannot be listened on.
  case cannotListen = 69
  /// Reading or writing failed.
  case failed = 74
}

/// Prints `message` and ends the command with `status`.
func failure(_ message: String, _ status: ExitStatus) -> ExitCode {
  FileHandle.standardError.write(Data("livefetch: \(message)\n".utf8))
  return ExitCode(status.rawValue)
}
