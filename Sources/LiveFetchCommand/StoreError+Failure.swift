// The error of a store → its message on standard error and the exit status of the command.

import ArgumentParser
import FetchModel

extension StoreError {
  /// The reason for users, as a phrase or a sentence without the name of the store.
  var message: String {
    switch self {
    case .unusable(let reason), .damaged(let reason), .inUse(let reason): reason
    case .busy: "another process has it locked"
    case .overloaded: "too much waits already"
    case .shuttingDown: "the store is being closed"
    case .diskFull: "the disk is full"
    case .readOnly: "it is read only, or the user or role lacks a right to it"
    case .schemaChanged(let entity):
      entity.isEmpty ? "its tables have changed" : "the table of \(entity) has changed"
    case .queryTimeout, .tooSlow: "a query took too long"
    case .answerTooLarge(let limit): "an answer has more than \(limit) bytes"
    case .tooManyTables: "a query joins too many tables"
    case .unsupported(let feature): "\(feature) is not available"
    case .storageFailed(let reason), .failed(let reason): reason
    }
  }

  /// Prints the error with the name of the store that it concerns. Returns the error that ends the command.
  func failure(_ name: String) -> ExitCode { refuse("\(name): \(message)", exitStatus) }

  var exitStatus: ExitStatus {
    switch self {
    case .unusable, .damaged, .inUse, .busy, .schemaChanged: .unusableStore
    default: .failed
    }
  }
}

/// Runs `body`. Prints a ``StoreError`` that it throws with the name of the store, and throws the exit status.
func reportingErrors<Result>(of name: String, _ body: () throws -> Result) throws -> Result {
  do {
    return try body()
  } catch let error as StoreError {
    throw error.failure(name)
  }
}
