// A failed command: lines on standard error, and an exit status.

import ArgumentParser
import Foundation

/// The exit statuses other than 0.
enum ExitStatus: Int32 {
  /// Wrong arguments, environment or configuration; a name or predicate that the model refuses.
  case usage = 64
  /// The data or the store: bad rows, a refused save, damage; no database, or one that is served.
  case unusableStore = 65
  /// A file is not there, or may not be read.
  case noInput = 66
  /// The address cannot be listened on, or the server cannot be reached.
  case unavailable = 69
  /// Reading or writing failed.
  case failed = 74
}

/// Prints `message`. Returns the error that ends the command with `status`.
func failure(_ message: String, _ status: ExitStatus) -> ExitCode {
  printError(message)
  return ExitCode(status.rawValue)
}

/// Prints a message on standard error. While a server runs, it does not block if standard error is not
/// read.
func printError(_ message: String) {
  let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
  FetchScreen.hide()
  let text = "livefetch: " + lines.map { String($0).onOneLine }.joined(separator: "\n")
  if Server.isRunning.load(ordering: .relaxed) {
    LogOutput.errors.write(Array(text.utf8))
  } else {
    Terminal.errors.write(text + "\n")
  }
}

/// Calls ``failure(_:_:)``, for types that have a `failure` of their own, which hides it.
func refuse(_ message: String, _ status: ExitStatus) -> ExitCode { failure(message, status) }

extension String {
  /// The text without a full stop at its end.
  var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
