// A file that other processes write → true if they have committed since the last call.

import FetchModel

/// Detects commits of other connections, without a lock and without a history.
public final class ChangeWatch {
  private let connection: Connection
  private var version: Int64

  /// Opens the file; later changes are detected.
  public init(path: String) throws(StoreError) {
    (connection, _) = try OpenFile.openForReading(path)
    version = try Self.version(connection)
  }

  /// True if another connection has committed since the last call. O(1): reads the file's header.
  public func hasChanged() throws(StoreError) -> Bool {
    let now = try Self.version(connection)
    defer { version = now }
    return now != version
  }

  private static func version(_ connection: Connection) throws(StoreError) -> Int64 {
    try connection.first("PRAGMA main.data_version") { $0.integer(0) } ?? 0
  }
}
