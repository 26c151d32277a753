// Limits of a response while it is written. Its bytes are counted after each row and within long values;
// its deadline is checked within long values, and by the connection while it waits.

import FetchModel
import SQLResults

/// The limits of the responses of one read transaction. Used by one thread.
final class ResponseLimit {
  private let connection: PostgresConnection
  /// The maximum number of bytes.
  private(set) var maxBytes: Int
  /// The error of a response with more bytes; nil selects ``StoreError/answerTooLarge(limit:)``.
  private var overflow: StoreError?
  /// The reason why values were left out since the last row.
  private var failure: StoreError?

  init(_ connection: PostgresConnection, maxBytes: Int) {
    self.connection = connection
    self.maxBytes = maxBytes
  }

  private var error: StoreError { overflow ?? .answerTooLarge(limit: maxBytes) }

  /// True if the query must end.
  var hasToEnd: Bool { connection.hasToEnd }

  /// Runs `body`; responses that it writes have at most `bytes` bytes.
  func with<Result>(
    _ bytes: Int, overflow: StoreError?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = (maxBytes, self.overflow)
    (maxBytes, self.overflow) = (bytes, overflow)
    defer { (maxBytes, self.overflow) = outer }
    return try body()
  }

  func admits(_ count: Int, after size: Int) -> Bool {
    guard failure == nil else { return false }
    if count > maxBytes || size > maxBytes - count {
      failure = error
    } else if hasToEnd {
      failure = .queryTimeout
    }
    return failure == nil
  }

  /// Throws if a response of `size` bytes is too large, or if values were left out of it.
  func check(_ size: Int) throws(StoreError) {
    if let failure {
      self.failure = nil
      throw failure
    }
    guard size <= maxBytes else { throw error }
  }
}
