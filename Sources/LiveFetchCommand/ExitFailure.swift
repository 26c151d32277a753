// How a command ends that could not do its work: lines on standard error, and a status.

import ArgumentParser
import Foundation

/// The exit statuses beside 0.
enum ExitStatus: Int32 {
  /// Wrong arguments, environment or configuration; a name or predicate that the model refuses.
  case usage = 64
  /// The data or the store: bad rows, a refused save, damage; no database, or one that is served.
  case unusableStore = 65
  /// A file is not there.
  case noInput = 66
  /// The address cannot be listened on, or the server not be reached.
  case cannotListen = 69
  /// Reading or writing failed.
  case failed = 74
}

/// Prints `message` and ends the command with `status`.
func failure(_ message: String, _ status: ExitStatus) -> ExitCode {
  note(message)
  return ExitCode(status.rawValue)
}

/// Prints a line for the person at the terminal, apart from the command's output.
func note(_ message: String) {
  FileHandle.standardError.write(Data("livefetch: \(message)\n".utf8))
}

/// The same under a name that a type's own `failure` does not hide.
func refuse(_ message: String, _ status: ExitStatus) -> ExitCode { failure(message, status) }
